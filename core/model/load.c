/* Opening a model: file or bytes, binary or text, and the release of everything that only
 * loading needed. */
#include "core/model/reader.h"
#include "core/model/sniff.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static tn_status open_source(const struct tn_model *source, struct tn__reader *r,
    const void **out_data, uint64_t *out_size, struct tn_diag *diag) {
    *out_data = source->data;
    *out_size = source->size;
    if (!source->path) {
        r->copy = !source->keep;
        return source->data || source->size == 0
                   ? TN_OK
                   : tn_fail(
                         diag, TN_INVALID_ARGUMENT, "a model has neither path nor data");
    }
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tn_fail(diag, errno == ENOENT ? TN_NOT_FOUND : TN_IO,
            "cannot open '%s': %s", source->path, strerror(errno));
    struct tn__mapping mapping;
    tn_status status = tn__mapping_create(fd, source->path, &mapping, diag);
    close(fd);
    if (status == TN_OK) status = tn__mapping_give(&mapping, r->model, diag);
    if (status != TN_OK) return status;
    *out_data = mapping.data;
    *out_size = mapping.size;
    return TN_OK;
}

/* What the walker has read of a file with long lists will not be read again: its pages may go,
 * and those of the weights come back when they are wanted. */
static void forget_lists(struct tn__reader *r, const void *data, uint64_t size) {
    for (uint32_t i = 0; i < r->payloads.n; i++) {
        if (!r->payloads.items[i].lists) continue;
        tn__model_forget(r->model, data, size);
        return;
    }
}

static tn_status read_bytes(
    struct tn__reader *r, const void *data, uint64_t size, struct tn_diag *diag) {
    if (size > r->limits.max_file_bytes)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_FILE,
            "%s has %llu bytes, the limit is %llu", r->label, (unsigned long long)size,
            (unsigned long long)r->limits.max_file_bytes);
    if (tn__sniff_text_model(data, size)) return tn__read_text(r, data, size, diag);
    const char *other = tn__sniff(data, size);
    if (other)
        return tn__fail_rule(
            diag, TN_RULE_NOT_A_MODEL, "%s is no ONNX model: it is %s", r->label, other);
    ProtobufCMessage *message;
    TN_TRY(tn__wire_parse(r->temp, r->arena, &onnx__model_proto__descriptor, data, size,
        r->label, &message, &r->payloads, diag));
    forget_lists(r, data, size);
    return tn__read_model(r, (const Onnx__ModelProto *)message, diag);
}

tn_status tn__reader_open(
    struct tn__reader *r, const struct tn__load_options *options, struct tn_diag *diag) {
    r->limits = tn__load_limits(options);
    r->temp = tn__arena_create();
    r->model = tn__model_create();
    if (!r->temp || !r->model) {
        tn__reader_close(r, TN_OUT_OF_MEMORY);
        return tn__fail_memory(diag, "a model", sizeof *r->model);
    }
    r->arena = r->model->arena;
    r->externals.model = r->model;
    r->externals.temp = r->temp;
    r->externals.verify = r->limits.verify_checksums;
    return TN_OK;
}

struct tn__model *tn__reader_close(struct tn__reader *r, tn_status status) {
    struct tn__model *model = r->model;
    tn__map_clear(&r->functions);
    tn__arena_destroy(r->temp);
    if (status == TN_OK) return model;
    tn__model_destroy(model);
    return NULL;
}

tn_status tn__model_load(const struct tn_model *source,
    const struct tn__load_options *options, struct tn__model **out,
    struct tn_diag *diag) {
    struct tn__reader r = {
        .label = source->path ? source->path : "the model from memory"};
    const void *data;
    uint64_t size;
    TN_TRY(tn__reader_open(&r, options, diag));
    tn_status status = open_source(source, &r, &data, &size, diag);
    r.externals.source = source;
    if (status == TN_OK && source->path) {
        r.model->path = tn__arena_string(r.arena, source->path, strlen(source->path));
        if (!r.model->path)
            status = tn__fail_memory(diag, "a path", strlen(source->path));
    }
    if (status == TN_OK) status = read_bytes(&r, data, size, diag);
    struct tn__model *model = tn__reader_close(&r, status);
    if (status == TN_OK) *out = model;
    return status;
}
