/* Unique: distinct elements, or distinct slices along an axis, with where they stand. Items
 * are sorted by a merge sort that keeps the order of equals; NaN is the greatest and equals
 * itself. */
#include "loops/number.h"
#include "ops/lines.h"
#include "ops/ops.h"

/* clang-format off */
#define UNIQUE_ATTRS(X, S) \
    X(S, INT, axis, INT64_MIN) /* the default: the input is flattened */ \
    X(S, INT, sorted, 1)
TN_ATTR_TABLE(unique, UNIQUE_ATTRS)
/* clang-format on */

/* ---- order ------------------------------------------------------------------------------ */

typedef int compare_fn(const void *data, int32_t dtype, int64_t a, int64_t b);

static int order_double(double x, double y) {
    if (x != x || y != y) return (x != x) - (y != y);
    return (x > y) - (x < y);
}

static int compare_int(const void *data, int32_t dtype, int64_t a, int64_t b) {
    int64_t x, y;
    if (dtype == TN_INT64) {
        x = ((const int64_t *)data)[a];
        y = ((const int64_t *)data)[b];
    } else {
        x = (int64_t)tn__number_get(dtype, data, a);
        y = (int64_t)tn__number_get(dtype, data, b);
    }
    return (x > y) - (x < y);
}

static int compare_u64(const void *data, int32_t dtype, int64_t a, int64_t b) {
    uint64_t x = ((const uint64_t *)data)[a], y = ((const uint64_t *)data)[b];
    (void)dtype;
    return (x > y) - (x < y);
}

static int compare_float(const void *data, int32_t dtype, int64_t a, int64_t b) {
    return order_double(tn__number_get(dtype, data, a), tn__number_get(dtype, data, b));
}

static int compare_complex(const void *data, int32_t dtype, int64_t a, int64_t b) {
    int32_t part = dtype == TN_COMPLEX64 ? TN_FLOAT : TN_DOUBLE;
    int order = compare_float(data, part, 2 * a, 2 * b);
    return order ? order : compare_float(data, part, 2 * a + 1, 2 * b + 1);
}

static int compare_string(const void *data, int32_t dtype, int64_t a, int64_t b) {
    const struct tn_string *x = (const struct tn_string *)data + a;
    const struct tn_string *y = (const struct tn_string *)data + b;
    uint64_t n = x->size < y->size ? x->size : y->size;
    int order = n ? memcmp(x->data, y->data, n) : 0;
    (void)dtype;
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static compare_fn *compare_for(int32_t dtype) {
    if (dtype == TN_STRING) return compare_string;
    if (dtype == TN_UINT64) return compare_u64;
    if (TN_TYPES_FLOATS >> dtype & 1) return compare_float;
    return TN_TYPES_COMPLEX >> dtype & 1 ? compare_complex : compare_int;
}

/* The items: slices along the axis. */
struct items {
    const void *data;
    int32_t dtype;
    compare_fn *compare;
    struct tn__lines lines;
};

static int compare_items(const struct items *items, int64_t a, int64_t b) {
    const struct tn__lines *lines = &items->lines;
    for (int64_t o = 0; o < lines->outer; o++)
        for (int64_t j = 0; j < lines->inner; j++) {
            int order = items->compare(items->data, items->dtype,
                (o * lines->n + a) * lines->inner + j,
                (o * lines->n + b) * lines->inner + j);
            if (order) return order;
        }
    return 0;
}

/* Merges runs of doubling length between the two arrays; the result ends in *order. */
static void sort_items(const struct items *items, int64_t **order, int64_t **spare) {
    int64_t n = items->lines.n;
    for (int64_t i = 0; i < n; i++)
        (*order)[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int64_t middle = begin + width < n ? begin + width : n;
            int64_t end = begin + 2 * width < n ? begin + 2 * width : n;
            int64_t a = begin, b = middle;
            for (int64_t at = begin; at < end; at++) {
                bool left = a < middle && (b >= end || compare_items(items, (*order)[a],
                                                           (*order)[b]) <= 0);
                (*spare)[at] = left ? (*order)[a++] : (*order)[b++];
            }
        }
        int64_t *swap = *order;
        *order = *spare;
        *spare = swap;
    }
}

/* ---- kernel --------------------------------------------------------------------------- */

static tn_status infer_unique(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX] = {TN_DIM_UNKNOWN}, unknown = TN_DIM_UNKNOWN;
    struct unique_attrs attrs;
    uint32_t axis = 0;
    int32_t rank = 1;
    TN_TRY(TN_ATTRS_READ(unique, infer->node, &attrs, infer->diag));
    for (uint32_t o = 1; o < 4; o++) {
        const int64_t *length = &unknown;
        bool inverse = o == 2 && in && in->rank >= 0 && attrs.axis != INT64_MIN;
        if (inverse) {
            TN_TRY(tn_axis_fix(attrs.axis, in->rank, &axis, infer->diag));
            length = &in->dims[axis];
        }
        TN_TRY(tn_infer_set(infer, o, TN_INT64, 1, length));
    }
    if (!in) return TN_OK;
    if (attrs.axis != INT64_MIN) {
        rank = in->rank;
        TN_TRY(tn_rank_check(rank, infer->diag));
        for (int32_t i = 0; i < rank; i++)
            dims[i] = (uint32_t)i == axis ? TN_DIM_UNKNOWN : in->dims[i];
    }
    return tn_infer_set(infer, 0, in->dtype, rank, dims);
}

struct unique_kernel {
    struct tn__kernel base;
    struct unique_attrs attrs;
};

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct unique_kernel), out));
    struct unique_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(unique, ctx->node, &kernel->attrs, ctx->diag), out);
}

/* The groups of equal items. */
struct groups {
    int64_t n;        /* of groups */
    int64_t *first;   /* [group] its earliest item */
    int64_t *count;   /* [group] */
    int64_t *inverse; /* [item] its group */
};

static void number_groups(
    const struct items *items, const int64_t *order, bool sorted, struct groups *groups) {
    int64_t n = items->lines.n;
    groups->n = 0;
    for (int64_t i = 0; i < n; i++) { /* in sorted order; equals keep their order */
        bool fresh = i == 0 || compare_items(items, order[i - 1], order[i]) != 0;
        if (fresh) {
            groups->first[groups->n] = order[i];
            groups->count[groups->n++] = 0;
        }
        groups->count[groups->n - 1]++;
        groups->inverse[order[i]] = groups->n - 1;
    }
    if (sorted) return;
    /* Number them anew by first appearance: an item whose group's first item is itself
     * opens the next group. order[] is free by now and takes the new numbers. */
    int64_t *renumber = (int64_t *)(uintptr_t)order, next = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t group = groups->inverse[i];
        if (groups->first[group] == i) renumber[group] = next++;
    }
    for (int64_t i = 0; i < n; i++)
        groups->inverse[i] = renumber[groups->inverse[i]];
    for (int64_t i = 0; i < groups->n; i++)
        groups->count[i] = 0;
    for (int64_t i = n; i-- > 0;) {
        groups->first[groups->inverse[i]] = i;
        groups->count[groups->inverse[i]]++;
    }
}

static tn_status write_list(
    const struct tn_run_args *args, uint32_t o, const int64_t *list, int64_t n) {
    struct tn_tensor *out;
    if (o >= args->n_outputs || args->outputs[o].kind == TN_KIND_ABSENT) return TN_OK;
    TN_TRY(tn_out_shaped(args, o, TN_INT64, &n, 1, &out));
    if (n > 0) memcpy(out->data, list, (size_t)n * sizeof *list);
    return TN_OK;
}

static tn_status write_items(const struct tn_run_args *args, const struct items *items,
    const struct groups *groups, int64_t axis_attr) {
    const struct tn_tensor *in = tn_in(args, 0);
    const struct tn__lines *lines = &items->lines;
    int64_t dims[TN_RANK_MAX] = {groups->n};
    uint32_t rank = 1, axis = 0;
    struct tn_tensor *out;
    if (axis_attr != INT64_MIN) {
        rank = in->rank;
        TN_TRY(tn_axis_fix(axis_attr, rank, &axis, args->run->diag));
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = i == axis ? groups->n : in->dims[i];
    }
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, rank, &out));
    size_t bytes = (size_t)lines->inner * (tn_dtype_bits(in->dtype) / 8);
    char *dst = out->data;
    for (int64_t o = 0; o < lines->outer && bytes; o++)
        for (int64_t i = 0; i < groups->n; i++, dst += bytes)
            memcpy(dst,
                (const char *)in->data +
                    (size_t)(o * lines->n + groups->first[i]) * bytes,
                bytes);
    return TN_OK;
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct unique_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    const struct tn_run *run = args->run;
    struct items items = {
        in->data, in->dtype, compare_for(in->dtype), {1, tn_tensor_count(in), 1}};
    TN_TRY(tn_rank_check(in->rank, run->diag));
    if (kernel->attrs.axis != INT64_MIN)
        TN_TRY(tn__lines_make(in, kernel->attrs.axis, &items.lines, run->diag));
    uint64_t n = (uint64_t)items.lines.n;
    int64_t *memory = run->alloc(run, (5 * n + 1) * sizeof *memory, 64);
    if (!memory) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory to sort");
    int64_t *order = memory, *spare = memory + n;
    struct groups groups = {0, memory + 2 * n, memory + 3 * n, memory + 4 * n};
    sort_items(&items, &order, &spare);
    number_groups(&items, order, kernel->attrs.sorted != 0, &groups);
    TN_TRY(write_items(args, &items, &groups, kernel->attrs.axis));
    TN_TRY(write_list(args, 1, groups.first, groups.n));
    TN_TRY(write_list(args, 2, groups.inverse, items.lines.n));
    return write_list(args, 3, groups.count, groups.n);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Unique"), TN_VERSIONS({11}, {28}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", "T"}, {"indices", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL},
            {"inverse_indices", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL},
            {"counts", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(unique), .infer = infer_unique},
};
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Unique", 28), .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(unique);
