/* The layout of everything that crosses the plugin ABI, field by field: a change that moves
 * a field does not compile. Appending a field to a growable struct adds a row at its end;
 * frozen structs never change. */
#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"
#include "tenon/provider.h"
#include "tenon/tenon.h"

#define FIELD(type, field, at)                                                           \
    TN_STATIC_ASSERT(offsetof(struct type, field) == (at), "the ABI moved");
#define SIZE(type, size) TN_STATIC_ASSERT(sizeof(struct type) == (size), "the ABI moved");

/* clang-format off */
/* ---- frozen ---- */
SIZE(tn_diag, 904) FIELD(tn_diag, rule, 4) FIELD(tn_diag, message, 8) FIELD(tn_diag, node, 520)
FIELD(tn_diag, op, 616) FIELD(tn_diag, tensor, 712) FIELD(tn_diag, plugin, 808)
SIZE(tn_tensor, 64) FIELD(tn_tensor, dims, 8) FIELD(tn_tensor, strides, 16) FIELD(tn_tensor, size, 24)
FIELD(tn_tensor, dtype, 32) FIELD(tn_tensor, rank, 36) FIELD(tn_tensor, space, 40)
FIELD(tn_tensor, layout, 44) FIELD(tn_tensor, flags, 48) FIELD(tn_tensor, reserved, 52)
SIZE(tn_value_ref, 16) FIELD(tn_value_ref, flags, 4) FIELD(tn_value_ref, as, 8)
SIZE(tn_sequence, 32) FIELD(tn_sequence, table, 24) SIZE(tn_map, 128) SIZE(tn_optional, 24) SIZE(tn_sparse, 144)
SIZE(tn_string, 16) FIELD(tn_string, size, 8)
SIZE(tn_type, 32) FIELD(tn_type, dtype, 8) FIELD(tn_type, rank, 16) FIELD(tn_type, dims, 24)
SIZE(tn_attr, 32) FIELD(tn_attr, type, 8) FIELD(tn_attr, count, 12) FIELD(tn_attr, as, 16)
FIELD(tn_attr, ref, 24)
SIZE(tn_type_var, 40) SIZE(tn_formal, 32) SIZE(tn_attr_def, 16) SIZE(tn_op_version, 16)
SIZE(tn_inplace, 12) SIZE(tn_type_constraint, 16) SIZE(tn_workspace, 16)
SIZE(tn_run_args, 88) FIELD(tn_run_args, outputs, 8) FIELD(tn_run_args, n_inputs, 16)
FIELD(tn_run_args, n_outputs, 20) FIELD(tn_run_args, workspace, 24)
FIELD(tn_run_args, workspace_size, 32) FIELD(tn_run_args, state, 40) FIELD(tn_run_args, stream, 48)
FIELD(tn_run_args, run, 56) FIELD(tn_run_args, step, 64) FIELD(tn_run_args, reserved, 72)
SIZE(tn_plugin_note, 100) FIELD(tn_plugin_note, abi_major, 20) FIELD(tn_plugin_note, id, 36)

/* ---- growable: what stands stays where it is ---- */
FIELD(tn_host_info, abi_major, 8) FIELD(tn_host_info, cpu_features, 24)
FIELD(tn_host_info, product_version, 32) FIELD(tn_host_info, triple, 40)
FIELD(tn_host, self, 8) FIELD(tn_host, cpu_features, 16) FIELD(tn_host, cache_l1d, 24)
FIELD(tn_host, alloc, 48) FIELD(tn_host, free, 56) FIELD(tn_host, log, 64) FIELD(tn_host, config, 72)
FIELD(tn_host, clock_ns, 80) FIELD(tn_host, parallel_for, 88) FIELD(tn_host, worker_count, 96)
FIELD(tn_host, get_extension, 104)
FIELD(tn_plugin, abi_minor, 8) FIELD(tn_plugin, host_minor_min, 12) FIELD(tn_plugin, id, 16)
FIELD(tn_plugin, version, 32) FIELD(tn_plugin, sanitizer, 64) FIELD(tn_plugin, capabilities, 68)
FIELD(tn_plugin, init, 72) FIELD(tn_plugin, shutdown, 80) FIELD(tn_plugin, ops, 88)
FIELD(tn_plugin, kernels, 96) FIELD(tn_plugin, providers, 104) FIELD(tn_plugin, get_extension, 112)
FIELD(tn_plugin, services, 120)
FIELD(tn_node, id, 8) FIELD(tn_node, since, 12) FIELD(tn_node, name, 16) FIELD(tn_node, domain, 24)
FIELD(tn_node, op_type, 32) FIELD(tn_node, inputs, 40) FIELD(tn_node, outputs, 48)
FIELD(tn_node, attrs, 56) FIELD(tn_node, n_inputs, 64) FIELD(tn_node, n_outputs, 68)
FIELD(tn_node, n_attrs, 72)
FIELD(tn_op_def, domain, 8) FIELD(tn_op_def, op_type, 16) FIELD(tn_op_def, versions, 24)
FIELD(tn_op_def, inputs, 32) FIELD(tn_op_def, outputs, 40) FIELD(tn_op_def, type_vars, 48)
FIELD(tn_op_def, attrs, 56) FIELD(tn_op_def, n_versions, 64) FIELD(tn_op_def, reserved, 84)
FIELD(tn_op_def, infer, 88) FIELD(tn_op_def, elide, 96) FIELD(tn_op_def, expansion, 104)
FIELD(tn_op_def, expand, 112) FIELD(tn_op_def, doc, 120)
FIELD(tn_kernel_def, provider, 8) FIELD(tn_kernel_def, op_type, 24) FIELD(tn_kernel_def, name, 32)
FIELD(tn_kernel_def, since, 40) FIELD(tn_kernel_def, n_types, 44) FIELD(tn_kernel_def, types, 56)
FIELD(tn_kernel_def, inplace, 64) FIELD(tn_kernel_def, create, 72) FIELD(tn_kernel_def, destroy, 80)
FIELD(tn_kernel_def, prepack, 88) FIELD(tn_kernel_def, workspace, 96)
FIELD(tn_kernel_def, prepare, 104) FIELD(tn_kernel_def, compute, 112) FIELD(tn_kernel_def, cost, 120)
FIELD(tn_kernel_def, explain, 128)
FIELD(tn_rewrite, graph, 24) FIELD(tn_rewrite, node, 32) FIELD(tn_rewrite, to, 40)
FIELD(tn_rewrite, diag, 48)
FIELD(tn_run, output_alloc, 32) FIELD(tn_run, output_set, 40) FIELD(tn_run, alloc, 48)
FIELD(tn_run, subgraph_run, 56) FIELD(tn_run, interrupted, 64)
FIELD(tn_run, parallel_for, 72)
FIELD(tn_provider_def, id, 8) FIELD(tn_provider_def, devices, 32) FIELD(tn_provider_def, create, 40)
FIELD(tn_provider_def, destroy, 48) FIELD(tn_provider_def, limits, 56)
FIELD(tn_provider_def, capability, 64) FIELD(tn_provider_def, estimate, 72)
FIELD(tn_provider_def, compile, 80) FIELD(tn_provider_def, spaces, 88)
FIELD(tn_provider_def, space_alloc, 96) FIELD(tn_provider_def, space_free, 104)
FIELD(tn_provider_def, copy, 112) FIELD(tn_provider_def, import_host, 120)
FIELD(tn_provider_def, import_release, 128) FIELD(tn_provider_def, stream_create, 136)
FIELD(tn_provider_def, stream_destroy, 144) FIELD(tn_provider_def, stream_sync, 152)
FIELD(tn_provider_def, context_record, 160) FIELD(tn_provider_def, context_validate, 168)
FIELD(tn_provider_def, context_export, 176) FIELD(tn_provider_def, context_import, 184)
FIELD(tn_provider_def, context_sources, 192)
FIELD(tn_provider_limits, dtypes, 8) FIELD(tn_provider_limits, max_rank, 24)
FIELD(tn_provider_limits, max_runs, 28)
FIELD(tn_compiled, self, 8) FIELD(tn_compiled, run, 16) FIELD(tn_compiled, destroy, 24)
FIELD(tn_compiled, workspace, 32) FIELD(tn_compiled, prepare, 40)
FIELD(tn_compiled, input_spaces, 48) FIELD(tn_compiled, output_spaces, 56)
FIELD(tn_space, id, 8) FIELD(tn_space, name, 16) FIELD(tn_space, align, 24)
FIELD(tn_space, capacity, 32) FIELD(tn_space, copy_rate, 40)
SIZE(tn_estimate, 64) SIZE(tn_copy, 56) FIELD(tn_copy, stream, 32)
FIELD(tn_context_record, provider, 8) FIELD(tn_context_record, arch, 40)
FIELD(tn_context_record, graph_hash, 48) FIELD(tn_context_record, blob_hash, 144)
FIELD(tn_context_record, blob_size, 176) FIELD(tn_context_sink, write, 16)
FIELD(tn_device, name, 16) FIELD(tn_device, memory, 48) FIELD(tn_device, sdk, 64)
FIELD(tn_group, api, 8) FIELD(tn_group, nodes, 24) FIELD(tn_group, n_nodes, 48) FIELD(tn_group, name, 64)
FIELD(tn_verdict_sink, claim, 16) FIELD(tn_verdict_sink, decline, 24)
FIELD(tn_verdict_sink, kernel, 32) FIELD(tn_verdict_sink, check, 40)
FIELD(tn_pass_def, name, 8) FIELD(tn_pass_def, run, 40) FIELD(tn_pass_extension, passes, 8)
    /* clang-format on */

    /* Signatures: a function of today's type must fit the slot without a warning. */
    static tn_status
    init(const struct tn_host *host, void **state, struct tn_diag *diag) {
    (void)host;
    (void)state;
    (void)diag;
    return TN_OK;
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    (void)args;
    return TN_OK;
}

static tn_status infer(const struct tn_infer *ctx) {
    (void)ctx;
    return TN_OK;
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **kernel) {
    (void)ctx;
    (void)kernel;
    return TN_OK;
}

static tn_status capability(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    (void)instance;
    (void)api;
    (void)graph;
    (void)sink;
    (void)diag;
    return TN_OK;
}

int main(void) {
    const struct tn_plugin plugin = {.init = init};
    const struct tn_op_def op = {.infer = infer};
    const struct tn_kernel_def kernel = {.create = create, .compute = compute};
    const struct tn_provider_def provider = {.capability = capability};
    return !(plugin.init && op.infer && kernel.create && kernel.compute &&
             provider.capability);
}
