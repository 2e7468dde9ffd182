/* Tenon: run ONNX models from C.
 *
 *     struct tn_diag diag = {0};
 *     struct tn_runtime *runtime;
 *     struct tn_session *session;
 *     struct tn_context *context;
 *     tn_runtime_create(NULL, &runtime, &diag);
 *     tn_session_create(runtime, &(struct tn_model){.path = "model.onnx"}, NULL,
 * &session, &diag); tn_context_create(session, &context, &diag);
 *     tn_context_set_input(context, 0, &(struct tn_value_ref){…}, &diag);
 *     tn_context_run(context, NULL, &diag);
 *     const struct tn_value_ref *y = tn_context_output(context, 0);
 *
 * Functions that can fail return a tn_status, leave out-parameters untouched on failure,
 * and explain it in *diag (may be NULL; clear it before the call). create/destroy come in
 * pairs, destroy accepts NULL. Strings are UTF-8, borrowed from the object asked.
 *
 * Thread rules: [any thread]; [one at a time per context]; [setup only]: not while
 * another thread uses the object. A session must outlive its contexts, a runtime its
 * sessions.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "tenon/graph.h"
#include "tenon/status.h"
#include "tenon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TN_BUILDING_CORE)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

struct tn_runtime; /* process: plugins, registry, thread pool, configuration */
struct tn_session; /* one model, compiled, immutable */
struct tn_context; /* one caller's run state */
struct tn_value;   /* an owned value, reference counted */

/* One setting; the keys are listed in docs/config.md. */
struct tn_option {
    const char *key;
    const char *value;
};

typedef void (*tn_log_fn)(void *arg, uint32_t level, const char *message);

/* All fields may be 0. */
struct tn_runtime_options {
    uint32_t struct_size; /* TN_RUNTIME_OPTIONS_SIZE */
    uint32_t flags;
    const struct tn_option *options; /* override files and environment */
    uint64_t n_options;
    tn_log_fn log; /* NULL: warnings and errors go to stderr */
    void *log_arg;
};
#define TN_RUNTIME_OPTIONS_SIZE ((uint32_t)sizeof(struct tn_runtime_options))

/* Bytes of an external file: called with the `location` of external data; fills a buffer
 * of `size` bytes from `offset`. Returns a status. */
typedef tn_status (*tn_read_fn)(void *arg, const char *location, uint64_t offset,
    uint64_t size, void *buffer, struct tn_diag *diag);

/* Where a model comes from: a path, or bytes that the caller keeps until the session is
 * created (unless `keep` promises longer: then weights are used in place). */
struct tn_model {
    const char *path;
    const void *data;
    uint64_t size;
    const char *base_dir; /* for external data of a model from memory; may be NULL */
    tn_read_fn read;      /* or this; may be NULL */
    void *read_arg;
    uint32_t keep; /* 1: data outlives the session */
    uint32_t reserved;
};

/* Weights that take the place of an initializer of the main graph: same element type and
 * shape, dense, in host memory, kept by the caller while the session lives. The model's
 * own data is not read, so that its external file may be missing. */
struct tn_weights {
    const char *name;
    const struct tn_tensor *tensor;
};

struct tn_session_options {
    uint32_t struct_size; /* TN_SESSION_OPTIONS_SIZE */
    uint32_t flags;
    const struct tn_option *options; /* e.g. {"provider", "cpu"}, {"level", "basic"} */
    uint64_t n_options;
    const struct tn_weights *weights;
    uint64_t n_weights;
};
#define TN_SESSION_OPTIONS_SIZE ((uint32_t)sizeof(struct tn_session_options))

enum { TN_INPUT = 0, TN_OUTPUT = 1, TN_OVERRIDABLE = 2 };

/* One input or output of a model. */
struct tn_io {
    const char *name;
    struct tn_type type; /* negative dims are symbols … */
    const char *const
        *dim_names;    /* [rank]: the symbol's name, NULL for a size or unnamed */
    uint32_t optional; /* 1: a run may leave it unset */
    uint32_t reserved;
};

/* Facts of a model. Strings may be empty, never NULL. */
struct tn_model_info {
    int64_t ir_version;
    int64_t model_version;
    const char *producer_name, *producer_version, *domain, *doc, *graph_name;
    uint64_t n_nodes;      /* as loaded */
    uint64_t n_parameters; /* elements of constant weights */
    uint64_t weight_bytes;
    uint64_t arena_bytes; /* planned for the last shape set of a new context, 0 unknown */
};

/* Text produced piece by piece; returns non-zero to stop. */
typedef int (*tn_write_fn)(void *arg, const char *text, uint64_t size);

/* Reports, as text for people or JSON for programs. */
enum {
    TN_REPORT_PLACEMENT = 0, /* session: node → provider, kernel, reason */
    TN_REPORT_OPERATORS = 1, /* session: operators, versions, counts, who provides them */
    TN_REPORT_PASSES = 2,    /* session: what the optimiser rewrote */
    TN_REPORT_GRAPH = 3,     /* session: the compiled graph in the ONNX text format */
    TN_REPORT_PROFILE = 4,   /* context: time per node of profiled runs */
    TN_REPORT_TRACE = 5,     /* context: Chrome trace of profiled runs (JSON only) */
    TN_REPORT_PLUGINS = 6,   /* runtime: every candidate and its verdict */
    TN_REPORT_SUPPORT = 7,   /* runtime: operator × version × type table */
    TN_REPORT_CONFIG = 8, /* runtime: every setting, its value and where it came from */
    TN_REPORT_MEMORY = 9, /* session and context: bytes by owner */
    TN_REPORT_DOCTOR =
        10 /* runtime: what was searched, refused and why, and devices; ends
                             with the number of problems */
};
enum { TN_FORMAT_TEXT = 0, TN_FORMAT_JSON = 1 };

/* ---- runtime -------------------------------------------------------------------------
 */

/* [any thread] "0.1.0" */
TN_API const char *tn_version(void);
/* [any thread] "invalid argument" … */
TN_API const char *tn_status_text(tn_status status);
/* [any thread] Several may live at once; they share one thread pool. */
TN_API tn_status tn_runtime_create(const struct tn_runtime_options *options,
    struct tn_runtime **out, struct tn_diag *diag);
TN_API void tn_runtime_destroy(struct tn_runtime *runtime); /* [setup only] */
/* [any thread] Adds one plugin by path, before or after the configured folders. */
TN_API tn_status tn_runtime_load_plugin(
    struct tn_runtime *runtime, const char *path, struct tn_diag *diag);
TN_API tn_status tn_runtime_report(struct tn_runtime *runtime, uint32_t report,
    uint32_t format, tn_write_fn write, void *arg, struct tn_diag *diag);

/* ---- session -------------------------------------------------------------------------
 */

/* [any thread] Loads, checks, resolves, optimises, places and prepares a model. */
TN_API tn_status tn_session_create(struct tn_runtime *runtime,
    const struct tn_model *model, const struct tn_session_options *options,
    struct tn_session **out, struct tn_diag *diag);
TN_API void tn_session_destroy(struct tn_session *session); /* [setup only] */
/* [any thread] Number of TN_INPUT, TN_OUTPUT or TN_OVERRIDABLE (initializers that a run
 * may replace; they are numbered after the inputs in tn_context_set_input). */
TN_API uint32_t tn_session_io_count(const struct tn_session *session, uint32_t which);
TN_API const struct tn_io *tn_session_io(
    const struct tn_session *session, uint32_t which, uint32_t index);
/* [any thread] Index of a name, or UINT32_MAX. */
TN_API uint32_t tn_session_find(
    const struct tn_session *session, uint32_t which, const char *name);
TN_API void tn_session_info(const struct tn_session *session, struct tn_model_info *out);
/* [any thread] i-th opset import (domain, version); 0 when there is none. */
TN_API uint32_t tn_session_opset(const struct tn_session *session, uint32_t i,
    const char **out_domain, int64_t *out_version);
/* [any thread] i-th metadata property; 0 when there is none. */
TN_API uint32_t tn_session_metadata(const struct tn_session *session, uint32_t i,
    const char **out_key, const char **out_value);
TN_API tn_status tn_session_report(const struct tn_session *session, uint32_t report,
    uint32_t format, tn_write_fn write, void *arg, struct tn_diag *diag);

/* ---- context and run -----------------------------------------------------------------
 */

struct tn_run_options {
    uint32_t struct_size; /* TN_RUN_OPTIONS_SIZE */
    uint32_t flags;
    uint64_t deadline_ns; /* from the start of the run; 0 none */
    uint32_t profile;     /* 1: record this run */
    uint32_t reserved;
    const uint32_t *terminate; /* a word that ends runs with TN_CANCELLED while it is not
                                  0; may change at any time; NULL: none */
};
#define TN_RUN_OPTIONS_SIZE ((uint32_t)sizeof(struct tn_run_options))

/* [any thread] */
TN_API tn_status tn_context_create(
    struct tn_session *session, struct tn_context **out, struct tn_diag *diag);
/* [setup only] Waits for nothing: no run may be in flight. */
TN_API void tn_context_destroy(struct tn_context *context);
/* [one at a time per context] Binds input `index` (overridable initializers follow the
 * inputs). The value and its data are borrowed until the next set or the context goes; a
 * tensor must be dense and in host memory. Its content may change between runs without
 * another call, its shape may not. kind ABSENT unsets it. Checks type and shape at once.
 */
TN_API tn_status tn_context_set_input(struct tn_context *context, uint32_t index,
    const struct tn_value_ref *value, struct tn_diag *diag);
/* [one at a time per context] Lets output `index` be written into the caller's memory:
 * `buffer` of `size` bytes, 64-byte alignment preferred; size must hold what a run
 * produces. NULL goes back to memory of the context. */
TN_API tn_status tn_context_bind_output(struct tn_context *context, uint32_t index,
    void *buffer, uint64_t size, struct tn_diag *diag);
/* [one at a time per context] The first run with new input shapes plans and may allocate;
 * later ones do not. */
TN_API tn_status tn_context_run(struct tn_context *context,
    const struct tn_run_options *options, struct tn_diag *diag);
/* [one at a time per context] Output of the last successful run, borrowed until the next
 * run; NULL before one. */
TN_API const struct tn_value_ref *tn_context_output(
    const struct tn_context *context, uint32_t index);
/* [one at a time per context] Moves an output of the last run into a value of its own,
 * which outlives the context: without a copy where its memory is the context's. Then
 * tn_context_output gives ABSENT until the next run. */
TN_API tn_status tn_context_take_output(struct tn_context *context, uint32_t index,
    struct tn_value **out, struct tn_diag *diag);
/* [any thread] The run in flight, if any, ends soon with TN_CANCELLED. */
TN_API void tn_context_cancel(struct tn_context *context);
/* [one at a time per context] Drops cached shape sets and returns their memory. */
TN_API void tn_context_shrink(struct tn_context *context);
TN_API tn_status tn_context_report(const struct tn_context *context, uint32_t report,
    uint32_t format, tn_write_fn write, void *arg, struct tn_diag *diag);

/* ---- a whole run in one call ---------------------------------------------------------
 */

/* One output of a call. */
struct tn_call_output {
    void *buffer;  /* in: where to write it, as in tn_context_bind_output; or NULL */
    uint64_t size; /* in: bytes of the buffer */
    const struct tn_value_ref *value; /* out: as of tn_context_output */
    uint32_t fixed; /* out: 1: a numeric tensor whose shape follows from the shapes of the
                       inputs alone, so that a buffer of its size can be bound next time */
    uint32_t reserved;
};

/* Set all inputs, bind all outputs, run: for languages in which every call into C is
 * dear. The caller lays it out once and uses it again; tn_context_set_input and
 * tn_context_bind_output say what holds for the parts. */
struct tn_call {
    uint32_t struct_size; /* TN_CALL_SIZE */
    uint32_t flags;
    struct tn_context *context;
    const struct tn_value_ref *inputs; /* all, then all overridable initializers; kind
                                          ABSENT: not set */
    struct tn_call_output *outputs;    /* all */
    uint32_t n_inputs, n_outputs;
    const struct tn_run_options *options; /* or NULL */
    struct tn_diag *diag;                 /* or NULL */
};
#define TN_CALL_SIZE ((uint32_t)sizeof(struct tn_call))

/* [one at a time per context] */
TN_API tn_status tn_call_run(const struct tn_call *call);

/* ---- owned values --------------------------------------------------------------------
 */

/* [any thread] A dense tensor; data is copied, or zeroed when NULL. For TN_STRING, data
 * is an array of struct tn_string whose bytes are copied too. */
TN_API tn_status tn_value_tensor(int32_t dtype, const int64_t *dims, uint32_t rank,
    const void *data, struct tn_value **out, struct tn_diag *diag);
/* [any thread] A deep copy of any value: how an output outlives its context. */
TN_API tn_status tn_value_copy(
    const struct tn_value_ref *src, struct tn_value **out, struct tn_diag *diag);
/* [any thread] As tn_value_copy, but a sequence of maps that is kept as a table (types.h)
 * becomes maps of their own, each with its keys. */
TN_API tn_status tn_value_spread(
    const struct tn_value_ref *src, struct tn_value **out, struct tn_diag *diag);
/* [any thread] Reads a serialised TensorProto, SequenceProto, MapProto or OptionalProto as
 * `type` says (its kind, and for an optional its elem_kind). */
TN_API tn_status tn_value_parse(const void *data, uint64_t size,
    const struct tn_type *type, struct tn_value **out, struct tn_diag *diag);
/* [any thread] What it holds, borrowed. */
TN_API const struct tn_value_ref *tn_value_get(const struct tn_value *value);
TN_API void tn_value_retain(struct tn_value *value); /* [any thread] one more owner */
TN_API void tn_value_release(
    struct tn_value **value); /* [any thread] clears the pointer */

#ifdef __cplusplus
}
#endif
#endif
