/* What the public objects are made of, for the files of this folder. */
#ifndef TENON_OBJECTS_H
#define TENON_OBJECTS_H

#include "core/exec/exec.h"
#include "core/exec/pool.h"
#include "core/exec/profile.h"
#include "core/model/model.h"
#include "core/opt/opt.h"

struct tn_runtime {
    struct tn__conf *conf;
    struct tn__registry *registry;
    struct tn__weights *weights;
    struct tn__host_services services;
    uint32_t threads;
    uint32_t log_level;
    tn_log_fn log;
    void *log_arg;
};

/* Inputs, outputs and overridable initializers as the caller counts them. */
struct tn__io_list {
    struct tn_io *items;
    uint32_t n;
};

struct tn_session {
    struct tn_runtime *runtime;
    struct tn__conf *conf;
    struct tn__model *model;
    struct tn__plan *plan;
    struct tn__context_node *contexts; /* of the model, if it has any */
    uint32_t n_contexts;
    pthread_mutex_t spare_lock; /* of the next two */
    struct tn__plan *spare;     /* what contexts go on with when a provider failed */
    char run_failure[TN_DIAG_MESSAGE_SIZE + 128]; /* the first such failure */
    struct tn_arena *arena;                       /* of the descriptions below */
    const struct tn_session_options *given;       /* until it is created */
    struct tn__io_list io[3];
    uint32_t *externals; /* number of an input (then overridable) → external */
    struct tn_model_info info;
    struct tn__opt_log passes; /* what the optimiser did */
    struct tn__exec_limits limits;
    struct tn__session_times times;
    bool profile, flush_denormals;
    _Atomic uint64_t arena_bytes; /* of the last context that planned */
};

/* One input of a context. */
struct tn__bound {
    struct tn_value_ref ref; /* kind ABSENT: not set */
    struct tn_tensor tensor;
    int64_t *dims;
    uint32_t cap_dims;
};

struct tn_context {
    struct tn_session *session;
    struct tn__exec exec;
    struct tn__frame *frame;
    struct tn__bound *inputs; /* inputs, then overridable initializers */
    uint32_t n_inputs;
    bool shapes_changed;   /* since the last run */
    bool pointers_changed; /* the same */
    bool valid;            /* the last run succeeded */
    struct tn_diag diag;   /* when the caller has none */
};

/* What a plan of this session is made with; providers are in the session's arena. */
tn_status tn__session_plan_options(
    struct tn_session *session, struct tn__plan_options *out, struct tn_diag *diag);

/* One stream for each provider that has them (context.c). */
tn_status tn__streams_open(struct tn__exec *exec, struct tn_diag *diag);
void tn__streams_close(struct tn__exec *exec);

/* Whether a failed run is to be repeated without the provider that failed (fallback.c). */
bool tn__fallback_wanted(const struct tn_context *context, tn_status status);
/* Puts the context on the plan without it. */
tn_status tn__fallback_switch(
    struct tn_context *context, const char *why, struct tn_diag *diag);

/* Reads and checks the binaries of the model's context nodes (context_binary.c). */
tn_status tn__contexts_read(struct tn_session *session, const struct tn_model *source,
    struct tn__plan_options *options, struct tn_diag *diag);
/* Writes the model with its compiled groups as context nodes (context_write.c). */
tn_status tn__contexts_write(
    struct tn_session *session, const char *path, bool embed, struct tn_diag *diag);

/* Times the compiled groups and plans anew without those that lose (calibrate.c). */
tn_status tn__calibrate(
    struct tn_session *session, struct tn__plan_options *options, struct tn_diag *diag);

/* Hands a finished text to the caller's writer and frees it (report.c). */
tn_status tn__report_write(
    struct tn_text *text, tn_write_fn write, void *arg, struct tn_diag *diag);

/* A value that describes a tensor or something packed, whose data lies in memory that
 * tn__value_own then gives it (value.c). */
tn_status tn__value_describe(
    const struct tn_tensor *tensor, struct tn_value **out, struct tn_diag *diag);
tn_status tn__value_point(
    const struct tn_value_ref *packed, struct tn_value **out, struct tn_diag *diag);
void tn__value_own(struct tn_value *value, void *memory);

/* Checks struct_size and flags of an options struct of the caller. */
tn_status tn__options_check(
    uint32_t struct_size, uint32_t flags, const char *what, struct tn_diag *diag);

/* Inputs and outputs as the caller sees them (session_io.c). */
tn_status tn__session_describe(struct tn_session *session, struct tn_diag *diag);
/* "float[N,3,224,224]" */
const char *tn__io_text(const struct tn_io *io, char *buf, size_t size);

/* Whether a value fits an input (context_input.c). */
tn_status tn__input_check(
    const struct tn_io *io, const struct tn_value_ref *value, struct tn_diag *diag);
/* Whether one symbol has one size in all inputs, and every needed input is there. */
tn_status tn__inputs_check(const struct tn_context *context, struct tn_diag *diag);

#endif
