/* What an operator is (tn_op_def, the domain's) and who can run it (tn_kernel_def, a
 * provider's).
 *
 * A node is rewritten at load to the newest version its domain defines, by the `upgrade`
 * functions of the version rows; so inference, expansion and kernels serve one version. A
 * kernel written for version V serves a node of version D when no row with an upgrade
 * lies in (V, D] and its type constraints admit the node.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_OP_H
#define TENON_OP_H

#include "tenon/graph.h"
#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- definition ----------------------------------------------------------------------
 */

/* In tn_type_var.maps: value types of maps whose keys are strings. Those of maps with int64
 * keys are plain masks. */
#define TN_STRING_KEYS(mask) ((uint64_t)(mask) << 32)
/* In tn_type_var.sequences: the maps stand inside sequences, not alone. */
#define TN_SEQUENCES_OF_MAPS (UINT64_C(1) << 63)

/* Element types a type variable ranges over, by the kind of value that holds them.
 * Frozen. */
struct tn_type_var {
    const char *name;   /* "T" */
    uint64_t tensors;   /* masks of element types, TN_BIT() */
    uint64_t sequences; /* … as sequence(tensor); also TN_SEQUENCES_OF_MAPS */
    uint64_t optionals; /* … as optional(tensor); bit 63: also optional(sequence) */
    uint64_t maps;      /* … as values of maps with int64 keys; TN_STRING_KEYS() */
};

#define TN_FORMAL_OPTIONAL 1u
#define TN_FORMAL_VARIADIC 2u      /* the last formal may repeat */
#define TN_FORMAL_HETEROGENEOUS 4u /* variadic items may differ in type */

/* One formal input or output. Frozen. */
struct tn_formal {
    const char *name;
    const char *type_var; /* name of a type variable, or NULL: `types` alone */
    uint64_t types;       /* mask of tensor element types when type_var is NULL */
    uint32_t flags;       /* TN_FORMAL_* */
    uint32_t min_arity;   /* variadic: least number of items */
};

#define TN_ATTR_REQUIRED 1u

/* One attribute of the schema. Frozen. Defaults live in the attribute table that parses
 * it. */
struct tn_attr_def {
    const char *name;
    uint32_t type; /* TN_ATTR_* */
    uint32_t flags;
};

/* Inference: what is known of one node's inputs, and where to put what follows for its
 * outputs. [setup], and [run] for nodes whose shapes depend on data. Frozen prefix. */
struct tn_infer {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    const struct tn_host *host;
    const struct tn_node *node;
    const struct tn_type *inputs; /* [node->n_inputs], kind ABSENT where omitted */
    struct tn_diag *diag;

    /* Content of input i when it is known, else NULL. */
    const struct tn_tensor *(*value)(void *self, uint32_t i);
    /* Content of input i when it is a short integer tensor (int32 or int64, rank 0 or 1)
     * of which at least the length is known: numbers, symbols (<= TN_DIM_SYMBOL_MAX),
     * TN_DIM_UNKNOWN where nothing is known of an element. NULL otherwise. */
    const int64_t *(*dims_value)(void *self, uint32_t i, uint32_t *out_n);
    /* Type and shape of output o. dims are copied. Merged with what was declared; a
     * contradiction is an error that names both. */
    tn_status (*set_type)(void *self, uint32_t o, const struct tn_type *type);
    /* Short integer content of output o (as in dims_value). */
    tn_status (*set_dims_value)(void *self, uint32_t o, const int64_t *dims, uint32_t n);
    /* Full content of output o: a tensor that outlives the session (an attribute's). */
    tn_status (*set_value)(void *self, uint32_t o, const struct tn_tensor *tensor);
    /* Arithmetic on dimensions: TN_DIM_ADD …; symbols are simplified and interned, so
     * equal expressions are equal numbers. Results may be negative numbers. Overflow and division by zero give
     * TN_DIM_UNKNOWN. */
    int64_t (*dim_op)(void *self, uint32_t op, int64_t a, int64_t b);
    /* Infers a subgraph attribute for these input types (n may be less than the
     * subgraph's inputs); writes the types of its outputs, borrowed until the graph goes.
     */
    tn_status (*infer_subgraph)(void *self, struct tn_graph *subgraph,
        const struct tn_type *inputs, uint32_t n_inputs, struct tn_type *out_types,
        uint32_t n_outputs);
    /* Scratch memory that lives until this node's inference ends; NULL when there is
     * none. */
    void *(*scratch)(void *self, uint64_t size);
};
#define TN_INFER_SIZE ((uint32_t)TN_END_OF(struct tn_infer, scratch))

enum {
    TN_DIM_ADD = 0,
    TN_DIM_SUB = 1,
    TN_DIM_MUL = 2,
    TN_DIM_DIV = 3, /* floor */
    TN_DIM_CEIL_DIV = 4,
    TN_DIM_MIN = 5,
    TN_DIM_MAX = 6,
    TN_DIM_MOD = 7 /* sign of the divisor */
};

/* Rewriting of one node by an upgrade or an expansion builder. */
struct tn_rewrite {
    uint32_t struct_size;
    uint32_t flags;
    const struct tn_host *host;
    const struct tn_graph_api *api;
    struct tn_graph *graph;
    tn_node_id node;
    int32_t from; /* version the node follows now … */
    int32_t to;   /* … and the version this step leads to */
    uint32_t reserved;
    struct tn_diag *diag;
};
#define TN_REWRITE_SIZE ((uint32_t)TN_END_OF(struct tn_rewrite, diag))
typedef tn_status (*tn_rewrite_fn)(const struct tn_rewrite *rw);

#define TN_VERSION_DEPRECATED 1u /* a model that resolves to this version is refused */

/* One version of an operator. Frozen. `upgrade` rewrites a node of the version before
 * into this one; NULL when the step only widens types or adds an attribute whose default
 * keeps the meaning. */
struct tn_op_version {
    int32_t since;
    uint32_t flags;
    tn_rewrite_fn upgrade;
};

#define TN_OP_NONDETERMINISTIC 0x10000u /* random: neither folded nor shared */
#define TN_OP_STATEFUL 0x20000u         /* keeps state from run to run */
#define TN_OP_PRIVATE 0x80000u          /* made by rewrites alone: refused in a model */
#define TN_OP_CONTEXT 0x40000u          /* stands for a compiled group: see provider.h */

struct tn_op_def {
    uint32_t struct_size; /* TN_OP_DEF_SIZE */
    uint32_t flags;
    const char *domain; /* "" is ai.onnx */
    const char *op_type;
    const struct tn_op_version *versions; /* ascending */
    const struct tn_formal *inputs;       /* schema of the newest version */
    const struct tn_formal *outputs;
    const struct tn_type_var *type_vars;
    const struct tn_attr_def *attrs;
    uint32_t n_versions, n_inputs, n_outputs, n_type_vars, n_attrs, reserved;

    /* Types and shapes of the outputs. NULL: unknown until run. */
    tn_status (*infer)(const struct tn_infer *infer);
    /* When output 0 equals an input bit for bit whatever the data (x + 0 is not: -0), its
     * index, else -1. NULL: never. */
    int32_t (*elide)(const struct tn_infer *infer);
    /* Body in the ONNX text format, a function `f (formals) => (formals) { … }`, run when
     * no kernel claims the whole. Without opset imports its nodes follow the newest
     * definitions of ai.onnx and of this domain. NULL when there is none … */
    const char *expansion;
    /* … or the body depends on attributes or types: rewrites the node into others.
     * Returns TN_UNSUPPORTED when this node has no body. */
    tn_rewrite_fn expand;
    const char *doc; /* one line, may be NULL */
};
#define TN_OP_DEF_SIZE ((uint32_t)TN_END_OF(struct tn_op_def, doc))

/* ---- kernel --------------------------------------------------------------------------
 */

struct tn_run_args;

/* One call of a running kernel. Services of the run: [run], from the thread that called
 * compute. Frozen prefix. */
struct tn_run {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    const struct tn_host *host;
    struct tn_diag *diag;

    /* Gives output `o` of this call its shape and memory, for outputs whose shape depends
     * on data. The tensor is args->outputs[o].as.tensor afterwards. */
    tn_status (*output_alloc)(const struct tn_run *run, const struct tn_run_args *args,
        uint32_t o, int32_t dtype, const int64_t *dims, uint32_t rank);
    /* Makes output `o` any other value (a sequence, an optional, …): deep-copied. */
    tn_status (*output_set)(const struct tn_run *run, const struct tn_run_args *args,
        uint32_t o, const struct tn_value_ref *value);
    /* Memory until the end of the run: bytes of string elements, growing results. */
    void *(*alloc)(const struct tn_run *run, uint64_t size, uint64_t align);
    /* Runs a subgraph attribute. Inputs are borrowed; outputs are written as borrowed
     * values that live until the next-but-one run of the same subgraph in this call, and
     * never alias the inputs of the same run. */
    tn_status (*subgraph_run)(const struct tn_run *run, const struct tn_run_args *args,
        struct tn_graph *subgraph, const struct tn_value_ref *inputs, uint32_t n_inputs,
        struct tn_value_ref *outputs, uint32_t n_outputs);
    /* 0, TN_CANCELLED or TN_DEADLINE: long kernels ask every millisecond or so. [worker]
     * too */
    tn_status (*interrupted)(const struct tn_run *run);
    /* host->parallel_for that stops early when the run is interrupted: TN_OK when every
     * item was done, else TN_CANCELLED or TN_DEADLINE, which the kernel returns at once
     * since some items were not. */
    tn_status (*parallel_for)(
        const struct tn_run *run, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg);
};
#define TN_RUN_SIZE ((uint32_t)TN_END_OF(struct tn_run, parallel_for))

/* Arguments of a call: flat, resolved once per shape set. Frozen. The value structs keep
 * their addresses from run to run; data pointers of the run's inputs and outputs may
 * change between runs. */
struct tn_run_args {
    const struct tn_value_ref *inputs; /* [n_inputs] */
    struct tn_value_ref *outputs; /* [n_outputs]; tensors allocated where shapes known */
    uint32_t n_inputs, n_outputs;
    void *workspace; /* scratch of this call, aligned to 64, contents undefined */
    uint64_t workspace_size;
    void *state; /* what prepare wrote */
    void *stream;
    const struct tn_run *run; /* NULL in workspace and prepare */
    void *step;               /* the host's own */
    uint64_t reserved[2];
};

typedef tn_status (*tn_compute_fn)(void *kernel, const struct tn_run_args *args);

/* What create is told. Frozen prefix. */
struct tn_kernel_ctx {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    const struct tn_host *host;
    void *plugin_state; /* what the plugin's init returned */
    const struct tn_node *node;
    const struct tn_type *inputs;  /* [node->n_inputs]; shapes with symbols */
    const struct tn_type *outputs; /* [node->n_outputs] */
    struct tn_diag *diag;
    /* Content of input i when it is constant, else NULL; outlives the kernel unless
     * prepack said TN_PREPACK_DROP. */
    const struct tn_tensor *(*constant)(void *self, uint32_t i);
};
#define TN_KERNEL_CTX_SIZE ((uint32_t)TN_END_OF(struct tn_kernel_ctx, constant))

/* Where packed weights go. */
struct tn_prepack {
    uint32_t struct_size;
    uint32_t flags;
    void *self;
    /* A buffer for the packed form of this input under `layout` (a text that fixes its
     * content: algorithm, tile, ISA level). *out_filled says that another session has
     * filled it already: do not write then. It lives as long as the kernel; read it any
     * time. */
    tn_status (*buffer)(void *self, const char *layout, uint64_t size, void **out_buffer,
        int32_t *out_filled, struct tn_diag *diag);
};
#define TN_PREPACK_SIZE ((uint32_t)TN_END_OF(struct tn_prepack, buffer))

enum {
    TN_PREPACK_NONE = 0, /* the kernel reads the original */
    TN_PREPACK_KEEP = 1, /* packed, and the original is read too */
    TN_PREPACK_DROP = 2  /* packed, the original is not needed: its pages may go */
};

/* What a call needs beyond its inputs and outputs, for one shape set. */
struct tn_workspace {
    uint64_t scratch; /* bytes in args->workspace, shared between calls */
    uint64_t state;   /* bytes in args->state, kept for the shape set, zeroed */
};

/* A sharing of memory between an input and an output. Frozen. */
struct tn_inplace {
    uint32_t input, output;
    uint32_t kind; /* TN_INPLACE_* */
};
enum {
    TN_INPLACE_OVERWRITE = 1, /* same bytes and element size: may be the same memory */
    TN_INPLACE_VIEW = 2 /* same bytes, another shape: when they share, compute is not
                           called */
};

/* Which element types a kernel takes for a type variable or a formal of the schema.
 * Frozen. A name the schema lacks is refused at registration. */
struct tn_type_constraint {
    const char *name;
    uint64_t types;
};

/* Estimate for one call. */
struct tn_cost {
    double flops;
    double bytes;
};

#define TN_KERNEL_SERIAL                                                                 \
    1u /* compute is not reentrant: the host serialises its calls   \
                             */

struct tn_kernel_def {
    uint32_t struct_size; /* TN_KERNEL_DEF_SIZE */
    uint32_t flags;
    const char *provider; /* "cpu" */
    const char *domain;
    const char *op_type;
    const char *name; /* for profiles, e.g. "gemm_f32"; may be NULL */
    int32_t since;    /* the version it was written for */
    uint32_t n_types, n_inplace, reserved;
    const struct tn_type_constraint
        *types; /* variables not named take all of the schema */
    const struct tn_inplace *inplace;

    /* [setup] Parses attributes once into a kernel object, immutable afterwards. NULL:
     * the kernel object is NULL. */
    tn_status (*create)(const struct tn_kernel_ctx *ctx, void **out_kernel);
    void (*destroy)(void *kernel); /* [setup] accepts NULL; may be NULL */
    /* [setup] Offered each constant input once, before any run. *out_result:
     * TN_PREPACK_*. May be NULL. */
    tn_status (*prepack)(void *kernel, uint32_t input, const struct tn_tensor *tensor,
        const struct tn_prepack *sink, uint32_t *out_result, struct tn_diag *diag);
    /* [run] Sizes for the shapes in args; pointers to data are not valid here. May be
     * NULL. */
    tn_status (*workspace)(
        void *kernel, const struct tn_run_args *args, struct tn_workspace *out);
    /* [run] Once per shape set, after workspace: fills args->state and may choose a
     * compute function for these shapes (*fn holds `compute` at first). Data pointers are
     * not valid here. May be NULL. */
    tn_status (*prepare)(void *kernel, const struct tn_run_args *args, tn_compute_fn *fn,
        struct tn_diag *diag);
    /* [run] Reentrant. Failure: fills args->run->diag and returns a code. */
    tn_compute_fn compute;
    /* [any] Estimate for the shapes in args. May be NULL. */
    void (*cost)(void *kernel, const struct tn_run_args *args, struct tn_cost *out);
    /* [any] One line, NUL-terminated within `size` bytes: which way of several the kernel
     * goes for the shapes in args and why; for NULL args, which ways it may go. Shown by
     * profiles and reports. May be NULL. Minor 1. */
    void (*explain)(
        void *kernel, const struct tn_run_args *args, char *out, uint64_t size);
};
#define TN_KERNEL_DEF_SIZE ((uint32_t)TN_END_OF(struct tn_kernel_def, explain))

#ifdef __cplusplus
}
#endif
#endif
