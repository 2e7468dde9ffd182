#include "probe_value.h"

#include "number.h"
#include "tenon/helper/shape.h"

#include <stdlib.h>
#include <string.h>

/* ---- bits ------------------------------------------------------------------------------ */

static void put(struct probe_snapshot *out, const void *data, size_t n) {
    if (!out->complete) return;
    if (n > out->room - out->size) {
        size_t room = (out->room + n) * 2 + 256;
        unsigned char *bytes = realloc(out->bytes, room);
        if (!bytes) {
            out->complete = false;
            return;
        }
        out->bytes = bytes;
        out->room = room;
    }
    if (n) memcpy(out->bytes + out->size, data, n);
    out->size += n;
}

static void put_tensor(struct probe_snapshot *out, const struct tn_tensor *tensor) {
    int64_t count = tn_tensor_count(tensor);
    uint64_t bytes = 0;
    put(out, &tensor->dtype, sizeof tensor->dtype);
    put(out, &tensor->rank, sizeof tensor->rank);
    put(out, tensor->dims, tensor->rank * sizeof *tensor->dims);
    if (tensor->dtype == TN_STRING) {
        const struct tn_string *strings = tensor->data;
        for (int64_t i = 0; i < count; i++) {
            put(out, &strings[i].size, sizeof strings[i].size);
            put(out, strings[i].data, strings[i].size);
        }
    } else if (tn_dtype_size(tensor->dtype, count, &bytes)) {
        put(out, tensor->data, bytes);
    }
}

static void put_value(struct probe_snapshot *out, const struct tn_value_ref *value) {
    put(out, &value->kind, sizeof value->kind);
    if (value->kind == TN_KIND_TENSOR) put_tensor(out, value->as.tensor);
    if (value->kind == TN_KIND_MAP) {
        put_tensor(out, &value->as.map->keys);
        put_tensor(out, &value->as.map->values);
    }
    if (value->kind == TN_KIND_SEQUENCE) {
        const struct tn_sequence *sequence = value->as.sequence;
        put(out, &sequence->count, sizeof sequence->count);
        for (uint64_t i = 0; sequence->items && i < sequence->count; i++) {
            const struct tn_value_ref *item = &sequence->items[i];
            put(out, &item->kind, sizeof item->kind);
            if (item->kind == TN_KIND_TENSOR) put_tensor(out, item->as.tensor);
        }
    }
}

void probe_snapshot_take(
    struct probe_snapshot *out, const struct tn_context *context, uint32_t n_outputs) {
    out->size = 0;
    out->complete = true;
    for (uint32_t i = 0; i < n_outputs; i++) {
        const struct tn_value_ref *value = tn_context_output(context, i);
        if (value) put_value(out, value);
    }
}

bool probe_snapshot_equal(
    const struct probe_snapshot *a, const struct probe_snapshot *b) {
    if (!a->complete || !b->complete) return true;
    return a->size == b->size &&
           (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

void probe_snapshot_free(struct probe_snapshot *snapshot) {
    free(snapshot->bytes);
    *snapshot = (struct probe_snapshot){0};
}

/* ---- numbers --------------------------------------------------------------------------- */

/* What two correct implementations may differ by, absolutely below 1, relatively above:
 * bodies round after every step and have their constants in float. */
static double tolerance(int32_t dtype) {
    static const struct {
        int32_t dtype;
        double tolerance;
    } rows[] = {{TN_DOUBLE, 1e-6}, {TN_FLOAT, 1e-4}, {TN_FLOAT16, 5e-2},
        {TN_BFLOAT16, 2e-1}, {TN_COMPLEX64, 1e-4}, {TN_COMPLEX128, 1e-6},
        {TN_FLOAT8E4M3FN, 0.13}, {TN_FLOAT8E4M3FNUZ, 0.13}, {TN_FLOAT8E5M2, 0.26},
        {TN_FLOAT8E5M2FNUZ, 0.26}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype) return rows[i].tolerance;
    return 0;
}

static bool tensors_agree(
    const struct tn_tensor *a, const struct tn_tensor *b, double *difference) {
    struct number_diff diff;
    double most = tolerance(a->dtype);
    bool agree = number_compare(a, b, most, most, &diff);
    if (diff.same_type && diff.same_shape && most > 0 && diff.max_abs > *difference)
        *difference = diff.max_abs;
    return agree;
}

bool probe_agrees(const struct tn_context *a, const struct tn_context *b, uint32_t i,
    double *difference) {
    const struct tn_value_ref *x = tn_context_output(a, i), *y = tn_context_output(b, i);
    if (!x || !y || x->kind != y->kind)
        return (!x && !y) || (x && y && x->kind == y->kind);
    return x->kind != TN_KIND_TENSOR ||
           tensors_agree(x->as.tensor, y->as.tensor, difference);
}
