/* `tenon plugin probe`: every kernel of a plugin on inputs that its author did not think of.
 * A target is one kernel with the definition of its operator; a case is one node of it: element
 * types, which optional inputs are there, a shape. Each case runs in variants that must agree
 * bit by bit (again, at once in several threads, on one thread, over its own input) and is held
 * against a reference when there is one. */
#ifndef TENON_PROBE_H
#define TENON_PROBE_H

#include "tenon/op.h"
#include "tenon/tenon.h"

#include <stdbool.h>
#include <stdio.h>

enum { PROBE_MOST_INPUTS = 16, PROBE_MOST_RANK = 4, PROBE_TEXT = 4096 };

struct probe_target {
    const struct tn_op_def *def;
    const struct tn_kernel_def *kernel;
};

struct probe_shape {
    const char *name;
    uint32_t rank;
    int64_t dims[PROBE_MOST_RANK];
};

/* One node. Inputs past the formals are items of the last, variadic one. */
struct probe_case {
    const struct probe_target *target;
    const struct probe_shape *shape; /* of every input */
    uint32_t n_inputs;
    int32_t dtypes[PROBE_MOST_INPUTS]; /* 0: omitted */
};

/* Calls visit for every case of a target until it returns false. */
void probe_cases(const struct probe_target *target,
    bool (*visit)(void *arg, const struct probe_case *c), void *arg);
/* Why a target cannot be probed (it takes no tensors, needs a subgraph …), or NULL. */
const char *probe_obstacle(const struct probe_target *target);

/* "float32[2,3], -, int64[2,3]" */
void probe_describe(const struct probe_case *c, char *out, size_t size);
/* The case as a model in the ONNX text format; `over` puts each input through a copy first,
 * so that the kernel may write over it. False when it does not fit. */
bool probe_model(const struct probe_case *c, bool over, char *out, size_t size);

/* ---- inputs (probe_inputs.c) ----------------------------------------------------------- */

/* Tensors whose last byte is the last of a page: reading past it is a crash. */
struct probe_inputs {
    uint32_t n;
    struct tn_tensor tensors[PROBE_MOST_INPUTS];
    struct tn_value_ref values[PROBE_MOST_INPUTS];
    void *pages[PROBE_MOST_INPUTS];
    size_t sizes[PROBE_MOST_INPUTS];
};

/* Fills the present inputs of a case, in order; false when there is no memory. */
bool probe_inputs_make(const struct probe_case *c, struct probe_inputs *out);
void probe_inputs_free(struct probe_inputs *inputs);

/* ---- one case (probe_run.c) ------------------------------------------------------------ */

struct probe_tally {
    uint64_t ran;        /* cases that gave a result */
    uint64_t refused;    /* cases that were refused with a reason */
    uint64_t referenced; /* of those that ran, held against a reference */
    uint64_t faults;
    double difference; /* largest difference to the reference */
    char why[512];     /* the last refusal */
};

/* The runtimes that a probe compares. */
struct probe_bench {
    struct tn_runtime *shared; /* as the user has it */
    struct tn_runtime *single; /* one thread */
    struct tn_runtime *scalar; /* no vector instructions */
};

/* Runs every variant; a fault is a line on `to`. */
void probe_run(const struct probe_bench *bench, const struct probe_case *c,
    struct probe_tally *tally, FILE *to);

/* The best of many runs, the kernel's and its reference's in turns. */
struct probe_times {
    double own_ns, reference_ns; /* 0: no reference */
    const char *reference;       /* "body", "scalar" or "cpu" */
};

/* False when the case is refused. */
bool probe_time(
    const struct probe_bench *bench, const struct probe_case *c, struct probe_times *out);

#endif
