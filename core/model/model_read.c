/* A model as a whole: versions, imports, metadata, then its functions and its graph. */
#include "core/model/reader.h"

#include <stdlib.h>
#include <string.h>

enum { NEWEST_IR = 14, MAX_OPSETS = 1000 };

struct tn__load_options tn__load_limits(const struct tn__load_options *options) {
    struct tn__load_options limits = options ? *options : (struct tn__load_options){0};
    if (!limits.max_file_bytes) limits.max_file_bytes = UINT64_MAX;
    if (!limits.max_tensor_bytes) limits.max_tensor_bytes = UINT64_C(1) << 40;
    if (!limits.max_total_bytes) limits.max_total_bytes = UINT64_C(1) << 42;
    if (!limits.max_nodes) limits.max_nodes = 10000000;
    if (!limits.max_depth) limits.max_depth = 32;
    return limits;
}

tn_status tn__tolerate(
    struct tn__reader *r, struct tn_diag *diag, uint32_t rule, const char *format, ...) {
    char sentence[TN_DIAG_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (r->limits.strict) return tn__fail_rule(diag, rule, "%s", sentence);
    for (uint32_t i = 0; i < r->n_warned; i++) {
        if (r->warned[i] == rule) return TN_OK;
    }
    if (r->n_warned == sizeof r->warned / sizeof r->warned[0]) return TN_OK;
    r->warned[r->n_warned++] = rule;
    if (tn__model_warn(r->model, "%s", sentence) == TN_OK) return TN_OK;
    return tn__fail_memory(diag, "a warning", sizeof sentence);
}

static tn_status copy_text(
    struct tn__reader *r, const char *text, const char **out, struct tn_diag *diag) {
    const char *from = tn__text_or_empty(text);
    *out = tn__arena_string(r->arena, from, strlen(from));
    return *out ? TN_OK : tn__fail_memory(diag, "a text of the model", strlen(from));
}

tn_status tn__read_opsets(struct tn__reader *r, Onnx__OperatorSetIdProto *const *protos,
    size_t n, const char *what, struct tn__opset **out, uint32_t *out_n,
    struct tn_diag *diag) {
    if (n > MAX_OPSETS)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_MESSAGES,
            "the %s imports %zu opsets, at most %d are supported", what, n, MAX_OPSETS);
    struct tn__opset *opsets = tn__arena_array(r->arena, n, sizeof *opsets);
    if (!opsets) return tn__fail_memory(diag, "opsets", n * sizeof *opsets);
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const char *domain = tn__domain_name(protos[i]->domain);
        bool again = false;
        if (protos[i]->version < 1 || protos[i]->version > INT32_MAX)
            return tn__fail_rule(diag, TN_RULE_OPSET_VERSION,
                "the %s imports version %lld of domain '%.120s', expected 1 to %d", what,
                (long long)protos[i]->version, domain[0] ? domain : "ai.onnx", INT32_MAX);
        for (uint32_t j = 0; j < count; j++) {
            if (strcmp(opsets[j].domain, domain) != 0) continue;
            if (opsets[j].version != protos[i]->version)
                return tn__fail_rule(diag, TN_RULE_OPSET_TWICE,
                    "the %s imports domain '%.120s' at two versions, %lld and %lld", what,
                    domain[0] ? domain : "ai.onnx", (long long)opsets[j].version,
                    (long long)protos[i]->version);
            again = true; /* some converters repeat themselves */
        }
        if (again) continue;
        TN_TRY(copy_text(r, domain, &opsets[count].domain, diag));
        opsets[count++].version = protos[i]->version;
    }
    *out = opsets;
    *out_n = count;
    return TN_OK;
}

static tn_status read_versions(
    struct tn__reader *r, const Onnx__ModelProto *proto, struct tn_diag *diag) {
    struct tn__model *model = r->model;
    if (!proto->has_ir_version || proto->ir_version < 1)
        return tn__fail_rule(diag, TN_RULE_IR_MISSING,
            "%s: ir_version is %lld, expected 1 to %d; this is no ONNX model or it is "
            "damaged",
            r->label, (long long)proto->ir_version, NEWEST_IR);
    model->ir_version = proto->ir_version;
    if (proto->ir_version > NEWEST_IR)
        TN_TRY(tn__tolerate(r, diag, TN_RULE_IR_NEWER,
            "the model has IR version %lld, newer than the newest known, %d",
            (long long)proto->ir_version, NEWEST_IR));
    if (model->ir_version >= 3 && proto->n_opset_import == 0)
        return tn__fail_rule(diag, TN_RULE_OPSET_MISSING,
            "%s: a model of IR %lld imports no opset, expected at least one", r->label,
            (long long)model->ir_version);
    if (model->ir_version < 3 && proto->n_opset_import)
        TN_TRY(tn__tolerate(r, diag, TN_RULE_OPSET_UNEXPECTED,
            "the model imports opsets, which IR %lld does not know; they are used",
            (long long)model->ir_version));
    if (proto->n_opset_import)
        return tn__read_opsets(r, proto->opset_import, proto->n_opset_import, "model",
            &model->opsets, &model->n_opsets, diag);
    static Onnx__OperatorSetIdProto first = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto one = first, *list[1] = {&one};
    one.version = 1;
    return tn__read_opsets(r, list, 1, "model", &model->opsets, &model->n_opsets, diag);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const struct tn__pair *)a)->key, ((const struct tn__pair *)b)->key);
}

static tn_status read_metadata(
    struct tn__reader *r, const Onnx__ModelProto *proto, struct tn_diag *diag) {
    size_t n = proto->n_metadata_props;
    struct tn__pair *pairs = tn__arena_array(r->arena, n, sizeof *pairs);
    struct tn__pair *sorted = tn__arena_array(r->temp, n, sizeof *sorted);
    if (!pairs || !sorted) return tn__fail_memory(diag, "metadata", n * sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        TN_TRY(copy_text(r, proto->metadata_props[i]->key, &pairs[i].key, diag));
        TN_TRY(copy_text(r, proto->metadata_props[i]->value, &pairs[i].value, diag));
        sorted[i] = pairs[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1].key, sorted[i].key) == 0)
            return tn__fail_rule(diag, TN_RULE_METADATA_TWICE,
                "the model has metadata '%.120s' twice", sorted[i].key);
    }
    r->model->metadata = pairs;
    r->model->n_metadata = (uint32_t)n;
    return TN_OK;
}

tn_status tn__read_model(
    struct tn__reader *r, const Onnx__ModelProto *proto, struct tn_diag *diag) {
    struct tn__model *model = r->model;
    TN_TRY(read_versions(r, proto, diag));
    model->model_version = proto->model_version;
    TN_TRY(copy_text(r, proto->producer_name, &model->producer_name, diag));
    TN_TRY(copy_text(r, proto->producer_version, &model->producer_version, diag));
    TN_TRY(copy_text(r, proto->domain, &model->domain, diag));
    TN_TRY(copy_text(r, proto->doc_string, &model->doc, diag));
    TN_TRY(read_metadata(r, proto, diag));
    if (proto->n_training_info &&
        tn__model_warn(model, "the model has training information, "
                              "which inference ignores") != TN_OK)
        return tn__fail_memory(diag, "a warning", 0);
    if (!proto->graph)
        return tn__fail_rule(
            diag, TN_RULE_GRAPH_MISSING, "%s: the model has no graph", r->label);
    TN_TRY(tn__list_functions(r, proto->functions, proto->n_functions, diag));
    TN_TRY(tn__read_functions(r, proto->functions, proto->n_functions, diag));
    return tn__read_graph(r, proto->graph, NULL, &model->graph, diag);
}
