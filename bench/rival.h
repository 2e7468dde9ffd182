/* The two runtimes of a comparison behind one face: Tenon, and ONNX Runtime opened by path. */
#ifndef TENON_BENCH_RIVAL_H
#define TENON_BENCH_RIVAL_H

#include "tenon/tenon.h"

#include <stdbool.h>

enum { RIVAL_MOST_IO = 32 };

/* Inputs that both runtimes read, owned by the caller. */
struct rival_inputs {
    struct tn_tensor tensors[RIVAL_MOST_IO];
    const char *input_names[RIVAL_MOST_IO];
    const char *output_names[RIVAL_MOST_IO];
    uint32_t n_inputs, n_outputs;
};

struct rival; /* one session of one runtime */

struct rival_face {
    const char *name;
    /* NULL on failure, with a line on stderr. */
    struct rival *(*open)(const char *model, unsigned threads, const char *library);
    bool (*bind)(struct rival *rival, const struct rival_inputs *inputs);
    bool (*run)(struct rival *rival);
    /* An output as floats, borrowed until the next run; NULL when there is none. */
    const float *(*output)(struct rival *rival, uint32_t index);
    void (*close)(struct rival *rival);
};

extern const struct rival_face rival_tenon;
extern const struct rival_face rival_ort;

/* The session behind a Tenon rival: names and shapes of inputs. */
struct tn_session *rival_session(struct rival *rival);
uint64_t rival_now_ns(void);

#endif
