/* MatMul, Gemm, and the fused form of both, tenon.cpu.Gemm.
 *
 * All three are one kernel: Y = act(clamp(alpha A·B + beta C)). MatMul has no C; Gemm is of
 * rank 2 and may transpose; the fused form has both and a clamp or an activation behind.
 * f32 runs on packed panels; f64 and the integers on the plain loops of matmul_tmpl.h. */
#include "ops/fused_activation.h"
#include "ops/narrow.h"
#include "ops/ops.h"
#include "ops/product.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define GEMM_ATTRS(X, S)                                                                 \
    X(S, INT, transA, 0)                                                                 \
    X(S, INT, transB, 0)                                                                 \
    X(S, FLOAT, alpha, 1.0f)                                                             \
    X(S, FLOAT, beta, 1.0f)
#define FUSED_ATTRS(X, S)                                                                \
    GEMM_ATTRS(X, S)                                                                     \
    X(S, FLOAT, lo, -INFINITY)                                                           \
    X(S, FLOAT, hi, INFINITY)                                                            \
    X(S, STRING, activation, "")                                                         \
    X(S, FLOATS, params, )
/* clang-format on */
TN_ATTR_TABLE(gemm, GEMM_ATTRS)
TN_ATTR_TABLE(fused, FUSED_ATTRS)

/* ---- shapes ------------------------------------------------------------------------- */

/* The product's sizes as far as they are known (symbols in inference). */
struct shape {
    int64_t m, n, k, k_b;
    uint32_t batch_a, batch_b; /* ranks of the batch parts */
    bool vector_a, vector_b;
};

static void split_shape(struct shape *s, const int64_t *a, uint32_t rank_a,
    const int64_t *b, uint32_t rank_b, bool trans_a, bool trans_b) {
    s->vector_a = rank_a == 1;
    s->vector_b = rank_b == 1;
    s->batch_a = rank_a > 2 ? rank_a - 2 : 0;
    s->batch_b = rank_b > 2 ? rank_b - 2 : 0;
    s->m = s->vector_a ? 1 : a[rank_a - (trans_a ? 1 : 2)];
    s->k = s->vector_a ? a[0] : a[rank_a - (trans_a ? 2 : 1)];
    s->n = s->vector_b ? 1 : b[rank_b - (trans_b ? 2 : 1)];
    s->k_b = s->vector_b ? b[0] : b[rank_b - (trans_b ? 1 : 2)];
}

static tn_status infer_product(
    const struct tn_infer *infer, bool trans_a, bool trans_b, uint32_t least_rank) {
    const struct tn_type *a = tn_infer_input(infer, 0), *b = tn_infer_input(infer, 1);
    int32_t dtype = a ? a->dtype : b ? b->dtype : TN_UNDEFINED;
    if (!a || !b || a->rank < 0 || b->rank < 0)
        return dtype ? tn_infer_set(infer, 0, dtype, -1, NULL) : TN_OK;
    if (a->rank < (int32_t)least_rank || b->rank < (int32_t)least_rank)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "inputs have ranks %d and %d, expected %u or more", a->rank, b->rank,
            least_rank);
    struct shape s;
    int64_t dims[TN_RANK_MAX + 2];
    uint32_t rank = 0;
    TN_TRY(tn_rank_check(a->rank, infer->diag));
    TN_TRY(tn_rank_check(b->rank, infer->diag));
    split_shape(
        &s, a->dims, (uint32_t)a->rank, b->dims, (uint32_t)b->rank, trans_a, trans_b);
    if (s.k >= 0 && s.k_b >= 0 && s.k != s.k_b)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "inner dimensions differ: A has %lld columns, B has %lld rows",
            (long long)s.k, (long long)s.k_b);
    TN_TRY(tn_broadcast_into(dims, &rank, a->dims, s.batch_a, infer->diag));
    TN_TRY(tn_broadcast_into(dims, &rank, b->dims, s.batch_b, infer->diag));
    if (!s.vector_a) dims[rank++] = s.m;
    if (!s.vector_b) dims[rank++] = s.n;
    return tn_infer_set(infer, 0, dtype, (int32_t)rank, dims);
}

static tn_status infer_matmul(const struct tn_infer *infer) {
    return infer_product(infer, false, false, 1);
}

static tn_status infer_gemm(const struct tn_infer *infer) {
    struct gemm_attrs attrs;
    TN_TRY(TN_ATTRS_READ(gemm, infer->node, &attrs, infer->diag));
    return infer_product(infer, attrs.transA != 0, attrs.transB != 0, 2);
}

static tn_status infer_fused(const struct tn_infer *infer) {
    struct fused_attrs attrs;
    TN_TRY(TN_ATTRS_READ(fused, infer->node, &attrs, infer->diag));
    return infer_product(infer, attrs.transA != 0, attrs.transB != 0, 1);
}

/* ---- kernel ------------------------------------------------------------------------- */

struct matmul {
    struct tn__kernel base;
    bool trans_a, trans_b;
    float alpha, beta, lo, hi;
    struct tn__activation activation;
    const float *panels; /* packed B; NULL: B is dynamic */
    size_t packed_k, packed_n, packed_count;
};

enum bias { BIAS_NONE, BIAS_SCALAR, BIAS_COL, BIAS_ROW, BIAS_FULL };

struct plan {
    struct tn_product product;
    enum bias bias;
    size_t m, n, k;  /* of one product before rows of a batch are joined */
    size_t bytes_a;  /* of the transposed A in the workspace */
    int64_t steps[]; /* dims, step_a, step_b */
};

static tn_status create_matmul(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct matmul), out));
    struct matmul *mm = *out;
    mm->alpha = mm->beta = 1.0f;
    mm->lo = -INFINITY;
    mm->hi = INFINITY;
    return TN_OK;
}

static tn_status create_gemm(const struct tn_kernel_ctx *ctx, void **out) {
    struct gemm_attrs attrs;
    TN_TRY(TN_ATTRS_READ(gemm, ctx->node, &attrs, ctx->diag));
    TN_TRY(create_matmul(ctx, out));
    struct matmul *mm = *out;
    mm->trans_a = attrs.transA != 0;
    mm->trans_b = attrs.transB != 0;
    mm->alpha = attrs.alpha;
    mm->beta = attrs.beta;
    return TN_OK;
}

static tn_status create_fused(const struct tn_kernel_ctx *ctx, void **out) {
    struct fused_attrs attrs;
    struct tn__activation activation;
    TN_TRY(TN_ATTRS_READ(fused, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__activation_find(
        ctx->plugin_state, attrs.activation, attrs.params, &activation, ctx->diag));
    TN_TRY(create_gemm(ctx, out));
    struct matmul *mm = *out;
    mm->lo = attrs.lo;
    mm->hi = attrs.hi;
    mm->activation = activation;
    return TN_OK;
}

static tn_status prepack_f32(void *kernel, uint32_t input, const struct tn_tensor *b,
    const struct tn_prepack *sink, uint32_t *result, struct tn_diag *diag) {
    struct matmul *mm = kernel;
    const struct tn_gemm_kernels *gemm = &mm->base.cpu->gemm;
    if (input != 1 || b->rank < 1) return TN_OK;
    bool vector = b->rank == 1;
    size_t rows = (size_t)(vector ? b->dims[0] : b->dims[b->rank - 2]);
    size_t cols = (size_t)(vector ? 1 : b->dims[b->rank - 1]);
    size_t k = mm->trans_b ? cols : rows, n = mm->trans_b ? rows : cols;
    size_t count = (size_t)tn_dims_product(b->dims, 0, vector ? 0 : b->rank - 2);
    size_t each = tn_gemm_packed_size(gemm, k, n);
    if (k == 0 || n == 0 || count == 0) return TN_OK;
    if (each > SIZE_MAX / sizeof(float) / count)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "packed weights do not fit the memory");
    char layout[96];
    snprintf(layout, sizeof layout, "gemm_f32 k%zu n%zu t%d nr%zu kc%zu", k, n,
        mm->trans_b, gemm->nr, gemm->kc);
    void *buffer = NULL;
    int32_t filled = 0;
    TN_TRY(sink->buffer(sink->self, layout, (uint64_t)(each * count * sizeof(float)),
        &buffer, &filled, diag));
    if (!filled)
        tn__product_pack(gemm, mm->base.host, buffer, b->data, rows * cols,
            mm->trans_b ? 1 : cols, mm->trans_b ? cols : 1, k, n, count);
    mm->panels = buffer;
    mm->packed_k = k;
    mm->packed_n = n;
    mm->packed_count = count;
    *result = TN_PREPACK_DROP;
    return TN_OK;
}

static enum bias bias_kind(const struct tn_run_args *args, size_t m, size_t n) {
    const struct tn_tensor *c = tn_in(args, 2);
    if (!c) return BIAS_NONE;
    size_t count = (size_t)tn_tensor_count(c);
    size_t last = c->rank > 0 ? (size_t)c->dims[c->rank - 1] : 1;
    if (count == n && last == n) return BIAS_COL;
    if (count == 1) return BIAS_SCALAR;
    if (count == m && last == 1) return BIAS_ROW;
    return BIAS_FULL;
}

static bool plan_batch(struct plan *plan, const struct matmul *mm,
    const struct tn_tensor *a, const struct tn_tensor *b, const struct shape *s) {
    struct tn_product *p = &plan->product;
    uint32_t rank = s->batch_a > s->batch_b ? s->batch_a : s->batch_b;
    int64_t *dims = plan->steps, *step_a = dims + rank, *step_b = step_a + rank;
    size_t each_b = mm->panels ? tn_gemm_packed_size(p->kernels, plan->k, plan->n)
                               : plan->k * plan->n;
    int64_t run_a = (int64_t)(plan->m * plan->k), run_b = (int64_t)each_b;
    int64_t most_b = 1;
    p->batch = 1;
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t back = rank - i;
        int64_t da = back <= s->batch_a ? a->dims[s->batch_a - back] : 1;
        int64_t db = back <= s->batch_b ? b->dims[s->batch_b - back] : 1;
        dims[i] = da == 1 ? db : da;
        step_a[i] = da == 1 ? 0 : run_a;
        step_b[i] = db == 1 ? 0 : run_b;
        run_a *= da;
        run_b *= db;
        most_b *= db;
        p->batch *= (size_t)dims[i];
    }
    p->rank = rank;
    p->dims = dims;
    p->step_a = step_a;
    p->step_b = step_b;
    p->step_c = plan->m * plan->n;
    return most_b == 1;
}

static uint32_t batch_rank(const struct tn_run_args *args) {
    uint32_t a = args->inputs[0].as.tensor->rank, b = args->inputs[1].as.tensor->rank;
    uint32_t most = a > b ? a : b;
    return most > 2 ? most - 2 : 0;
}

static tn_status workspace_f32(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct matmul *mm = kernel;
    const struct tn_tensor *y = args->outputs[0].as.tensor;
    out->state = sizeof(struct plan) + 3 * batch_rank(args) * sizeof(int64_t);
    uint64_t n = y->rank > 0 ? (uint64_t)y->dims[y->rank - 1] : 1;
    out->scratch = n * sizeof(float) + 64; /* a scalar C as a row */
    if (mm->trans_a)
        out->scratch +=
            (uint64_t)tn_tensor_count(args->inputs[0].as.tensor) * sizeof(float);
    return TN_OK;
}

/* Puts the data of this call in its places. */
static void bind(struct tn_product *p, const struct matmul *mm, const struct plan *plan,
    const struct tn_run_args *args) {
    p->gemm.a = args->inputs[0].as.tensor->data;
    p->gemm.b = mm->panels ? mm->panels : args->inputs[1].as.tensor->data;
    p->gemm.c = args->outputs[0].as.tensor->data;
    const float *c = plan->bias ? args->inputs[2].as.tensor->data : NULL;
    switch (plan->bias) {
    case BIAS_NONE: break;
    case BIAS_COL: p->epilogue.bias_col = c; break;
    case BIAS_ROW: p->epilogue.bias_row = c; break;
    case BIAS_FULL: p->epilogue.residual = c; break;
    case BIAS_SCALAR: {
        float *row = args->workspace;
        for (size_t i = 0; i < plan->n; i++)
            row[i] = c[0];
        p->epilogue.bias_col = row;
    }
    }
}

/* One product of constant weights that is too small to be worth a thread. */
static tn_status compute_lean(void *kernel, const struct tn_run_args *args) {
    const struct matmul *mm = kernel;
    const struct plan *plan = args->state;
    struct tn_gemm gemm = plan->product.gemm;
    struct tn_gemm_epilogue epilogue = plan->product.epilogue;
    gemm.a = args->inputs[0].as.tensor->data;
    gemm.b = mm->panels;
    gemm.c = args->outputs[0].as.tensor->data;
    if (plan->bias) epilogue.bias_col = args->inputs[2].as.tensor->data;
    gemm.epilogue = &epilogue;
    tn_gemm_run(plan->product.kernels, &gemm, 0, gemm.m, 0, plan->product.p_block);
    return TN_OK;
}

static tn_status compute_f32(void *kernel, const struct tn_run_args *args) {
    const struct matmul *mm = kernel;
    const struct plan *plan = args->state;
    struct tn_product product = plan->product;
    bind(&product, mm, plan, args);
    if (mm->trans_a) {
        uint64_t skip = (plan->n * sizeof(float) + 63) / 64 * 64;
        float *a = (float *)((char *)args->workspace + skip);
        product.kernels->transpose(a, plan->k, product.gemm.a, plan->m, plan->k, plan->m);
        product.gemm.a = a;
    }
    return tn__product_run(&product, mm->base.host, args->run);
}

/* The sizes of this call, checked. */
static tn_status plan_shape(struct plan *plan, const struct matmul *mm,
    const struct tn_tensor *a, const struct tn_tensor *b, struct shape *s,
    struct tn_diag *diag) {
    /* Only a plain product takes vectors; a scalar is none at all. */
    uint32_t least = mm->trans_a || mm->trans_b ? 2 : 1;
    if (a->rank < least || b->rank < least)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "operands have ranks %u and %u, expected %u or more", a->rank, b->rank,
            least);
    split_shape(s, a->dims, a->rank, b->dims, b->rank, mm->trans_a, mm->trans_b);
    if (s->k != s->k_b || (mm->trans_a && a->rank != 2))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "inner dimensions differ: A has %lld columns, B has %lld rows",
            (long long)s->k, (long long)s->k_b);
    plan->m = (size_t)s->m;
    plan->n = (size_t)s->n;
    plan->k = (size_t)s->k;
    return TN_OK;
}

static tn_status prepare_f32(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct matmul *mm = kernel;
    const struct tn_tensor *a = args->inputs[0].as.tensor, *b = args->inputs[1].as.tensor;
    struct plan *plan = args->state;
    struct tn_product *p = &plan->product;
    struct shape s;
    TN_TRY(plan_shape(plan, mm, a, b, &s, diag));
    p->kernels = &mm->base.cpu->gemm;
    p->packed = mm->panels != NULL;
    p->b_transposed = mm->trans_b;
    bool one_b = plan_batch(plan, mm, a, b, &s);
    p->gemm.m = plan->m;
    if (one_b && !mm->trans_a) { /* one right side: the batch is more rows */
        p->gemm.m *= p->batch;
        p->batch = 1;
        p->rank = 0;
    }
    p->gemm.n = plan->n;
    p->gemm.k = plan->k;
    p->gemm.lda = plan->k;
    p->gemm.ldb = mm->trans_b ? plan->k : plan->n;
    if (p->gemm.ldb == 0) p->gemm.ldb = 1;
    p->gemm.ldc = plan->n;
    p->epilogue = (struct tn_gemm_epilogue)TN_GEMM_EPILOGUE_INIT;
    p->epilogue.alpha = mm->alpha;
    p->epilogue.beta = mm->beta;
    p->epilogue.lo = mm->lo;
    p->epilogue.hi = mm->hi;
    p->epilogue.ld_residual = plan->n;
    if (mm->activation.fn) {
        p->epilogue.post = tn__activation_post;
        p->epilogue.post_arg = &mm->activation;
    }
    plan->bias = bias_kind(args, p->gemm.m, plan->n);
    tn__product_plan(p);
    double work = (double)p->gemm.m * (double)plan->n * (double)plan->k;
    bool lean = p->packed && p->batch == 1 && plan->bias <= BIAS_COL &&
                plan->bias != BIAS_SCALAR && !mm->trans_a && work < TN_PRODUCT_SMALL;
    if (lean && p->gemm.m > 0 && plan->n > 0) {
        p->p_block = tn_gemm_panels(p->kernels, plan->n);
        *fn = compute_lean;
    }
    return TN_OK;
}

static void cost(void *kernel, const struct tn_run_args *args, struct tn_cost *out) {
    const struct matmul *mm = kernel;
    const struct tn_tensor *a = args->inputs[0].as.tensor,
                           *y = args->outputs[0].as.tensor;
    out->flops = out->bytes = 0;
    if (a->rank == 0) return; /* prepare refuses it */
    bool vector = a->rank < 2;
    double k = (double)(vector ? a->dims[0] : a->dims[a->rank - (mm->trans_a ? 2 : 1)]);
    double count = (double)tn_tensor_count(y);
    out->flops = 2 * k * count;
    out->bytes = 4 * (count + (double)tn_tensor_count(a) +
                         (double)tn_tensor_count(args->inputs[1].as.tensor));
}

/* ---- other element types ---------------------------------------------------------------- */

/* C of the wide types as two steps over the output, 0 where it is broadcast. */
struct bias_step {
    size_t row, col;
};

static struct bias_step bias_step(enum bias bias, size_t n) {
    switch (bias) {
    case BIAS_COL: return (struct bias_step){0, 1};
    case BIAS_ROW: return (struct bias_step){1, 0};
    case BIAS_FULL: return (struct bias_step){n, 1};
    default: return (struct bias_step){0, 0};
    }
}

#define T double
#define NAME(x) x##_f64
#include "ops/matmul_tmpl.h"
#define T uint32_t
#define NAME(x) x##_u32
#include "ops/matmul_tmpl.h"
#define T uint64_t
#define NAME(x) x##_u64
#include "ops/matmul_tmpl.h"

static tn_status workspace_plain(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->state = sizeof(struct plan) + 3 * batch_rank(args) * sizeof(int64_t);
    return TN_OK;
}

/* ---- Gemm 6 to 7: broadcasting of C was an attribute ------------------------------------ */

static tn_status upgrade_gemm_7(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (!tn_node_attr(node, "broadcast")) return TN_OK;
    return rw->api->remove_attr(rw->graph, rw->node, "broadcast");
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "MatMul"), TN_VERSIONS({1}, {9}, {13}),
        TN_INPUTS({"A", "T"}, {"B", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_WIDE}), .infer = infer_matmul},
    {TN_DEF("", "Gemm"), TN_VERSIONS({1}, {6}, {7, 0, upgrade_gemm_7}, {9}, {11}, {13}),
        TN_INPUTS({"A", "T"}, {"B", "T"}, {"C", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_WIDE}),
        TN_ATTRS(gemm), .infer = infer_gemm},
    {TN_PRIVATE_DEF("Gemm"), TN_VERSIONS({1}),
        TN_INPUTS({"A", "T"}, {"B", "T"}, {"C", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
        TN_ATTRS(fused), .infer = infer_fused,
        .doc = "activation(clamp(alpha A B + beta C)) with A of any rank"},
};

#define F32_SLOTS .prepack = prepack_f32, .workspace = workspace_f32, \
    .prepare = prepare_f32, .compute = compute_f32, .cost = cost
#define PLAIN_SLOTS(type) .workspace = workspace_plain, .prepare = prepare_##type, \
    .compute = compute_##type, .cost = cost
#define T_FLOAT TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)})
#define T_DOUBLE TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)})
#define T_NARROW TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})
#define T_32 TN_KERNEL_TYPES({"T", TN_BIT(INT32) | TN_BIT(UINT32)})
#define T_64 TN_KERNEL_TYPES({"T", TN_BIT(INT64) | TN_BIT(UINT64)})

TN_NARROW(matmul, .create = create_matmul, F32_SLOTS)
TN_NARROW(gemm, .create = create_gemm, F32_SLOTS)

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MatMul", 13), T_FLOAT, .create = create_matmul, F32_SLOTS},
    {TN_KERNEL("", "MatMul", 13), T_DOUBLE, .create = create_matmul, PLAIN_SLOTS(f64)},
    {TN_KERNEL("", "MatMul", 13), T_32, .create = create_matmul, PLAIN_SLOTS(u32)},
    {TN_KERNEL("", "MatMul", 13), T_64, .create = create_matmul, PLAIN_SLOTS(u64)},
    {TN_NARROW_KERNEL("", "MatMul", 13, matmul), T_NARROW},
    {TN_KERNEL("", "Gemm", 13), T_FLOAT, .create = create_gemm, F32_SLOTS},
    {TN_KERNEL("", "Gemm", 13), T_DOUBLE, .create = create_gemm, PLAIN_SLOTS(f64)},
    {TN_KERNEL("", "Gemm", 13), T_32, .create = create_gemm, PLAIN_SLOTS(u32)},
    {TN_KERNEL("", "Gemm", 13), T_64, .create = create_gemm, PLAIN_SLOTS(u64)},
    {TN_NARROW_KERNEL("", "Gemm", 13, gemm), T_NARROW},
    {TN_KERNEL("tenon.cpu", "Gemm", 1), .create = create_fused, F32_SLOTS},
};
/* clang-format on */

TN_FAMILY(matmul);
