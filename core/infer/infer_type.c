/* Types as values: merging what a model declares with what follows from its operators,
 * and their text for messages. */
#include "core/base/checked.h"
#include "core/infer/infer_impl.h"

#include <stdio.h>
#include <string.h>

struct tn_type tn__type_of_tensor(const struct tn_tensor *tensor) {
    return (struct tn_type){.kind = TN_KIND_TENSOR,
        .dtype = tensor->dtype,
        .rank = (int32_t)tensor->rank,
        .dims = tensor->dims};
}

tn_status tn__type_check(const struct tn_type *type, struct tn_diag *diag) {
    if (type->kind <= TN_KIND_OPAQUE && type->elem_kind <= TN_KIND_OPAQUE &&
        type->rank >= -1 && (type->rank <= 0 || type->dims))
        return TN_OK;
    return tn_fail(diag, TN_PLUGIN,
        "its inference gives an output of kind %u and rank %d%s, which cannot be",
        (unsigned)type->kind, (int)type->rank,
        type->rank > 0 && !type->dims ? " without dims" : "");
}

/* ---- merging --------------------------------------------------------- */

static bool merge_dim(
    struct tn__symbols *symbols, int64_t declared, int64_t inferred, int64_t *out) {
    bool declared_size = declared >= 0, inferred_size = inferred >= 0;
    if (declared_size && inferred_size) {
        *out = declared;
        return declared == inferred;
    }
    if (declared_size || inferred == TN_DIM_UNKNOWN)
        *out = declared;
    else if (inferred_size || declared == TN_DIM_UNKNOWN)
        *out = inferred;
    else
        *out = tn__symbol_text(symbols, inferred) ? inferred : declared;
    return true;
}

static bool merge_number(uint32_t declared, uint32_t inferred, uint32_t *out) {
    *out = declared ? declared : inferred;
    return !declared || !inferred || declared == inferred;
}

bool tn__type_merge(struct tn__symbols *symbols, const struct tn_type *declared,
    const struct tn_type *inferred, int64_t *dims, struct tn_type *out) {
    uint32_t dtype, key_dtype;
    *out = (struct tn_type){.rank = -1};
    if (!merge_number(declared->kind, inferred->kind, &out->kind) ||
        !merge_number(declared->elem_kind, inferred->elem_kind, &out->elem_kind) ||
        !merge_number((uint32_t)declared->dtype, (uint32_t)inferred->dtype, &dtype) ||
        !merge_number(
            (uint32_t)declared->key_dtype, (uint32_t)inferred->key_dtype, &key_dtype))
        return false;
    out->dtype = (int32_t)dtype;
    out->key_dtype = (int32_t)key_dtype;
    if (declared->kind == TN_KIND_ABSENT || declared->rank < 0) declared = inferred;
    if (inferred->kind == TN_KIND_ABSENT || inferred->rank < 0) inferred = declared;
    if (declared->kind == TN_KIND_ABSENT || declared->rank < 0) return true;
    if (declared->rank != inferred->rank) return false;
    out->rank = declared->rank;
    out->dims = dims;
    for (int32_t i = 0; i < out->rank; i++) {
        if (!merge_dim(symbols, declared->dims[i], inferred->dims[i], &dims[i]))
            return false;
    }
    return true;
}

/* ---- text ------------------------------------------------------------ */

struct writer {
    char *buf;
    size_t size, used;
};

static void put(struct writer *w, const char *text) {
    size_t n = strlen(text), room = w->size - 1 - w->used;
    if (n > room) n = room;
    memcpy(w->buf + w->used, text, n);
    w->used += n;
    w->buf[w->used] = '\0';
}

static void put_shape(
    struct writer *w, struct tn__symbols *symbols, const struct tn_type *type) {
    if (type->rank < 0) return;
    put(w, "[");
    for (int32_t i = 0; i < type->rank && w->used + 1 < w->size; i++) {
        const char *text = type->dims[i] == TN_DIM_UNKNOWN
                               ? NULL
                               : tn__symbol_text(symbols, type->dims[i]);
        put(w, i ? ", " : "");
        put(w, text ? text : "?");
    }
    put(w, "]");
}

static const char *kind_text(uint32_t kind) {
    static const char *const names[] = {[TN_KIND_ABSENT] = "unknown",
        [TN_KIND_TENSOR] = "",
        [TN_KIND_SEQUENCE] = "seq",
        [TN_KIND_MAP] = "map",
        [TN_KIND_OPTIONAL] = "optional",
        [TN_KIND_SPARSE] = "sparse_tensor",
        [TN_KIND_OPAQUE] = "opaque"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *tn__type_text(
    struct tn__symbols *symbols, const struct tn_type *type, char *buf, size_t size) {
    struct writer w = {buf, size, 0};
    buf[0] = '\0';
    put(&w, kind_text(type->kind));
    if (type->kind == TN_KIND_ABSENT) return buf;
    bool wrapped = type->kind != TN_KIND_TENSOR;
    put(&w, wrapped ? "(" : "");
    bool nested = wrapped && type->elem_kind > TN_KIND_TENSOR;
    put(&w, nested ? kind_text(type->elem_kind) : "");
    put(&w, nested ? "(" : "");
    if (type->kind == TN_KIND_MAP || (nested && type->elem_kind == TN_KIND_MAP)) {
        put(&w, tn_dtype_name(type->key_dtype));
        put(&w, ", ");
    }
    put(&w, tn_dtype_name(type->dtype));
    put_shape(&w, symbols, type);
    put(&w, nested ? ")" : "");
    put(&w, wrapped ? ")" : "");
    return buf;
}
