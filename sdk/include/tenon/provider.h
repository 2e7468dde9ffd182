/* An execution provider: devices, a verdict on every node, and compiled groups.
 *
 * A provider either brings kernels (tn_kernel_def rows that name it) and claims single
 * nodes, or claims groups of nodes and compiles each into one callable; or both. Groups may
 * keep their inputs and outputs in memory of the provider: the host plans that memory and
 * the copies.
 *
 * Of tn_provider_def only `id` and `capability` are needed; every other function may be
 * NULL, which means that the provider does not have the feature. Calls tagged [setup] are
 * serialised for one instance; [run] calls come from many threads, at most
 * `limits.max_runs` at once.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_PROVIDER_H
#define TENON_PROVIDER_H

#include "tenon/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices -------------------------------------------------------------------------
 */

enum { TN_DEVICE_CPU = 0, TN_DEVICE_GPU = 1, TN_DEVICE_NPU = 2, TN_DEVICE_OTHER = 3 };
enum {
    TN_DEVICE_OK = 0,
    TN_DEVICE_MISSING_DEPENDENCY = 1,
    TN_DEVICE_DRIVER_TOO_OLD = 2,
    TN_DEVICE_UNSUPPORTED = 3,
    TN_DEVICE_NO_PERMISSION = 4
};

struct tn_device {
    uint32_t struct_size; /* TN_DEVICE_SIZE */
    uint32_t flags;
    uint32_t kind;         /* TN_DEVICE_CPU … */
    uint32_t availability; /* TN_DEVICE_OK … */
    const char *name;
    const char *arch;
    const char *driver; /* version, may be NULL */
    const char *detail; /* why it is not available; may be NULL */
    uint64_t memory;    /* bytes, 0 unknown */
    const char *vendor; /* may be NULL */
    const char *sdk;    /* version of the vendor's library, may be NULL */
};
#define TN_DEVICE_SIZE ((uint32_t)TN_END_OF(struct tn_device, sdk))

/* ---- limits --------------------------------------------------------------------------
 */

#define TN_LIMIT_STATIC_SHAPES                                                           \
    0x10000u /* every shape of a claimed node is known at load */

/* What an instance can take at all. The host declines for the provider every node that is
 * beyond them, with the reason, so that capability need not look. 0 = no limit. */
struct tn_provider_limits {
    uint32_t struct_size;  /* TN_PROVIDER_LIMITS_SIZE */
    uint32_t flags;        /* TN_LIMIT_* */
    uint64_t dtypes;       /* mask of element types, TN_BIT() */
    uint64_t tensor_bytes; /* of one tensor */
    uint32_t max_rank;
    uint32_t max_runs; /* runs of compiled groups at one time */
};
#define TN_PROVIDER_LIMITS_SIZE ((uint32_t)TN_END_OF(struct tn_provider_limits, max_runs))

/* ---- verdicts ------------------------------------------------------------------------
 */

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
    X(COMPILER, 11, "the compiler declined")                                             \
    X(OTHER, 12, "other")                                                                \
    X(UNAVAILABLE, 13, "the provider is not available")                                  \
    X(CONTEXT, 14, "the context binary does not fit")
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
     * equal number are compiled together, or in parts where a path through other nodes
     * leaves the group and comes back. An unknown id, a double verdict, or (group 0) the
     * lack of a kernel is an error. */
    tn_status (*claim)(void *self, tn_node_id node, uint32_t group);
    tn_status (*decline)(
        void *self, tn_node_id node, uint32_t reason, const char *detail);
    /* Whether a kernel row of this provider serves the node: TN_REASON_OK, or the reason
     * with a text in *out_detail (borrowed until the next call). */
    uint32_t (*kernel)(void *self, tn_node_id node, const char **out_detail);
    /* Whether the node is within the provider's limits, in the same terms. */
    uint32_t (*check)(void *self, tn_node_id node, const char **out_detail);
};
#define TN_VERDICT_SINK_SIZE ((uint32_t)TN_END_OF(struct tn_verdict_sink, check))

/* ---- groups --------------------------------------------------------------------------
 */

/* A group of nodes to compile: a view of the graph plus its border. Constants are no part
 * of the border: api->constant() gives them, for as long as the session lives. Borrowed for
 * the call, but for what it says of constants. */
struct tn_group {
    uint32_t struct_size;
    uint32_t flags;
    const struct tn_graph_api *api;
    const struct tn_graph *graph;
    const tn_node_id *nodes; /* topological order */
    const tn_value_id *inputs;
    const tn_value_id *outputs;
    uint32_t n_nodes, n_inputs, n_outputs, id;
    const char *name; /* unique in the model: partition_name of a context binary */
};
#define TN_GROUP_SIZE ((uint32_t)TN_END_OF(struct tn_group, name))

/* What one run of a group costs, as far as it is known. Frozen; zeroed by the host. */
struct tn_estimate {
    double ns;          /* of the computation */
    double launch_ns;   /* of starting it */
    double transfer_ns; /* of moving the border; 0: the host takes copy_rate */
    double confidence;  /* 0 … 1 */
    uint64_t reserved[4];
};

#define TN_COMPILED_DROPS_WEIGHTS                                                        \
    0x10000u /* it reads no constant of the graph any more */

/* A compiled group. The provider owns it until destroy, which frees the struct too. */
struct tn_compiled {
    uint32_t struct_size; /* TN_COMPILED_SIZE */
    uint32_t flags;       /* TN_COMPILED_* */
    void *self;           /* first argument of the functions */
    /* [run] Inputs and outputs in the group's order, in the spaces below. Outputs whose
     * shape is not known before come without data: run->output_alloc gives it. With a
     * stream in args->stream the work may go on after the return; inputs in host memory
     * and the workspace are free again by then, the state stays. Reentrant up to
     * limits.max_runs. */
    tn_compute_fn run;
    void (*destroy)(void *self); /* [setup] */
    /* [run] As in tn_kernel_def; may be NULL. Workspace and state are host memory. */
    tn_status (*workspace)(
        void *self, const struct tn_run_args *args, struct tn_workspace *out);
    tn_status (*prepare)(void *self, const struct tn_run_args *args, tn_compute_fn *fn,
        struct tn_diag *diag);
    /* Memory space of each input and output; NULL = all in host memory. */
    const uint32_t *input_spaces;  /* [n_inputs] */
    const uint32_t *output_spaces; /* [n_outputs] */
};
#define TN_COMPILED_SIZE ((uint32_t)TN_END_OF(struct tn_compiled, output_spaces))

/* ---- memory --------------------------------------------------------------------------
 */

#define TN_SPACE_HOST_VISIBLE                                                            \
    0x10000u /* addresses are valid for the processor: a host may leave out copies */

/* A memory space of an instance. Addresses are numbers to the host: it adds offsets to
 * them and hands them to copy and run, and dereferences them only when they are visible. */
struct tn_space {
    uint32_t struct_size; /* TN_SPACE_SIZE */
    uint32_t flags;       /* TN_SPACE_* */
    uint32_t id;          /* > 0; 0 is host memory */
    uint32_t reserved;
    const char *name;   /* for reports */
    uint64_t align;     /* of every tensor: a power of two, 0 = 64 */
    uint64_t capacity;  /* bytes, 0 unknown */
    uint64_t copy_rate; /* bytes a microsecond to or from host memory, 0 unknown */
};
#define TN_SPACE_SIZE ((uint32_t)TN_END_OF(struct tn_space, copy_rate))

/* One copy of a dense block. Frozen. */
struct tn_copy {
    void *dst;
    const void *src;
    uint64_t size;
    uint32_t dst_space, src_space; /* 0 = host memory; never both 0 */
    void *stream;                  /* NULL: done on return */
    uint64_t reserved[2];
};

/* ---- context binaries ----------------------------------------------------------------
 */

enum {
    TN_CONTEXT_OPTIMAL = 0,
    TN_CONTEXT_USABLE = 1,   /* works; compiling again is advised */
    TN_CONTEXT_UNUSABLE = 2, /* made by or for something else */
    TN_CONTEXT_FOREIGN = 3   /* not a binary of this provider */
};

/* What is known of a context binary: written beside it, and checked by the host before the
 * provider sees a byte of it. Strings are never NULL, "" = unknown; a hash of zeros =
 * unknown. */
struct tn_context_record {
    uint32_t struct_size; /* TN_CONTEXT_RECORD_SIZE */
    uint32_t flags;
    const char *provider;         /* id … */
    const char *provider_version; /* … and version of its plugin */
    const char *sdk;              /* version of the vendor's library */
    const char *driver;
    const char *arch;         /* of the device it was made for */
    uint8_t graph_hash[32];   /* SHA-256 of nodes, types and border of all its groups */
    uint8_t weights_hash[32]; /* … of their constants */
    uint8_t options_hash[32]; /* … of the provider's options */
    uint8_t blob_hash[32];    /* … of the binary */
    uint64_t blob_size;
};
#define TN_CONTEXT_RECORD_SIZE ((uint32_t)TN_END_OF(struct tn_context_record, blob_size))

/* Where a context binary is written, front to back. */
struct tn_context_sink {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    tn_status (*write)(void *self, const void *data, uint64_t size);
};
#define TN_CONTEXT_SINK_SIZE ((uint32_t)TN_END_OF(struct tn_context_sink, write))

/* ---- the provider --------------------------------------------------------------------
 */

#define TN_PROVIDER_OWNING_THREAD                                                        \
    1u /* every call for an instance comes from one thread, which the host keeps */

struct tn_provider_def {
    uint32_t struct_size; /* TN_PROVIDER_DEF_SIZE */
    uint32_t flags;       /* TN_PROVIDER_* */
    const char *id;       /* "cpu" */
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
    void (*destroy)(void *instance); /* [setup] after every compiled group is gone */
    /* [setup] Asked once after create; lives as long as the instance. */
    const struct tn_provider_limits *(*limits)(void *instance);
    /* [setup] For each graph and subgraph, and again when passes of plugins have rewritten
     * what was not claimed: the answer depends on the graph and the instance alone. */
    tn_status (*capability)(void *instance, const struct tn_graph_api *api,
        const struct tn_graph *graph, const struct tn_verdict_sink *sink,
        struct tn_diag *diag);
    /* [setup] Of nodes that need not be claimed yet, so that providers can be compared.
     * Leaves *out alone when nothing is known. */
    void (*estimate)(
        void *instance, const struct tn_group *group, struct tn_estimate *out);
    /* [setup] Compiles one claimed group. NULL when the provider claims no groups. */
    tn_status (*compile)(void *instance, const struct tn_group *group,
        const struct tn_compiled **out, struct tn_diag *diag);

    /* [setup] The spaces besides host memory, as an array of pointers that lives as long
     * as the instance. With spaces, space_alloc, space_free and copy are needed. */
    void (*spaces)(
        void *instance, const struct tn_space *const **out_spaces, uint32_t *out_n);
    /* [run] `align` is a power of two. */
    tn_status (*space_alloc)(void *instance, uint32_t space, uint64_t size,
        uint64_t align, void **out_address, struct tn_diag *diag);
    void (*space_free)(void *instance, uint32_t space, void *address); /* [run] */
    /* [run] Between a space and host memory, or within the provider. Host memory that is
     * read has been read on return, with a stream too. */
    tn_status (*copy)(void *instance, const struct tn_copy *copy, struct tn_diag *diag);
    /* [run] Makes host memory usable in a space without a copy until import_release, or
     * says TN_UNSUPPORTED: then it is copied. A host may always copy instead. */
    tn_status (*import_host)(void *instance, uint32_t space, void *data, uint64_t size,
        void **out_address, struct tn_diag *diag);
    void (*import_release)(void *instance, uint32_t space, void *address); /* [run] */

    /* [run] An ordered queue for one context's runs and copies. Without one, run and copy
     * are done on return. */
    tn_status (*stream_create)(void *instance, void **out_stream, struct tn_diag *diag);
    void (*stream_destroy)(void *instance, void *stream);
    /* [run] Returns when all of the stream is done, with what failed on it. */
    tn_status (*stream_sync)(void *instance, void *stream, struct tn_diag *diag);

    /* [setup] The provider's own part of a record (sdk, driver, arch; the rest is the
     * host's); lives as long as the instance. */
    const struct tn_context_record *(*context_record)(void *instance);
    /* [setup] Whether a binary with this record can be imported here: TN_CONTEXT_*, and a
     * sentence in *out_detail (static, may be NULL). It gets no byte of it. */
    uint32_t (*context_validate)(
        void *instance, const struct tn_context_record *record, const char **out_detail);
    /* [setup] Writes one binary from which import makes all these groups again. */
    tn_status (*context_export)(void *instance, const struct tn_compiled *const *compiled,
        uint32_t n, const struct tn_context_sink *sink, struct tn_diag *diag);
    /* [setup] The groups of a binary, by their names. Each group has one node, which stands
     * for what was compiled. On failure nothing is kept. */
    tn_status (*context_import)(void *instance, const struct tn_context_record *record,
        const void *blob, uint64_t size, const struct tn_group *const *groups, uint32_t n,
        const struct tn_compiled **out, struct tn_diag *diag);
    /* Names that context nodes of others may give as their source and that are this
     * provider's too; NULL terminated, may be NULL. */
    const char *const *context_sources;
};
#define TN_PROVIDER_DEF_SIZE                                                             \
    ((uint32_t)TN_END_OF(struct tn_provider_def, context_sources))

#ifdef __cplusplus
}
#endif
#endif
