/* StringNormalizer: drops stop words and changes case, by Unicode's mappings (casing.h): the
 * process's locale and the attribute `locale` have no say. */
#include "casing.h"
#include "text.h"

#include <stdlib.h>

/* clang-format off */
#define NORMALIZER_ATTRS(X, S)                                                           \
    X(S, STRING, case_change_action, "NONE")                                             \
    X(S, INT, is_case_sensitive, 0)                                                      \
    X(S, STRING, locale, "")                                                             \
    X(S, STRINGS, stopwords, )
/* of com.microsoft, before ONNX had the operator */
#define CONTRIB_NORMALIZER_ATTRS(X, S)                                                   \
    X(S, STRING, casechangeaction, "NONE")                                               \
    X(S, INT, is_case_sensitive, 0)                                                      \
    X(S, STRING, locale, "")                                                             \
    X(S, STRINGS, stopwords, )
/* clang-format on */
TN_ATTR_TABLE(normalizer, NORMALIZER_ATTRS)
TN_ATTR_TABLE(contrib_normalizer, CONTRIB_NORMALIZER_ATTRS)

struct normalizer {
    struct tn_kernel_head base;
    enum tn__case change;
    bool folds;              /* stop words are compared without case */
    struct tn_string *stops; /* sorted, lower case when folds */
    size_t n_stops;
    char *bytes;
};

static tn_status infer_normalizer(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[2] = {1, TN_DIM_UNKNOWN};
    if (!x || x->rank < 0) return tn_infer_set(infer, 0, TN_STRING, -1, NULL);
    if (x->rank != 1 && (x->rank != 2 || (x->dims[0] >= 0 && x->dims[0] != 1)))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "X of rank %d has not the shape [C] or [1, C]", (int)x->rank);
    return tn_infer_set(infer, 0, TN_STRING, x->rank, x->rank == 1 ? dims + 1 : dims);
}

static int compare(const void *a, const void *b) {
    const struct tn_string *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->size ? memcmp(x->data, y->data, x->size) : 0;
}

static tn_status setup(const struct tn_kernel_ctx *ctx, struct normalizer *k,
    const struct normalizer_attrs *attrs) {
    static const char *const names[] = {"NONE", "LOWER", "UPPER"};
    const struct tn_host *host = ctx->host;
    size_t bytes = 1, used = 0, action = 0;
    while (action < TN_COUNT(names) &&
           !tn_string_is(attrs->case_change_action, names[action]))
        action++;
    if (action == TN_COUNT(names))
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'case_change_action' (casechangeaction) is none of NONE, LOWER, "
            "UPPER");
    k->change = (enum tn__case)action;
    k->folds = attrs->is_case_sensitive == 0;
    k->n_stops = attrs->stopwords.n;
    for (size_t i = 0; i < k->n_stops; i++)
        bytes += TN_CASE_GROWTH * attrs->stopwords.v[i].size;
    k->bytes = host->alloc(host->self, bytes, 0, "stop words");
    k->stops =
        host->alloc(host->self, (k->n_stops + 1) * sizeof *k->stops, 0, "stop words");
    if (!k->bytes || !k->stops)
        return tn_fail(
            ctx->diag, TN_OUT_OF_MEMORY, "no memory for %zu stop words", k->n_stops);
    for (size_t i = 0; i < k->n_stops; i++) {
        k->stops[i] = attrs->stopwords.v[i];
        if (k->folds)
            k->stops[i] = tn__change_case(TN_CASE_LOWER, k->stops[i], k->bytes + used);
        used += TN_CASE_GROWTH * attrs->stopwords.v[i].size;
    }
    qsort(k->stops, k->n_stops, sizeof *k->stops, compare);
    return TN_OK;
}

static void destroy_normalizer(void *kernel) {
    struct normalizer *k = kernel;
    if (!k) return;
    const struct tn_host *host = k->base.host;
    if (k->stops) host->free(host->self, k->stops);
    if (k->bytes) host->free(host->self, k->bytes);
    tn_kernel_destroy(k);
}

static tn_status create_from(
    const struct tn_kernel_ctx *ctx, const struct normalizer_attrs *attrs, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct normalizer), out));
    tn_status status = setup(ctx, *out, attrs);
    if (status != TN_OK) {
        destroy_normalizer(*out);
        *out = NULL;
    }
    return status;
}

static tn_status create_normalizer(const struct tn_kernel_ctx *ctx, void **out) {
    struct normalizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(normalizer, ctx->node, &attrs, ctx->diag));
    return create_from(ctx, &attrs, out);
}

static tn_status create_contrib(const struct tn_kernel_ctx *ctx, void **out) {
    struct contrib_normalizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(contrib_normalizer, ctx->node, &attrs, ctx->diag));
    struct normalizer_attrs newer = {
        attrs.casechangeaction, attrs.is_case_sensitive, attrs.locale, attrs.stopwords};
    return create_from(ctx, &newer, out);
}

static bool is_stop(const struct normalizer *k, struct tn_string text, char *room) {
    if (k->n_stops == 0) return false;
    if (k->folds) text = tn__change_case(TN_CASE_LOWER, text, room);
    return bsearch(&text, k->stops, k->n_stops, sizeof text, compare) != NULL;
}

static tn_status compute_normalizer(void *object, const struct tn_run_args *args) {
    const struct normalizer *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_run *run = args->run;
    const struct tn_string *texts = x->data;
    int64_t n = tn_tensor_count(x), kept = 0;
    struct tn_tensor *y;
    if (x->rank != 1 && (x->rank != 2 || x->dims[0] != 1))
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "X of rank %u has not the shape [C] or [1, C]", x->rank);
    uint64_t bytes = 1;
    for (int64_t i = 0; i < n; i++)
        bytes += TN_CASE_GROWTH * texts[i].size;
    char *room = run->alloc(run, bytes, 1);
    struct tn_string *words =
        run->alloc(run, (uint64_t)(n + 1) * sizeof *words, sizeof(void *));
    if (!room || !words)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "no memory for %lld words", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (is_stop(k, texts[i], room)) continue;
        words[kept] = texts[i];
        if (k->change != TN_CASE_KEEP)
            words[kept] = tn__change_case(k->change, texts[i], room);
        room += TN_CASE_GROWTH * texts[i].size;
        kept++;
    }
    if (kept == 0) words[kept++] = (struct tn_string){NULL, 0};
    const int64_t dims[2] = {1, kept};
    TN_TRY(tn_out_shaped(args, 0, TN_STRING, dims + 2 - x->rank, x->rank, &y));
    memcpy(y->data, words, (size_t)kept * sizeof *words);
    return TN_OK;
}

/* clang-format off */
#define NORMALIZER_DEF(domain, name, since, table)                                       \
    {TN_DEF(domain, name), TN_VERSIONS({since}),                                         \
        TN_INPUTS({"X", NULL, TN_BIT(STRING)}), TN_OUTPUTS({"Y", NULL, TN_BIT(STRING)}), \
        TN_ATTRS(table), .infer = infer_normalizer}
#define NORMALIZER_KERNEL(domain_text, version, create_kernel)                           \
    {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = domain_text,        \
        .op_type = "StringNormalizer", .since = version, .create = create_kernel,        \
        .destroy = destroy_normalizer, .compute = compute_normalizer}

static const struct tn_op_def defs[] = {
    NORMALIZER_DEF("", "StringNormalizer", 10, normalizer),
    NORMALIZER_DEF(TN_CONTRIB_DOMAIN, "StringNormalizer", 1, contrib_normalizer),
};

static const struct tn_kernel_def kernels[] = {
    NORMALIZER_KERNEL("", 10, create_normalizer),
    NORMALIZER_KERNEL(TN_CONTRIB_DOMAIN, 1, create_contrib),
};
/* clang-format on */

TN_FAMILY(string_normalizer);
