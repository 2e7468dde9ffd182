/* Running a plan: what one context holds, and what one shape set fixes.
 *
 * A frame is the run state of one program in one context; a subgraph has a frame of its
 * own under the frame of its node. For each set of input shapes a frame keeps a resolved
 * set: types of all values, places in the frame's arena, and an array of steps with their
 * arguments. Running a set is calling its steps.
 *
 * Where a shape depends on data, the step is a dynamic one: a function of ours in the same
 * array, which infers from the actual contents, takes memory from the recycler and then
 * calls the kernel. One thread at a time per context. */
#ifndef TENON_EXEC_H
#define TENON_EXEC_H

#include "core/exec/recycle.h"
#include "core/plan/plan.h"

#include <stdatomic.h>

struct tn__profile;

/* Bounds on what a model may make a run take. */
struct tn__exec_limits {
    uint64_t tensor_bytes;
    uint64_t run_bytes;
    uint64_t iterations; /* runs of one subgraph in a run */
    uint64_t copy_bytes; /* between memory spaces in a run */
    uint32_t shape_sets;
};

/* What the frames of one context share. */
struct tn__exec {
    const struct tn__plan *plan;
    struct tn__exec_limits limits;
    _Atomic uint32_t cancelled;
    uint64_t deadline_ns;      /* on the monotonic clock, 0 = none */
    const uint32_t *terminate; /* the caller's word, or NULL */
    struct tn_diag *diag;      /* of the run in flight */
    struct tn__recycler recycler;
    struct tn__bump bump;        /* memory until the end of the run */
    struct tn__profile *profile; /* NULL until a run is recorded */
    bool profiling;
    void **streams;           /* [plan->n_providers], NULL where there is none */
    uint64_t arena_bytes;     /* of all frames */
    uint64_t n_runs;          /* so far: the number of the run in flight */
    uint32_t failed_provider; /* of the step that ended the last run */
};

/* Where the bytes of a value are. */
enum {
    TN_PLACE_NONE = 0,
    TN_PLACE_CONSTANT = 1, /* index: the constant it is, or is a view of */
    TN_PLACE_EXTERNAL = 2, /* index: of the external */
    TN_PLACE_OUTPUT = 3,   /* index: of the graph output */
    TN_PLACE_ARENA = 4,    /* index: of the region; offset */
    TN_PLACE_DYNAMIC = 5   /* known when it is computed */
};

struct tn__place {
    uint32_t kind, index;
    uint64_t offset;
};

struct tn__step {
    tn_compute_fn fn;
    void *kernel;
    struct tn_run_args args;
};

/* What the host knows of a step: args.step. */
struct tn__step_info {
    struct tn__frame *frame;
    struct tn__set *set;
    const struct tn__unit *unit;
    uint32_t unit_index;
    bool dynamic;
    bool sync;             /* the host reads what it leaves: its stream must be done */
    tn_compute_fn compute; /* what a guarded step calls */
    struct tn_value_ref *inputs; /* what args.inputs points at */
    struct tn_workspace workspace;
    uint64_t state_offset;
};

/* A graph output that is copied when the steps are done. */
struct tn__copy {
    uint32_t output;
    tn_value_id value;
};

/* Memory of one region. */
struct tn__pool_block {
    char *data;
    uint64_t size;
};

/* One shape set, resolved. */
struct tn__set {
    struct tn_arena *memory;
    void *infer_scratch; /* of one inference */
    uint64_t infer_scratch_size;
    uint64_t stamp; /* of the last run */
    int64_t *key;
    uint32_t key_words;
    struct tn_type *types;     /* [n_values], concrete or unknown */
    struct tn_tensor *tensors; /* [n_values] */
    struct tn_value_ref *refs; /* [n_values] */
    struct tn__place *places;  /* [n_values] */
    struct tn__block **blocks; /* [n_values]: of dynamic values */
    int64_t **dims_values;     /* [n_values]: short contents … */
    uint32_t *n_dims_values;   /* … UINT32_MAX: not known */
    struct tn__step *steps;
    struct tn__step_info *infos;
    uint32_t n_steps;
    uint8_t *dynamic_units; /* [n_units]: 1 dynamic, 2 a view, which has no step */
    tn_value_id *patches;   /* values at externals and outputs */
    uint32_t n_patches;
    tn_value_id *dynamic; /* values with blocks of their own */
    uint32_t n_dynamic;
    struct tn__copy *copies;
    uint32_t n_copies;
    uint64_t *region_bytes; /* [plan->n_regions]; [0]: the frame's arena */
    struct tn__pool_block
        *devices; /* [n_values]: of dynamic values outside host memory */
    uint64_t scratch_offset, scratch_bytes;
    uint64_t copied_bytes; /* between memory spaces, as far as it is known before */
    char *state;
    uint64_t bound; /* frame->epoch that pointers are resolved for, 0: none */
};

/* A graph output as the caller sees it. */
struct tn_out {
    struct tn_value_ref ref;
    struct tn_tensor tensor;
    int64_t *dims;
    uint32_t cap_dims;
    struct tn__block *block; /* its memory, unless bound */
    void *bound;
    uint64_t bound_size;
    bool detour; /* bound memory overlaps an input: written at the end */
};

struct tn__frame {
    struct tn__exec *exec;
    const struct tn__program *program;
    struct tn__frame *parent;
    struct tn__frame **subs; /* by unit: [n_units] arrays, flat; made when first run */
    uint32_t *first_sub;     /* [n_units] */
    struct tn__set **sets;
    uint32_t n_sets, cap_sets;
    uint64_t clock;
    struct tn__set *set; /* of the last run */
    bool rebind;         /* pointers of externals or outputs changed */
    bool generic;        /* too many shapes: resolve for unknown ones */
    uint32_t n_misses;
    uint64_t run_number, n_turns;   /* of a subgraph: in which run, how often */
    struct tn__pool_block *arenas;  /* [plan->n_regions] */
    uint64_t epoch;                 /* counts up when one moves */
    struct tn_value_ref *externals; /* what the run is given */
    int64_t *key;                   /* of the run */
    uint32_t cap_key, key_words;
    struct tn_run *runs; /* [plan->n_plugins] */
    struct tn_out *outs; /* [n_outputs]; subgraphs: two generations */
    uint32_t generation;
};

/* ---- frames (frame.c) ----------------------------------------------------------------- */

tn_status tn__frame_create(struct tn__exec *exec, const struct tn__program *program,
    struct tn__frame *parent, struct tn__frame **out, struct tn_diag *diag);
void tn__frame_destroy(struct tn__frame *frame);
/* Frees resolved sets, arenas and the frames below. */
void tn__frame_shrink(struct tn__frame *frame);
/* The set for frame->externals: found, or resolved; makes it frame->set with all pointers
 * up to date. */
tn_status tn__frame_select(struct tn__frame *frame, struct tn_diag *diag);
/* Pointers of externals and outputs, when they moved (bind.c). */
tn_status tn__frame_bind(struct tn__frame *frame, struct tn_diag *diag);
/* Whether memory overlaps a tensor that the run is given. */
bool tn__frame_overlaps(const struct tn__frame *frame, const void *buffer, uint64_t size);
/* Runs the selected set and finishes the outputs (run.c). */
tn_status tn__frame_run(struct tn__frame *frame);
/* Lets go of the blocks of the last run. */
void tn__frame_release(struct tn__frame *frame);
/* Outputs of the present generation. */
static inline struct tn_out *tn__frame_outs(const struct tn__frame *frame) {
    return frame->outs + (uint64_t)frame->generation * frame->program->graph->n_outputs;
}
/* Fills the description of an output from a tensor; dims are copied. */
tn_status tn__out_describe(
    struct tn_out *out, const struct tn_tensor *tensor, struct tn_diag *diag);

/* ---- resolving (shapes.c, layout.c, steps.c) ------------------------------------------ */

/* Types of all values from those of the externals; which units are dynamic. */
tn_status tn__set_infer(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag);
/* Runs the inference of one unit against the set; `running`: contents may be read. */
tn_status tn__set_infer_unit(const struct tn__program *program, struct tn__set *set,
    const struct tn__unit *unit, bool running, struct tn_diag *diag);
/* Places, views and overwriting. `share` false: every value has memory of its own. */
tn_status tn__set_layout(
    struct tn__frame *frame, struct tn__set *set, bool share, struct tn_diag *diag);
/* Steps with workspace and state. */
tn_status tn__set_steps(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag);
/* Whether a type is a tensor with every size known. */
bool tn__type_is_concrete(const struct tn_type *type);
/* A type with its dims copied into the set's memory, reusing what the slot has. */
tn_status tn__set_type(struct tn__set *set, tn_value_id v, const struct tn_type *type);

/* ---- running (run.c, dynamic.c, service.c, subrun.c) ---------------------------------- */

/* Calls a unit's function as its provider wants it called. */
tn_status tn__unit_call(
    const struct tn__step_info *info, tn_compute_fn fn, const struct tn_run_args *args);
tn_status tn__unit_workspace(const struct tn__step_info *info,
    const struct tn_run_args *args, struct tn_workspace *out, struct tn_diag *diag);
tn_status tn__unit_prepare(const struct tn__step_info *info,
    const struct tn_run_args *args, tn_compute_fn *fn, struct tn_diag *diag);
/* Whether tn__unit_call does more than call. */
bool tn__unit_is_guarded(const struct tn__step_info *info);
/* compute of a copy (transfer_step.c). */
tn_status tn__transfer_step(void *transfer, const struct tn_run_args *args);
/* Waits for all streams, whatever becomes of them. */
void tn__exec_drain(const struct tn__exec *exec);
/* Memory of a region for `size` bytes, kept when it is large enough. */
tn_status tn__region_reserve(const struct tn__frame *frame, uint32_t region,
    uint64_t size, struct tn__pool_block *block, bool *out_moved, struct tn_diag *diag);
void tn__region_free(
    const struct tn__plan *plan, uint32_t region, struct tn__pool_block *block);
/* fn of a dynamic step; `kernel` is its tn__step_info. */
tn_status tn__dynamic_step(void *kernel, const struct tn_run_args *args);
/* Gives a dynamic value memory: its bound output or a block. */
tn_status tn__dynamic_alloc(struct tn__step_info *info, tn_value_id v, int32_t dtype,
    const int64_t *dims, uint32_t rank, struct tn_diag *diag);
/* Fills the services that kernels get. */
void tn__run_fill(
    struct tn__frame *frame, struct tn_run *run, const struct tn_host *host);
tn_status tn__subgraph_run(const struct tn_run *run, const struct tn_run_args *args,
    struct tn_graph *subgraph, const struct tn_value_ref *inputs, uint32_t n_inputs,
    struct tn_value_ref *outputs, uint32_t n_outputs);
/* TN_OK, TN_CANCELLED or TN_DEADLINE. */
tn_status tn__exec_interrupted(const struct tn__exec *exec);
/* Bytes a tensor takes, within limits.tensor_bytes. */
tn_status tn__exec_bytes(const struct tn__exec *exec, int32_t dtype, const int64_t *dims,
    uint32_t rank, uint64_t *out, struct tn_diag *diag);

/* Process-wide test hook: false gives every value memory of its own. */
void tn__exec_set_sharing(bool share);

#endif
