/* Sparse tensors: coordinates checked once here, so that whoever uses them need not. */
#include "core/base/checked.h"
#include "core/model/reader.h"

#include <string.h>

/* The dense form of a sparse tensor may be far larger than its file. */
#define MAX_DENSE (UINT64_C(4) << 30)

static tn_status fail_parts(const char *name, const char *what, struct tn_diag *diag) {
    return tn__fail_rule(diag, TN_RULE_SPARSE_PARTS,
        "sparse tensor '%.120s': %s, expected values of rank 1, and int64 indices of "
        "rank 1 or 2",
        name, what);
}

/* Position of the i-th value in the dense tensor; false when it is outside. */
static bool linear_index(
    const struct tn_sparse *sparse, uint64_t i, uint64_t n_dense, uint64_t *out) {
    const int64_t *indices = sparse->indices.data;
    if (sparse->indices.rank == 1) {
        *out = (uint64_t)indices[i];
        return indices[i] >= 0 && *out < n_dense;
    }
    uint64_t at = 0;
    for (uint64_t d = 0; d < sparse->rank; d++) {
        int64_t index = indices[i * sparse->rank + d];
        if (index < 0 || index >= sparse->dims[d]) return false;
        at = at * (uint64_t)sparse->dims[d] + (uint64_t)index;
    }
    *out = at;
    return true;
}

/* "[3]" or "[3,2]" */
static const char *print_dims(const struct tn_tensor *tensor, char *text, size_t size) {
    if (tensor->rank == 1)
        snprintf(text, size, "[%lld]", (long long)tensor->dims[0]);
    else
        snprintf(text, size, "[%lld,%lld]", (long long)tensor->dims[0],
            (long long)tensor->dims[1]);
    return text;
}

static tn_status check_indices(
    const struct tn_sparse *sparse, const char *name, struct tn_diag *diag) {
    uint64_t n = (uint64_t)sparse->values.dims[0], n_dense, last = 0;
    const struct tn_tensor *indices = &sparse->indices;
    bool fits = (uint64_t)indices->dims[0] == n &&
                (indices->rank == 1 || (uint64_t)indices->dims[1] == sparse->rank);
    if (!fits)
        return tn__fail_rule(diag, TN_RULE_SPARSE_SHAPE,
            "sparse tensor '%.120s': %llu values in rank %llu need indices of shape "
            "[%llu] or [%llu,%llu], found %s",
            name, (unsigned long long)n, (unsigned long long)sparse->rank,
            (unsigned long long)n, (unsigned long long)n,
            (unsigned long long)sparse->rank, print_dims(indices, (char[64]){0}, 64));
    if (!tn_count_elements(sparse->dims, (uint32_t)sparse->rank, &n_dense))
        return tn__fail_rule(diag, TN_RULE_TENSOR_OVERFLOW,
            "sparse tensor '%.120s': a dimension is negative or their product does not "
            "fit in 64 bits",
            name);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at;
        if (!linear_index(sparse, i, n_dense, &at) || (i && at <= last))
            return tn__fail_rule(diag, TN_RULE_SPARSE_INDEX,
                "sparse tensor '%.120s': index %llu lies outside its shape or does not "
                "come after the one before it",
                name, (unsigned long long)i);
        last = at;
    }
    return TN_OK;
}

tn_status tn__read_sparse(struct tn__reader *r, const Onnx__SparseTensorProto *proto,
    struct tn_sparse *out, struct tn_diag *diag) {
    const char *name = proto->values ? tn__text_or_empty(proto->values->name) : "";
    if (!proto->values) return fail_parts(name, "it has no values", diag);
    if (!proto->indices) return fail_parts(name, "it has no indices", diag);
    if (proto->n_dims > TN_MAX_RANK)
        return tn__fail_rule(diag, TN_RULE_TENSOR_RANK,
            "sparse tensor '%.120s' has %zu dimensions, at most %d are supported", name,
            proto->n_dims, TN_MAX_RANK);
    *out = (struct tn_sparse){.rank = proto->n_dims};
    TN_TRY(tn__read_tensor(r, proto->values, &out->values, diag));
    TN_TRY(tn__read_tensor(r, proto->indices, &out->indices, diag));
    if (out->values.rank != 1)
        return fail_parts(name, "its values have another rank", diag);
    if (out->indices.dtype != TN_INT64)
        return fail_parts(name, "its indices have another type", diag);
    if (out->indices.rank != 1 && out->indices.rank != 2)
        return fail_parts(name, "its indices have another rank", diag);
    out->dims =
        tn__arena_copy(r->arena, proto->dims, proto->n_dims * sizeof *proto->dims);
    if (!out->dims) return tn__fail_memory(diag, "a shape", proto->n_dims);
    return check_indices(out, name, diag);
}

/* One element, of which several may share a byte. */
static void put_element(
    struct tn_tensor *dense, uint64_t to, const struct tn_tensor *values, uint64_t from) {
    uint32_t bits = tn_dtype_bits(dense->dtype);
    if (bits >= 8) {
        uint64_t width = bits / 8;
        memcpy((char *)dense->data + to * width,
            (const char *)values->data + from * width, width);
        return;
    }
    uint32_t per_byte = 8 / bits, mask = (1u << bits) - 1;
    uint32_t value =
        ((const uint8_t *)values->data)[from / per_byte] >> (from % per_byte * bits) &
        mask;
    ((uint8_t *)dense->data)[to / per_byte] |= (uint8_t)(value << (to % per_byte * bits));
}

tn_status tn__sparse_to_dense(struct tn__reader *r, const struct tn_sparse *sparse,
    const char *name, struct tn_tensor *out, struct tn_diag *diag) {
    uint64_t bytes, n = (uint64_t)sparse->values.dims[0], n_dense;
    uint32_t rank = (uint32_t)sparse->rank;
    if (!tn_count_elements(sparse->dims, rank, &n_dense) ||
        !tn_element_bytes(sparse->values.dtype, n_dense, &bytes))
        return tn__fail_rule(diag, TN_RULE_TENSOR_OVERFLOW,
            "sparse tensor '%.120s': its dense size does not fit in 64 bits", name);
    uint64_t limit =
        r->limits.max_tensor_bytes < MAX_DENSE ? r->limits.max_tensor_bytes : MAX_DENSE;
    if (bytes > limit || !tn_add_size(r->total_bytes, bytes, &r->total_bytes) ||
        r->total_bytes > r->limits.max_total_bytes)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_TENSOR,
            "sparse tensor '%.120s' has %llu bytes when dense, the limit is %llu", name,
            (unsigned long long)bytes, (unsigned long long)limit);
    *out = (struct tn_tensor){.dtype = sparse->values.dtype,
        .rank = rank,
        .size = bytes,
        .dims = rank ? sparse->dims : NULL,
        .flags = TN_TENSOR_CONST};
    TN_TRY(tn__reader_room(r, bytes, true, &out->data, diag));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at;
        if (linear_index(sparse, i, n_dense, &at))
            put_element(out, at, &sparse->values, i);
    }
    return TN_OK;
}
