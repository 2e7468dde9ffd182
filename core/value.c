/* Owned values: a count of owners in front of a packed copy. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/exec/value_pack.h"
#include "core/model/model.h"
#include "core/objects.h"

#include <stdatomic.h>
#include <string.h>

struct tn_value {
    _Atomic uint64_t owners;
    struct tn_value_ref ref;
    void *memory;         /* what the data lies in; NULL: behind this struct */
    uint64_t reserved[4]; /* what follows is aligned to 64 */
};
TN_STATIC_ASSERT(sizeof(struct tn_value) == 64, "the packed copy stays aligned");

static tn_status alloc_value(
    uint64_t bytes, struct tn_value **out, struct tn_diag *diag) {
    uint64_t total;
    struct tn_value *value =
        tn_add_size(bytes, sizeof *value, &total) ? tn__alloc_zero(total, 64) : NULL;
    if (!value) return tn__fail_memory(diag, "a value", bytes);
    atomic_init(&value->owners, 1);
    *out = value;
    return TN_OK;
}

/* A zeroed tensor: its description, dims and data behind each other. */
static tn_status make_zeros(
    const struct tn_tensor *like, struct tn_value **out, struct tn_diag *diag) {
    uint64_t dims_bytes = like->rank * sizeof(int64_t), at, total;
    struct tn_value *value = NULL;
    if (!tn_align_size(sizeof *like + dims_bytes, 64, &at) ||
        !tn_add_size(at, like->size, &total))
        return tn__fail_memory(diag, "a value", like->size);
    TN_TRY(alloc_value(total, &value, diag));
    struct tn_tensor *tensor = (struct tn_tensor *)(void *)(value + 1);
    int64_t *dims = (int64_t *)(void *)(tensor + 1);
    *tensor = *like;
    tensor->dims = like->rank ? dims : NULL;
    tensor->data = (char *)tensor + at;
    if (dims_bytes) memcpy(dims, like->dims, dims_bytes);
    value->ref = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = tensor};
    *out = value;
    return TN_OK;
}

tn_status tn_value_tensor(int32_t dtype, const int64_t *dims, uint32_t rank,
    const void *data, struct tn_value **out, struct tn_diag *diag) {
    struct tn_tensor tensor = {
        .data = (void *)(uintptr_t)data, .dims = dims, .dtype = dtype, .rank = rank};
    if (!out || (rank && !dims))
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "a tensor needs dims and a place to go");
    if (tn_dtype_bits(dtype) == 0)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "%d is not an element type", (int)dtype);
    if (!tn_tensor_bytes(dtype, dims, rank, &tensor.size))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the dims of a tensor are negative, or their product overflows");
    if (!data) return make_zeros(&tensor, out, diag);
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    return tn_value_copy(&ref, out, diag);
}

tn_status tn_value_copy(
    const struct tn_value_ref *src, struct tn_value **out, struct tn_diag *diag) {
    uint64_t bytes = 0;
    struct tn_value *value = NULL;
    if (!src || !out)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "no value to copy, or no place for it");
    TN_TRY(tn__value_bytes(src, &bytes, diag));
    TN_TRY(alloc_value(bytes, &value, diag));
    tn__value_pack(src, value + 1, &value->ref);
    *out = value;
    return TN_OK;
}

tn_status tn_value_spread(
    const struct tn_value_ref *src, struct tn_value **out, struct tn_diag *diag) {
    uint64_t bytes = 0;
    struct tn_value *value = NULL;
    if (!src || !out)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "no value to copy, or no place for it");
    TN_TRY(tn__value_bytes_spread(src, &bytes, diag));
    TN_TRY(alloc_value(bytes, &value, diag));
    tn__value_pack_spread(src, value + 1, &value->ref);
    *out = value;
    return TN_OK;
}

tn_status tn__value_point(
    const struct tn_value_ref *packed, struct tn_value **out, struct tn_diag *diag) {
    struct tn_value *value = NULL;
    TN_TRY(alloc_value(0, &value, diag));
    value->ref = *packed;
    *out = value;
    return TN_OK;
}

tn_status tn__value_describe(
    const struct tn_tensor *tensor, struct tn_value **out, struct tn_diag *diag) {
    uint64_t dims_bytes = tensor->rank * sizeof(int64_t);
    struct tn_value *value = NULL;
    TN_TRY(alloc_value(sizeof *tensor + dims_bytes, &value, diag));
    struct tn_tensor *copy = (struct tn_tensor *)(void *)(value + 1);
    int64_t *dims = (int64_t *)(void *)(copy + 1);
    *copy = *tensor;
    copy->dims = tensor->rank ? dims : NULL;
    if (dims_bytes) memcpy(dims, tensor->dims, dims_bytes);
    value->ref = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = copy};
    *out = value;
    return TN_OK;
}

void tn__value_own(struct tn_value *value, void *memory) {
    value->memory = memory;
}

tn_status tn_value_parse(const void *data, uint64_t size, const struct tn_type *type,
    struct tn_value **out, struct tn_diag *diag) {
    if (!type || !out || (size && !data))
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "no data, no type, or no place for a value");
    struct tn_arena *arena = tn__arena_create();
    if (!arena) return tn__fail_memory(diag, "a value", size);
    struct tn_value_ref ref = {0};
    tn_status status = tn__value_decode(arena, data, size, type, &ref, diag);
    if (status == TN_OK) status = tn_value_copy(&ref, out, diag);
    tn__arena_destroy(arena);
    return status;
}

const struct tn_value_ref *tn_value_get(const struct tn_value *value) {
    return value ? &value->ref : NULL;
}

void tn_value_retain(struct tn_value *value) {
    if (value) atomic_fetch_add_explicit(&value->owners, 1, memory_order_relaxed);
}

void tn_value_release(struct tn_value **value) {
    if (!value || !*value) return;
    if (atomic_fetch_sub_explicit(&(*value)->owners, 1, memory_order_acq_rel) == 1) {
        tn__free((*value)->memory);
        tn__free(*value);
    }
    *value = NULL;
}
