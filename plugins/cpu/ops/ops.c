/* The helpers of ops.h that are too long for a header. */
#include "ops/ops.h"

tn_status tn__upgrade_drop_consumed(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (!tn_node_attr(node, "consumed_inputs")) return TN_OK;
    return rw->api->remove_attr(rw->graph, rw->node, "consumed_inputs");
}

tn_status tn__upgrade_ints_to_input(
    const struct tn_rewrite *rw, const char *name, uint32_t index) {
    const struct tn_attr *attr = tn_node_attr(rw->api->node(rw->graph, rw->node), name);
    if (!attr) return TN_OK;
    if (attr->type != TN_ATTR_INTS)
        return tn_fail(rw->diag, TN_INVALID_MODEL,
            "attribute '%s' has type %u, expected a list of integers", name, attr->type);
    int64_t n = attr->count;
    tn_value_id value;
    void *data;
    TN_TRY(
        rw->api->add_constant(rw->graph, name, TN_INT64, &n, 1, &value, &data, rw->diag));
    attr = tn_node_attr(rw->api->node(rw->graph, rw->node), name);
    if (n > 0) memcpy(data, attr->as.ints, (size_t)n * sizeof(int64_t));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, index, value, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, name);
}

tn_status tn__kernel_create(const struct tn_kernel_ctx *ctx, size_t size, void **out) {
    struct tn__kernel *kernel = ctx->host->alloc(ctx->host->self, size, 0, "cpu kernel");
    if (!kernel)
        return tn_fail(
            ctx->diag, TN_OUT_OF_MEMORY, "no memory for a kernel of %zu bytes", size);
    memset(kernel, 0, size);
    kernel->cpu = ctx->plugin_state;
    kernel->host = ctx->host;
    *out = kernel;
    return TN_OK;
}

void tn__kernel_destroy(void *kernel) {
    struct tn__kernel *base = kernel;
    if (base) base->host->free(base->host->self, base);
}

tn_status tn__output(const struct tn_run_args *args, uint32_t o, int32_t dtype,
    const int64_t *dims, uint32_t rank, struct tn_tensor **out) {
    struct tn_tensor *tensor = tn__out(args, o);
    bool planned = tensor && tensor->dtype == dtype &&
                   tn_dims_equal(tensor->dims, tensor->rank, dims, rank);
    if (planned && !tensor->data && tn_tensor_count(tensor) != 0) planned = false;
    if (!planned) {
        if (!args->run) return TN_INTERNAL;
        TN_TRY(args->run->output_alloc(args->run, args, o, dtype, dims, rank));
        tensor = args->outputs[o].as.tensor;
    }
    *out = tensor;
    return TN_OK;
}
