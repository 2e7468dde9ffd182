/* Repetition of a block: Expand (broadcasting), Tile. */
#include "loops/copy.h"
#include "ops/ops.h"

/* ---- inference ------------------------------------------------------------------------ */

static tn_status infer_expand(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    const struct tn_type *shape = tn_infer_input(infer, 1);
    int64_t dims[TN_RANK_MAX], wanted[TN_RANK_MAX];
    uint32_t n, rank = 0;
    if (!in) return TN_OK;
    TN_TRY(tn_infer_vector(infer, 1, "shape"));
    const int64_t *content = tn_infer_ints(infer, 1, &n);
    if (!content && shape && shape->rank == 1 && shape->dims[0] >= 0 &&
        shape->dims[0] <= TN_RANK_MAX) {
        n = (uint32_t)shape->dims[0];
        for (uint32_t i = 0; i < n; i++)
            wanted[i] = TN_DIM_UNKNOWN;
        content = wanted;
    }
    if (!content || in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (content[i] < 0 && !tn_dim_is_symbol(content[i]) && content[i] != -1)
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "the shape holds the size %lld", (long long)content[i]);
    TN_TRY(tn_rank_check(n, infer->diag));
    for (uint32_t i = 0; i < n; i++)
        wanted[i] = content[i] == -1 ? 1 : content[i];
    TN_TRY(tn_broadcast_into(dims, &rank, in->dims, (uint32_t)in->rank, infer->diag));
    TN_TRY(tn_broadcast_into(dims, &rank, wanted, n, infer->diag));
    TN_TRY(tn_infer_set(infer, 0, in->dtype, (int32_t)rank, dims));
    content = tn_infer_ints(infer, 0, &n);
    if (!content || n != 1 || rank != 1 || dims[0] < 0 || dims[0] > TN_RANK_MAX)
        return TN_OK;
    for (uint32_t i = 0; i < (uint32_t)dims[0]; i++)
        wanted[i] = content[0];
    return infer->set_dims_value(infer->self, 0, wanted, (uint32_t)dims[0]);
}

/* Expand to the shape that the input has. */
static int32_t elide_expand(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    uint32_t n;
    const int64_t *wanted = tn_infer_ints(infer, 1, &n);
    if (!in || in->rank < 0 || !wanted || (int32_t)n > in->rank) return -1;
    for (uint32_t i = 0; i < n; i++)
        if (wanted[i] != 1 &&
            !tn_dim_same(wanted[i], in->dims[(uint32_t)in->rank - n + i]))
            return -1;
    return 0;
}

static tn_status infer_tile(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    uint32_t n;
    if (!in) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "repeats"));
    const int64_t *repeats = tn_infer_ints(infer, 1, &n);
    if (repeats && n != (uint32_t)in->rank)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "'repeats' has %u entries, but the input has rank %d", n, (int)in->rank);
    for (int32_t i = 0; i < in->rank; i++) {
        if (repeats && repeats[i] < 0 && !tn_dim_is_symbol(repeats[i]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT, "'repeats' holds %lld",
                (long long)repeats[i]);
        dims[i] = repeats
                      ? infer->dim_op(infer->self, TN_DIM_MUL, in->dims[i], repeats[i])
                      : TN_DIM_UNKNOWN;
    }
    return tn_infer_set(infer, 0, in->dtype, in->rank, dims);
}

static int32_t elide_tile(const struct tn_infer *infer) {
    uint32_t n;
    const int64_t *repeats = tn_infer_ints(infer, 1, &n);
    if (!repeats) return -1;
    for (uint32_t i = 0; i < n; i++)
        if (repeats[i] != 1) return -1;
    return 0;
}

/* Tile-6: the number of repeats and one axis became a list of repeats for every axis. */
static tn_status upgrade_tile_6(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (node->n_inputs != 3)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "version 1 has 3 inputs, found %u",
            node->n_inputs);
    const struct tn_type *in = rw->api->value_type(rw->graph, node->inputs[0]);
    const struct tn_tensor *tiles = rw->api->constant(rw->graph, node->inputs[1]);
    const struct tn_tensor *axis = rw->api->constant(rw->graph, node->inputs[2]);
    tn_value_id value;
    void *data;
    if (!tiles || !axis || in->kind != TN_KIND_TENSOR || in->rank < 0 ||
        tn_tensor_count(tiles) != 1 || tn_tensor_count(axis) != 1)
        return tn_fail(rw->diag, TN_UNSUPPORTED,
            "version 1 needs constant tiles and axis and an input of known rank");
    int64_t rank = in->rank, at = tn_tensor_int(axis, 0), n = tn_tensor_int(tiles, 0);
    if (at < 0 || at >= rank)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "axis %lld is outside [0, %lld]",
            (long long)at, (long long)(rank - 1));
    TN_TRY(rw->api->add_constant(
        rw->graph, "repeats", TN_INT64, &rank, 1, &value, &data, rw->diag));
    for (int64_t i = 0; i < rank; i++)
        ((int64_t *)data)[i] = i == at ? n : 1;
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, value, rw->diag));
    return rw->api->set_input(rw->graph, rw->node, 2, TN_NO_ID, rw->diag);
}

/* ---- kernels -------------------------------------------------------------------------- */

static tn_status create_plain(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__kernel_create(ctx, sizeof(struct tn__kernel), out);
}

/* Moves `in` to the dense output of these dims, source steps as given. */
static tn_status spread(const struct tn__kernel *kernel, const struct tn_run_args *args,
    struct tn_tensor *out, const int64_t *dims, const int64_t *steps, uint32_t rank) {
    int64_t out_steps[2 * TN_RANK_MAX];
    struct tn__copy copy;
    const struct tn_tensor *in = tn_in(args, 0);
    tn__dense_steps(dims, rank, out_steps);
    TN_TRY(
        tn__copy_plan(&copy, in->dtype, rank, dims, out_steps, steps, args->run->diag));
    tn__copy_clear(out);
    tn__copy_run(kernel->host, &copy, out->data, in->data);
    return TN_OK;
}

static tn_status compute_expand(void *object, const struct tn_run_args *args) {
    const struct tn_tensor *in = tn_in(args, 0), *shape = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX], wanted[TN_RANK_MAX], steps[TN_RANK_MAX],
        in_steps[TN_RANK_MAX];
    int64_t n = tn_tensor_count(shape);
    uint32_t rank = 0;
    struct tn_tensor *out;
    TN_TRY(tn_rank_check(n, diag));
    for (int64_t i = 0; i < n; i++) {
        wanted[i] = tn_tensor_int(shape, i);
        if (wanted[i] == -1) wanted[i] = 1;
        if (wanted[i] < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "the shape holds the size %lld",
                (long long)wanted[i]);
    }
    TN_TRY(tn_broadcast_into(dims, &rank, in->dims, in->rank, diag));
    TN_TRY(tn_broadcast_into(dims, &rank, wanted, (uint32_t)n, diag));
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, rank, &out));
    tn__dense_steps(in->dims, in->rank, in_steps);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t lead = rank - in->rank;
        steps[i] = i < lead || in->dims[i - lead] == 1 ? 0 : in_steps[i - lead];
    }
    return spread(object, args, out, dims, steps, rank);
}

/* Every axis is walked twice: its repeats, then its elements. */
static tn_status compute_tile(void *object, const struct tn_run_args *args) {
    const struct tn_tensor *in = tn_in(args, 0), *repeats = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX], walk[2 * TN_RANK_MAX], steps[2 * TN_RANK_MAX];
    int64_t in_steps[TN_RANK_MAX];
    struct tn_tensor *out;
    TN_TRY(tn_rank_check(in->rank, diag));
    if (tn_tensor_count(repeats) != in->rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'repeats' has %lld entries, but the input has rank %u",
            (long long)tn_tensor_count(repeats), in->rank);
    tn__dense_steps(in->dims, in->rank, in_steps);
    for (uint32_t i = 0; i < in->rank; i++) {
        int64_t times = tn_tensor_int(repeats, i);
        if (times < 0 || (times > 0 && in->dims[i] > INT64_MAX / times))
            return tn_fail(
                diag, TN_INVALID_ARGUMENT, "'repeats' holds %lld", (long long)times);
        dims[i] = in->dims[i] * times;
        walk[2 * i] = times;
        walk[2 * i + 1] = in->dims[i];
        steps[2 * i] = 0;
        steps[2 * i + 1] = in_steps[i];
    }
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, in->rank, &out));
    return spread(object, args, out, walk, steps, 2 * in->rank);
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Expand"), TN_VERSIONS({8}, {13}),
        TN_INPUTS({"input", "T"}, {"shape", NULL, TN_BIT(INT64)}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), .infer = infer_expand, .elide = elide_expand},
    {TN_DEF("", "Tile"), TN_VERSIONS({1}, {6, 0, upgrade_tile_6}, {13}),
        TN_INPUTS({"input", "T"}, {"repeats", "T1"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"T1", TN_BIT(INT64)}),
        .infer = infer_tile, .elide = elide_tile},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Expand", 13), .create = create_plain, .compute = compute_expand},
    {TN_KERNEL("", "Tile", 13), .create = create_plain, .compute = compute_tile},
};
/* clang-format on */

TN_FAMILY(expand_tile);
