/* From an optimised graph to something that runs: who serves each node, kernels with
 * packed weights, and the order of execution. Independent of the shapes of a run.
 *
 * A plan belongs to a session and is immutable once created. */
#ifndef TENON_PLAN_H
#define TENON_PLAN_H

#include "core/registry/registry.h"

#include <pthread.h>

struct tn__weights;
struct tn__weight_ref;
struct tn__owner;
struct tn__gate;

/* How much fallback from the named providers is allowed. */
enum {
    TN_POLICY_STRICT = 0,  /* every node on the providers listed, which must load */
    TN_POLICY_REQUIRE = 1, /* the same, and the list ends with a fallback */
    TN_POLICY_AUTO = 2     /* a provider that cannot load or compile is passed over */
};

struct tn__plan_options {
    const char *const *providers; /* in order of preference */
    uint32_t n_providers;
    uint32_t policy;
    const struct tn__conf *conf; /* options of the providers */
    struct tn__weights *weights; /* packed weights; borrowed; NULL: no prepacking */
    bool share_weights;          /* equal content is packed once for all sessions */
    bool dry_run;                /* place only: nothing is compiled, created or packed */
    bool by_cost;      /* a group that gains nothing is left to the next provider */
    bool keep_weights; /* nothing is let go: another plan may follow */
    uint64_t max_fallback_nodes; /* nodes that may fall to the last provider … */
    bool has_fallback;           /* … when it is the one that nobody named */
    const struct tn__context_node *contexts;
    uint32_t n_contexts;
    tn_compute_fn copy;            /* runs a tn__transfer: the exec room's */
    const struct tn__veto *vetoes; /* claims withdrawn in advance */
    uint32_t n_vetoes;
    const struct tn__host_services *services; /* prepack runs on its pool */
};

/* A node that stands for a compiled group, and its binary as the file had it. */
struct tn__context_node {
    const struct tn_graph *graph;
    tn_node_id node;
    const char *source, *name; /* who made it; the group's name in the binary */
    struct tn_context_record *record;
    const void *blob;
    uint64_t size;
    bool is_main;        /* the binary is its own */
    const char *problem; /* why it cannot be used, "" otherwise */
};

/* A claim that does not count, because a measurement or a run said so. */
struct tn__veto {
    uint32_t provider;
    const struct tn_graph *graph; /* NULL: every claim of the provider */
    tn_node_id node;
    uint32_t reason; /* TN_REASON_* */
    const char *detail;
};

/* A provider as one plan uses it. */
struct tn__plan_provider {
    const struct tn__registered_provider *reg; /* NULL: passed over */
    void *instance;
    const char *id;
    const char *problem;                     /* why it was passed over, "" otherwise */
    const struct tn_provider_limits *limits; /* NULL: none */
    const struct tn_context_record *record;  /* its own part, NULL: none */
    uint8_t options_hash[32];
    const struct tn_space *const *spaces;
    uint32_t n_spaces;
    uint32_t first_region;   /* of its spaces */
    struct tn__owner *owner; /* the thread that every call comes from, NULL: any */
    struct tn__gate *gate;   /* lets limits->max_runs in, NULL: all */
};

/* Memory that values of a run may lie in: [0] is the host's. */
struct tn__region {
    uint32_t provider;
    const struct tn_space *space; /* NULL: host memory */
};

/* A copy between two regions, planned as a unit of its own. */
struct tn__transfer {
    const struct tn__plan_provider *provider; /* who copies */
    uint32_t src_region, dst_region;
    uint32_t src_space, dst_space;
    const char *name;
};

/* A claimed group that could not stay whole. */
struct tn__split {
    const struct tn__program *program;
    uint32_t provider;
    const char *path; /* "'a' → 'b' → 'c'": how it leaves and comes back */
    struct tn__split *next;
};

/* What one provider said about one node. */
struct tn__verdict {
    bool given, claimed;
    uint32_t group;     /* claimed: 0 = by itself */
    uint32_t reason;    /* declined: TN_REASON_* */
    const char *detail; /* never NULL */
};

/* What is executed as one: a node with a kernel, a compiled group of nodes, or a copy. */
struct tn__unit {
    struct tn_graph *graph;
    const tn_node_id *nodes; /* [n_nodes], topological; of a copy: [1], who needs it */
    uint32_t n_nodes;
    uint32_t provider;                      /* index in plan->providers */
    const struct tn_kernel_def *def;        /* NULL: compiled by the provider */
    const struct tn_compiled *compiled;     /* of a group, once compiled */
    const struct tn__transfer *transfer;    /* of a copy; n_nodes is 0 then */
    const char *name;                       /* of a group: unique in the plan */
    const struct tn__context_node *context; /* a group that was compiled before */
    bool group;                             /* claimed as a group */
    const struct tn__plugin *plugin;
    uint32_t plugin_index; /* in plan->plugins */
    void *kernel;          /* the kernel object, or the compiled group's */
    tn_compute_fn compute;
    /* of the kernel or the group, NULL when it has none */
    tn_status (*workspace)(
        void *kernel, const struct tn_run_args *args, struct tn_workspace *out);
    tn_status (*prepare)(void *kernel, const struct tn_run_args *args, tn_compute_fn *fn,
        struct tn_diag *diag);
    const tn_value_id *inputs, *outputs; /* of a group: its border */
    uint32_t n_inputs, n_outputs;
    const tn_value_id *captures; /* values of this graph that its subgraphs read */
    uint32_t n_captures;
    struct tn__program **subs; /* one for each subgraph attribute */
    uint32_t n_subs;
    uint32_t id;                    /* number in the plan, for profiles */
    pthread_mutex_t *serial;        /* NULL when compute is reentrant */
    struct tn__weight_ref *weights; /* packed buffers it reads, linked */
    uint64_t packed_inputs; /* bit i: input i was packed and is not read any more */
    bool created;
};

/* A value of the graph as it is in another region. */
struct tn__shadow {
    tn_value_id original;
    uint32_t region;
};

/* A graph ready to run. Subgraphs have programs of their own. */
struct tn__program {
    struct tn__plan *plan;
    struct tn_graph *graph;
    uint32_t index;         /* in plan->programs */
    struct tn__unit *units; /* in order of execution */
    uint32_t n_units;
    const tn_value_id *externals; /* what a run is given: inputs, then captures */
    uint32_t n_externals, n_inputs;
    uint32_t n_values; /* of the graph, and behind them the shadows */
    struct tn__shadow *shadows;
    uint32_t n_shadows, cap_shadows;
    uint32_t *last_use; /* [n_values]: last unit that reads it, n_units: an output,
                           UINT32_MAX: nobody */
    uint32_t *def_unit; /* [n_values]: unit that produces it, UINT32_MAX: none */
    struct tn__verdict *verdicts; /* [plan->n_providers][graph->n_nodes] */
    uint32_t *owner;              /* [graph->n_nodes]: provider, UINT32_MAX: dead */
};

struct tn__plan {
    struct tn__model *model;
    struct tn__registry *registry;
    const struct tn__plan_options *options; /* only while it is created */
    struct tn_arena *arena;
    uint32_t policy;
    struct tn__plan_provider *providers;
    uint32_t n_providers;
    struct tn__program **programs; /* [0] is the main graph */
    uint32_t n_programs, cap_programs;
    const struct tn__plugin **plugins; /* those whose code runs */
    uint32_t n_plugins, cap_plugins;
    uint32_t n_units;         /* of all programs */
    uint32_t n_groups;        /* named so far */
    struct tn__split *splits; /* claimed groups that could not stay whole */
    struct tn__region *regions;
    uint32_t n_regions;
    bool dry;
    uint64_t packed_bytes; /* in packed weights, shared ones included */
};

/* Opens the providers. The model is borrowed; options only until tn__plan_build. */
tn_status tn__plan_open(struct tn__model *model, struct tn__registry *registry,
    const struct tn__plan_options *options, struct tn__plan **out, struct tn_diag *diag);
/* Before passes of plugins run: marks the nodes that a provider other than `host` claims
 * before it, so that nobody rewrites them into what that provider does not know. */
tn_status tn__plan_reserve(struct tn__plan *plan, const char *host, struct tn_diag *diag);
/* All the rest. The model must not be edited afterwards. */
tn_status tn__plan_build(struct tn__plan *plan, struct tn_diag *diag);
/* Both at once. */
tn_status tn__plan_create(struct tn__model *model, struct tn__registry *registry,
    const struct tn__plan_options *options, struct tn__plan **out, struct tn_diag *diag);
void tn__plan_destroy(struct tn__plan *plan);

/* TN_REPORT_PLACEMENT: node → provider, kernel, and why the others declined; and
 * that a run went on without a provider, "" when none did. */
void tn__plan_report_placement(const struct tn__plan *plan, const char *run_failure,
    uint32_t format, struct tn_text *out);

/* Content of a value that never changes: a constant that no run replaces, looked up
 * through captures. NULL when there is none. */
const struct tn_tensor *tn__constant_of(const struct tn_graph *g, tn_value_id v);
/* The value in an enclosing graph that a chain of captures stands for. */
tn_value_id tn__origin_of(const struct tn_graph **g, tn_value_id v);

static inline const struct tn__node *tn__unit_node(const struct tn__unit *unit) {
    return tn__node_at(unit->graph, unit->nodes[0]);
}
/* The value of the graph that v is or stands for. */
static inline tn_value_id tn__original(const struct tn__program *program, tn_value_id v) {
    return v < program->graph->n_values
               ? v
               : program->shadows[v - program->graph->n_values].original;
}
/* Where v lies. */
static inline uint32_t tn__region_of(const struct tn__program *program, tn_value_id v) {
    return v < program->graph->n_values
               ? 0
               : program->shadows[v - program->graph->n_values].region;
}
/* As tn__constant_of; a shadow is no constant. */
static inline const struct tn_tensor *tn__program_constant(
    const struct tn__program *program, tn_value_id v) {
    return v < program->graph->n_values ? tn__constant_of(program->graph, v) : NULL;
}
static inline struct tn__verdict *tn__verdict_of(
    const struct tn__program *program, uint32_t provider, tn_node_id node) {
    return &program->verdicts[(uint64_t)provider * program->graph->n_nodes + node];
}
/* "element type" … of a reason. */
const char *tn__reason_text(uint32_t reason);
/* What a profile calls it: the kernel's name, or the operator. */
const char *tn__unit_kernel_name(const struct tn__unit *unit);

/* ---- stages of tn__plan_create -------------------------------------------------------- */

/* Opens the providers in order (providers.c). */
tn_status tn__plan_open_providers(struct tn__plan *plan, struct tn_diag *diag);
/* A provider that the auto policy passes over (providers.c). */
tn_status tn__plan_pass_over(struct tn__plan *plan, struct tn__plan_provider *provider,
    const char *why, struct tn_diag *diag);
/* Asks every provider about every node and gives each node an owner (partition.c). */
tn_status tn__plan_partition(struct tn__program *program, struct tn_diag *diag);
/* As partition, after some verdicts were withdrawn. */
tn_status tn__plan_assign(struct tn__program *program, struct tn_diag *diag);
/* Forms units and their order; groups stay whole where no path leaves and re-enters them
 * (schedule.c). */
tn_status tn__plan_schedule(struct tn__program *program, struct tn_diag *diag);
/* Borders and names of the groups (group.c). */
tn_status tn__plan_borders(struct tn__program *program, struct tn_diag *diag);
/* Withdraws groups that cost more than they gain (cost.c). *out_again: some were, and the
 * program must be planned anew. */
tn_status tn__plan_weigh(
    struct tn__program *program, bool *out_again, struct tn_diag *diag);
/* Creates kernels and compiles groups (prepare.c, group.c). *out_again: a group failed to
 * compile under the auto policy; its nodes were declined and the program must be planned
 * anew. */
tn_status tn__plan_kernels(
    struct tn__program *program, bool *out_again, struct tn_diag *diag);
/* Verdicts on context nodes are the host's: by source, record and binary (context_judge.c). */
tn_status tn__plan_judge_contexts(
    struct tn__program *program, uint32_t provider, struct tn_diag *diag);
void tn__provider_hash_options(const char *const *pairs, uint32_t n, uint8_t out[32]);
/* Whether the unit is a context node: its border is the node's then. */
bool tn__unit_set_context(const struct tn__program *program, struct tn__unit *unit);
/* Imports the unit and all that are in the same binary. */
tn_status tn__context_import(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag);
tn_status tn__group_compile(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag);
/* The group as a provider sees it. */
struct tn_group tn__group_view(const struct tn__unit *unit);
/* Takes the claim on a group back, so that the next provider is asked; `text` is copied. */
tn_status tn__group_withdraw(struct tn__program *program, const struct tn__unit *unit,
    uint32_t reason, const char *text, struct tn_diag *diag);
/* Names a plugin whose code runs in a unit. */
tn_status tn__plan_add_plugin(
    struct tn__plan *plan, struct tn__unit *unit, struct tn_diag *diag);
/* Puts copies between the units whose memory differs (transfer.c). */
tn_status tn__plan_transfers(struct tn__program *program, struct tn_diag *diag);
/* How many nodes run on each provider, and how many fell back. */
tn_status tn__plan_check_fallback(const struct tn__plan *plan, struct tn_diag *diag);
void tn__plan_drop_kernels(struct tn__program *program);
/* Offers constants to the kernels, on the pool (prepack.c). */
tn_status tn__plan_prepack(struct tn__plan *plan, struct tn_diag *diag);

/* ---- packed weights, shared by content (weights.c) ------------------------------------ */

/* NULL when there is no memory. */
struct tn__weights *tn__weights_create(void);
void tn__weights_destroy(struct tn__weights *weights); /* no reference may be left */
/* A buffer for the packed form of `source` under `layout` of a plugin; with `share`, one
 * that another holder filled from equal content. `source` must stay readable while the
 * reference lives. The reference is put in front of *list. [any thread] */
tn_status tn__weights_get(struct tn__weights *weights, const struct tn_tensor *source,
    const char *plugin, const char *layout, uint64_t size, bool share,
    struct tn__weight_ref **list, void **out_buffer, int32_t *out_filled,
    struct tn_diag *diag);
/* The first n references of a list are filled and may be shared from now on. */
void tn__weights_ready(struct tn__weight_ref *list, const struct tn__weight_ref *end);
/* Releases references up to `end` and unlinks them. */
void tn__weights_release(struct tn__weight_ref **list, const struct tn__weight_ref *end);
/* Bytes of buffers, each counted once. */
uint64_t tn__weights_bytes(struct tn__weights *weights);
/* Bytes a list refers to. */
uint64_t tn__weights_list_bytes(const struct tn__weight_ref *list);

/* ---- memory (memory.c) ---------------------------------------------------------------- */

/* A block needed from step `first` to step `last`, both included. */
struct tn__extent {
    uint64_t size;
    uint32_t first, last;
    uint64_t offset; /* out */
};
/* Places extents so that those whose times overlap do not overlap in memory; offsets are
 * multiples of 64. TN_LIMIT_EXCEEDED when the sum does not fit 63 bits. */
tn_status tn__memory_place(
    struct tn__extent *extents, uint32_t n, uint64_t *out_total, struct tn_diag *diag);

#endif
