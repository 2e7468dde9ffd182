/* An execution provider: devices, a verdict on every node, and compiled groups.
 *
 * A provider either brings kernels (tn_kernel_def rows that name it) and claims single
 * nodes, or claims groups of nodes and compiles each into one callable; or both.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_PROVIDER_H
#define TENON_PROVIDER_H

#include "tenon/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_DEVICE_CPU = 0, TN_DEVICE_GPU = 1, TN_DEVICE_NPU = 2, TN_DEVICE_OTHER = 3 };
enum {
    TN_DEVICE_OK = 0,
    TN_DEVICE_MISSING_DEPENDENCY = 1,
    TN_DEVICE_DRIVER_TOO_OLD = 2,
    TN_DEVICE_UNSUPPORTED = 3,
    TN_DEVICE_NO_PERMISSION = 4
};

struct tn_device {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t kind;         /* TN_DEVICE_CPU … */
    uint32_t availability; /* TN_DEVICE_OK … */
    const char *name;
    const char *arch;
    const char *driver; /* version, may be NULL */
    const char *detail; /* why it is not available; may be NULL */
    uint64_t memory;    /* bytes, 0 unknown */
};
#define TN_DEVICE_SIZE ((uint32_t)TN_END_OF(struct tn_device, memory))

/* Why a node is declined. Unknown numbers are shown as numbers. */
#define TN_REASON_LIST(X)                                                                \
    X(OK, 0, "claimed")                                                                  \
    X(OP_UNKNOWN, 1, "operator not implemented")                                         \
    X(OPSET, 2, "operator version")                                                      \
    X(DTYPE, 3, "element type")                                                          \
    X(RANK, 4, "rank")                                                                   \
    X(DYNAMIC_SHAPE, 5, "dynamic shape")                                                 \
    X(ATTRIBUTE, 6, "attribute value")                                                   \
    X(LAYOUT, 7, "layout")                                                               \
    X(QUANTIZATION, 8, "quantisation parameters")                                        \
    X(MEMORY, 9, "memory")                                                               \
    X(COST, 10, "not worth the transfer")                                                \
    X(COMPILER, 11, "the vendor's compiler declined")                                    \
    X(OTHER, 12, "other")
enum {
#define TN_REASON_ENUM(name, number, text) TN_REASON_##name = number,
    TN_REASON_LIST(TN_REASON_ENUM)
#undef TN_REASON_ENUM
};

/* Where capability reports. Every node gets exactly one verdict; a node left out counts
 * as declined with TN_REASON_OTHER. */
struct tn_verdict_sink {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    /* Claims a node: group 0 = by itself, with a kernel of this provider; else nodes of
     * equal number are compiled together. An unknown id, a double verdict, or (group 0)
     * the lack of a kernel is an error. */
    tn_status (*claim)(void *self, tn_node_id node, uint32_t group);
    tn_status (*decline)(
        void *self, tn_node_id node, uint32_t reason, const char *detail);
    /* Whether a kernel row of this provider serves the node: TN_REASON_OK, or the reason
     * with a text in *out_detail (borrowed until the next call). */
    uint32_t (*kernel)(void *self, tn_node_id node, const char **out_detail);
};
#define TN_VERDICT_SINK_SIZE ((uint32_t)TN_END_OF(struct tn_verdict_sink, kernel))

/* A group of nodes to compile: a view of the graph plus its border. */
struct tn_group {
    uint32_t struct_size;
    uint32_t flags;
    const struct tn_graph_api *api;
    const struct tn_graph *graph;
    const tn_node_id *nodes; /* topological order */
    const tn_value_id *inputs;
    const tn_value_id *outputs;
    uint32_t n_nodes, n_inputs, n_outputs, id;
};
#define TN_GROUP_SIZE ((uint32_t)TN_END_OF(struct tn_group, id))

struct tn_provider_def {
    uint32_t struct_size; /* TN_PROVIDER_DEF_SIZE */
    uint32_t flags;
    const char *id; /* "cpu" */
    const char *name;
    uint32_t device_kind;
    uint32_t reserved;

    /* [any] Emits each device, unavailable ones with the reason too. */
    void (*devices)(void *plugin_state,
        void (*emit)(void *arg, const struct tn_device *device), void *arg);
    /* [setup] Options are pairs of strings {key, value}, [2 * n]. An unknown key is an
     * error that names it. */
    tn_status (*create)(void *plugin_state, const struct tn_host *host,
        const char *const *options, uint32_t n_options, void **out_instance,
        struct tn_diag *diag);
    void (*destroy)(void *instance);
    /* [setup] Once per graph and subgraph. */
    tn_status (*capability)(void *instance, const struct tn_graph_api *api,
        const struct tn_graph *graph, const struct tn_verdict_sink *sink,
        struct tn_diag *diag);
    /* [setup] Compiles one claimed group into an object for run. NULL when the provider
     * never claims groups. */
    tn_status (*compile)(void *instance, const struct tn_group *group,
        void **out_compiled, struct tn_diag *diag);
    void (*compiled_destroy)(void *compiled);
    /* [run] Inputs and outputs in the group's order, host memory. */
    tn_status (*compiled_run)(void *compiled, const struct tn_run_args *args);
};
#define TN_PROVIDER_DEF_SIZE ((uint32_t)TN_END_OF(struct tn_provider_def, compiled_run))

#ifdef __cplusplus
}
#endif
#endif
