/* com.example.SparseMatMul: Y[M,N] = X[M,K] · W[K,N] for a W that is mostly zeros. Constant
 * weights are packed once, at load, into lists of what is not zero; sums are kept in double
 * in scratch memory that the host plans, so that a run allocates nothing. A W that is not
 * constant is read as it is. */
#include "custom.h"

static tn_status infer_sparse_matmul(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *w = tn_infer_input(infer, 1);
    if (!x || !w || x->rank < 0 || w->rank < 0)
        return tn_infer_set(infer, 0, TN_FLOAT, -1, NULL);
    if (x->rank != 2 || w->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "X and W have ranks %d and %d, expected 2", (int)x->rank, (int)w->rank);
    if (x->dims[1] >= 0 && w->dims[0] >= 0 && x->dims[1] != w->dims[0])
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "X has %lld columns and W %lld rows, expected as many", (long long)x->dims[1],
            (long long)w->dims[0]);
    const int64_t dims[2] = {x->dims[0], w->dims[1]};
    return tn_infer_set(infer, 0, TN_FLOAT, 2, dims);
}

/* What is not zero, row by row of W. */
struct entry {
    int32_t row, column;
    float weight;
};

struct sparse_kernel {
    struct tn_kernel_head head;
    const struct entry *entries; /* NULL: not packed */
    int64_t n;
};

static tn_status create_sparse_matmul(const struct tn_kernel_ctx *ctx, void **out) {
    return tn_kernel_create(ctx, sizeof(struct sparse_kernel), out);
}

static tn_status prepack_sparse_matmul(void *object, uint32_t input,
    const struct tn_tensor *w, const struct tn_prepack *sink, uint32_t *out_result,
    struct tn_diag *diag) {
    struct sparse_kernel *kernel = object;
    *out_result = TN_PREPACK_NONE;
    if (input != 1 || w->rank != 2 || w->dims[0] > INT32_MAX || w->dims[1] > INT32_MAX)
        return TN_OK;
    const float *data = w->data;
    int64_t n = 0, total = tn_tensor_count(w), at = 0;
    for (int64_t i = 0; i < total; i++)
        n += data[i] != 0;
    void *buffer;
    int32_t filled; /* another session packed the same weights already */
    TN_TRY(sink->buffer(sink->self, "com.example sparse rows 1",
        (uint64_t)(n + 1) * sizeof(struct entry), &buffer, &filled, diag));
    for (int64_t i = 0; i < total && !filled; i++) {
        if (data[i] != 0)
            ((struct entry *)buffer)[at++] = (struct entry){
                (int32_t)(i / w->dims[1]), (int32_t)(i % w->dims[1]), data[i]};
    }
    kernel->entries = buffer;
    kernel->n = n;
    *out_result = TN_PREPACK_DROP;
    return TN_OK;
}

static tn_status workspace_sparse_matmul(
    void *object, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)object;
    out->scratch = (uint64_t)tn_out(args, 0)->dims[1] * sizeof(double);
    return TN_OK;
}

static void add_packed(const struct sparse_kernel *kernel, const float *x, double *sums) {
    for (int64_t e = 0; e < kernel->n; e++)
        sums[kernel->entries[e].column] +=
            (double)x[kernel->entries[e].row] * (double)kernel->entries[e].weight;
}

static void add_plain(const struct tn_tensor *w, const float *x, double *sums) {
    const float *weights = w->data;
    for (int64_t k = 0; k < w->dims[0]; k++) {
        for (int64_t c = 0; c < w->dims[1]; c++) {
            float weight = weights[k * w->dims[1] + c];
            if (weight != 0) sums[c] += (double)x[k] * (double)weight;
        }
    }
}

static tn_status compute_sparse_matmul(void *object, const struct tn_run_args *args) {
    const struct sparse_kernel *kernel = object;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y = tn_out(args, 0);
    double *sums = args->workspace;
    for (int64_t m = 0; m < y->dims[0]; m++) {
        const float *in = (const float *)x->data + m * x->dims[1];
        float *out = (float *)y->data + m * y->dims[1];
        for (int64_t c = 0; c < y->dims[1]; c++)
            sums[c] = 0;
        if (kernel->entries)
            add_packed(kernel, in, sums);
        else
            add_plain(tn_in(args, 1), in, sums);
        for (int64_t c = 0; c < y->dims[1]; c++)
            out[c] = (float)sums[c];
    }
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_sparse_matmul = {
    TN_DEF("com.example", "SparseMatMul"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}, {"W", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
    .infer = infer_sparse_matmul,
    .doc = "product with a matrix that is mostly zeros"};
const struct tn_kernel_def custom_sparse_matmul_cpu = {
    TN_KERNEL_OF("com.example", "SparseMatMul", 1),
    .create = create_sparse_matmul,
    .prepack = prepack_sparse_matmul,
    .workspace = workspace_sparse_matmul,
    .compute = compute_sparse_matmul};
/* clang-format on */
