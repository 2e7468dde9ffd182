/* Deep copies: one walk over the value serves measuring (memory NULL) and copying, so
 * that the two cannot disagree. */
#include "core/exec/value_pack.h"

#include "core/base/checked.h"

#include <string.h>

enum { DEEPEST = 16, ALIGN = 64 };

struct packer {
    char *memory; /* NULL: measure */
    uint64_t used;
    bool failed;
    const char *problem; /* why the value cannot be copied; NULL: too large */
    uint32_t depth;
    bool spread; /* tables become maps of their own */
};

static void refuse(struct packer *p, const char *problem) {
    if (!p->failed) p->problem = problem;
    p->failed = true;
}

/* Room for n * size bytes; NULL while measuring or after a failure. */
static void *take(struct packer *p, uint64_t n, uint64_t size) {
    uint64_t bytes, at;
    if (p->failed) return NULL;
    if (!tn_mul_size(n, size, &bytes) || !tn_align_size(p->used, ALIGN, &at) ||
        !tn_add_size(at, bytes, &p->used) || p->used > INT64_MAX) {
        refuse(p, NULL);
        return NULL;
    }
    return p->memory ? p->memory + at : NULL;
}

static void pack_strings(
    struct packer *p, const struct tn_tensor *src, struct tn_string *items) {
    const struct tn_string *from = src->data;
    uint64_t n = src->size / sizeof *from, total = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!tn_add_size(total, from[i].size, &total)) refuse(p, NULL);
    }
    char *bytes = take(p, total, 1);
    for (uint64_t i = 0; bytes && i < n; i++) {
        if (from[i].size) memcpy(bytes, from[i].data, from[i].size);
        items[i] = (struct tn_string){bytes, from[i].size};
        bytes += from[i].size;
    }
}

static void pack_tensor(
    struct packer *p, const struct tn_tensor *src, struct tn_tensor *dst) {
    uint64_t bytes;
    if (src->strides) return refuse(p, "a strided tensor; make it dense first");
    if (src->space != 0) return refuse(p, "a tensor that is not in host memory");
    if (!tn_tensor_bytes(src->dtype, src->dims, src->rank, &bytes) || bytes > src->size)
        return refuse(p, "a tensor whose size does not fit its shape");
    struct tn_tensor dense = *src;
    dense.size = bytes;
    int64_t *dims = take(p, src->rank, sizeof *dims);
    void *data = take(p, bytes, 1);
    if (data && src->rank) memcpy(dims, src->dims, src->rank * sizeof *dims);
    if (data && bytes && src->dtype != TN_STRING) memcpy(data, src->data, bytes);
    if (src->dtype == TN_STRING) pack_strings(p, &dense, data);
    if (!dst) return;
    *dst = dense;
    dst->dims = src->rank ? dims : NULL;
    dst->data = data;
    dst->flags = 0;
}

static void pack_ref(
    struct packer *p, const struct tn_value_ref *src, struct tn_value_ref *dst);

static void pack_map(struct packer *p, const struct tn_map *src, struct tn_map *dst) {
    pack_tensor(p, &src->keys, dst ? &dst->keys : NULL);
    pack_tensor(p, &src->values, dst ? &dst->values : NULL);
}

/* Whether a table has a row for each map and a value for each key. */
static bool is_table(const struct tn_sequence *s) {
    const struct tn_map *t = tn_sequence_table(s);
    uint64_t bytes;
    return t && t->keys.rank == 1 && t->values.rank >= 2 && !t->values.strides &&
           t->values.dims[0] == (int64_t)s->count &&
           t->values.dims[1] == t->keys.dims[0] &&
           tn_tensor_bytes(t->values.dtype, t->values.dims, t->values.rank, &bytes) &&
           bytes <= t->values.size;
}

static void pack_table(
    struct packer *p, const struct tn_sequence *src, struct tn_sequence *dst) {
    struct tn_map *table = take(p, 1, sizeof *table);
    if (!is_table(src)) return refuse(p, "a table of maps whose shape does not fit them");
    pack_map(p, src->table, table);
    if (!dst) return;
    *dst = *src;
    dst->table = table;
}

static void pack_sequence(
    struct packer *p, const struct tn_sequence *src, struct tn_sequence *dst) {
    if (!src->items && src->count && !is_table(src))
        return refuse(p, "a sequence without its elements");
    if (is_table(src) && !p->spread) return pack_table(p, src, dst);
    struct tn_value_ref *items = take(p, src->count, sizeof *items);
    for (uint64_t i = 0; i < src->count && !p->failed; i++) {
        struct tn_map storage;
        const struct tn_value_ref item = tn_sequence_item(src, i, &storage);
        pack_ref(p, &item, items ? &items[i] : NULL);
    }
    if (!dst) return;
    *dst = *src;
    dst->items = items;
    dst->table = NULL;
}

static void pack_optional(
    struct packer *p, const struct tn_optional *src, struct tn_optional *dst) {
    if (dst) *dst = *src;
    pack_ref(p, &src->value, dst ? &dst->value : NULL);
}

static void pack_sparse(
    struct packer *p, const struct tn_sparse *src, struct tn_sparse *dst) {
    pack_tensor(p, &src->values, dst ? &dst->values : NULL);
    pack_tensor(p, &src->indices, dst ? &dst->indices : NULL);
    int64_t *dims = take(p, src->rank, sizeof *dims);
    if (dims && src->rank) memcpy(dims, src->dims, src->rank * sizeof *dims);
    if (!dst) return;
    dst->dims = dims;
    dst->rank = src->rank;
}

static void pack_ref(
    struct packer *p, const struct tn_value_ref *src, struct tn_value_ref *dst) {
    static const uint64_t sizes[] = {[TN_KIND_TENSOR] = sizeof(struct tn_tensor),
        [TN_KIND_SEQUENCE] = sizeof(struct tn_sequence),
        [TN_KIND_MAP] = sizeof(struct tn_map),
        [TN_KIND_OPTIONAL] = sizeof(struct tn_optional),
        [TN_KIND_SPARSE] = sizeof(struct tn_sparse)};
    if (src->kind == TN_KIND_ABSENT) {
        if (dst) *dst = (struct tn_value_ref){0};
        return;
    }
    if (src->kind >= sizeof sizes / sizeof *sizes || !src->as.ptr)
        return refuse(p, "a value of a kind that only its plugin understands");
    if (p->depth == DEEPEST) return refuse(p, "a value nested more than 16 deep");
    p->depth++;
    void *body = take(p, 1, sizes[src->kind]);
    if (body) *dst = (struct tn_value_ref){.kind = src->kind, .as.ptr = body};
    switch (src->kind) {
    case TN_KIND_TENSOR: pack_tensor(p, src->as.tensor, body); break;
    case TN_KIND_SEQUENCE: pack_sequence(p, src->as.sequence, body); break;
    case TN_KIND_MAP: pack_map(p, src->as.map, body); break;
    case TN_KIND_OPTIONAL: pack_optional(p, src->as.optional, body); break;
    default: pack_sparse(p, src->as.sparse, body); break;
    }
    p->depth--;
}

static tn_status measure(
    const struct tn_value_ref *src, bool spread, uint64_t *out, struct tn_diag *diag) {
    struct packer p = {.spread = spread};
    pack_ref(&p, src, NULL);
    if (p.failed && p.problem)
        return tn_fail(diag, TN_UNSUPPORTED, "cannot copy %s", p.problem);
    if (p.failed)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "a value is too large to be copied");
    *out = p.used;
    return TN_OK;
}

tn_status tn__value_bytes(
    const struct tn_value_ref *src, uint64_t *out, struct tn_diag *diag) {
    return measure(src, false, out, diag);
}

tn_status tn__value_bytes_spread(
    const struct tn_value_ref *src, uint64_t *out, struct tn_diag *diag) {
    return measure(src, true, out, diag);
}

static void pack(
    const struct tn_value_ref *src, bool spread, void *memory, struct tn_value_ref *out) {
    struct packer p = {.memory = memory, .spread = spread};
    *out = (struct tn_value_ref){0};
    pack_ref(&p, src, out);
}

void tn__value_pack(
    const struct tn_value_ref *src, void *memory, struct tn_value_ref *out) {
    pack(src, false, memory, out);
}

void tn__value_pack_spread(
    const struct tn_value_ref *src, void *memory, struct tn_value_ref *out) {
    pack(src, true, memory, out);
}
