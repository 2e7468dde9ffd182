/* One hostile model through the public API: see trial.h. */
#include "trial.h"

#include "mutate.h"
#include "tenon/helper/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 32, MOST_BYTES = 1 << 20 };

#if defined(__SANITIZE_ADDRESS__)
/* No piece of memory is larger than the limits of a trial allow. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "max_allocation_size_mb=512:allocator_may_return_null=0";
}

/* Undefined behaviour ends a trial as a crash does. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) {
    return "halt_on_error=1:print_stacktrace=1";
}
#endif

static const struct tn_option limits[] = {{"limits.run_bytes", "64M"},
    {"limits.tensor_bytes", "16M"}, {"limits.weight_bytes", "64M"},
    {"fold.max_bytes", "1M"}, {"fold.total_bytes", "4M"}, {"limits.nodes", "20000"},
    {"limits.iterations", "1000"}, {"passes.verify", "1"}, {"level", "all"}};

static void quiet(void *arg, uint32_t level, const char *message) {
    (void)arg;
    (void)level;
    (void)message;
}

struct tn_runtime *trial_runtime(void) {
    struct tn_option threads = {"threads", "1"};
    struct tn_runtime_options options = {.struct_size = TN_RUNTIME_OPTIONS_SIZE,
        .options = &threads,
        .n_options = 1,
        .log = quiet};
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    if (tn_runtime_create(&options, &runtime, &diag) != TN_OK)
        fprintf(stderr, "hostile: %s\n", diag.message);
    return runtime;
}

/* A failure has a code, a sentence, and is not our own defect. */
static void judge(
    struct trial *out, tn_status status, const struct tn_diag *diag, const char *when) {
    out->status = status;
    if (status == TN_OK) return;
    snprintf(out->message, sizeof out->message, "%s", diag->message);
    if (diag->code != status || !diag->message[0])
        snprintf(out->complaint, sizeof out->complaint, "%s: code %d without a sentence",
            when, (int)status);
    else if (status == TN_INTERNAL || status == TN_PLUGIN || status < 0 ||
             status > TN_INTERNAL)
        snprintf(out->complaint, sizeof out->complaint, "%s: code %d: %s", when,
            (int)status, diag->message);
}

/* ---- feeding -------------------------------------------------------------------------- */

/* A buffer of this type and shape with odd content. */
static struct tn_value *odd_value(
    int32_t dtype, const int64_t *dims, uint32_t rank, struct chance *chance) {
    struct tn_value *value = NULL;
    struct tn_diag diag = {0};
    if (tn_value_tensor(dtype, dims, rank, NULL, &value, &diag) != TN_OK) return NULL;
    const struct tn_tensor *t = tn_value_get(value)->as.tensor;
    if (dtype == TN_STRING) return value;
    if (dtype == TN_INT64) {
        for (uint64_t i = 0; i < t->size / 8; i++)
            ((int64_t *)t->data)[i] = mutate_number(chance);
    } else if (dtype == TN_BOOL) {
        memset(t->data, (int)chance_below(chance, 2), t->size);
    } else {
        for (uint64_t i = 0; i < t->size; i++)
            ((uint8_t *)t->data)[i] = (uint8_t)chance_next(chance);
    }
    return value;
}

/* The data's own value, or one like it with another shape or content. */
static struct tn_value *vary(
    const struct tn_value *feed, const struct tn_type *type, struct chance *chance) {
    int64_t dims[8];
    uint32_t rank = 0;
    int32_t dtype = type->dtype;
    const struct tn_tensor *t = feed && tn_value_get(feed)->kind == TN_KIND_TENSOR
                                    ? tn_value_get(feed)->as.tensor
                                    : NULL;
    uint64_t bytes = 0;
    if (type->kind != TN_KIND_TENSOR && !t) return NULL;
    if (dtype == TN_UNDEFINED) dtype = t ? t->dtype : TN_FLOAT;
    if (type->rank >= 0 && type->rank <= 8) {
        rank = (uint32_t)type->rank;
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = type->dims[i] >= 0     ? type->dims[i]
                      : t && t->rank == rank ? t->dims[i]
                                             : (int64_t)chance_below(chance, 4);
    } else if (t && t->rank <= 8) {
        rank = t->rank;
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = t->dims[i];
    }
    for (uint32_t i = 0; i < rank; i++) {
        bool may = type->rank < 0 || type->dims[i] < 0;
        if (may && chance_below(chance, 4) == 0)
            dims[i] = (int64_t)chance_below(chance, 6);
    }
    if (type->rank < 0 && chance_below(chance, 3) == 0) {
        rank = (uint32_t)chance_below(chance, 8);
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = (int64_t)chance_below(chance, 4);
    }
    if (type->rank < 0 && rank > 1 && chance_below(chance, 8) == 0) {
        uint32_t at = (uint32_t)chance_below(chance, rank); /* nothing, and much of it */
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = i == at ? 0 : INT64_C(1) << (10 + chance_below(chance, 52));
    }
    int64_t n;
    if (!tn_shape_count(dims, rank, &n) || !tn_dtype_size(dtype, n, &bytes) ||
        bytes > MOST_BYTES)
        return NULL;
    return odd_value(dtype, dims, rank, chance);
}

static const struct tn_value *choose(const struct tn_value *feed,
    const struct tn_type *type, struct chance *chance, struct tn_value **out_own) {
    *out_own = NULL;
    if (feed && (!chance || chance_below(chance, 2) == 0)) return feed;
    struct chance fixed = {1};
    *out_own = vary(feed, type, chance ? chance : &fixed);
    return *out_own;
}

/* ---- reading -------------------------------------------------------------------------- */

static uint64_t touch_tensor(const struct tn_tensor *t, struct trial *out) {
    uint64_t sum = 0, bytes = 0;
    int64_t n = 0;
    if (!tn_shape_count(t->dims, t->rank, &n) || !tn_dtype_size(t->dtype, n, &bytes) ||
        bytes > t->size || t->strides) {
        snprintf(
            out->complaint, sizeof out->complaint, "an output's size is not its shape's");
        return 0;
    }
    for (uint64_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)t->data)[i];
    if (t->dtype != TN_STRING) return sum;
    for (int64_t i = 0; i < n; i++) {
        const struct tn_string *text = &((const struct tn_string *)t->data)[i];
        for (uint64_t k = 0; k < text->size; k++)
            sum += (uint8_t)text->data[k];
    }
    return sum;
}

/* Reads every byte, so that the sanitizers see what does not live. */
static uint64_t touch(const struct tn_value_ref *ref, struct trial *out, unsigned depth) {
    uint64_t sum = 0;
    if (depth > 8) return 0;
    if (ref->kind == TN_KIND_TENSOR) sum = touch_tensor(ref->as.tensor, out);
    if (ref->kind == TN_KIND_SEQUENCE) {
        for (uint64_t i = 0; i < ref->as.sequence->count; i++) {
            struct tn_map storage;
            const struct tn_value_ref item =
                tn_sequence_item(ref->as.sequence, i, &storage);
            sum += touch(&item, out, depth + 1);
        }
    }
    if (ref->kind == TN_KIND_MAP)
        sum = touch_tensor(&ref->as.map->keys, out) +
              touch_tensor(&ref->as.map->values, out);
    if (ref->kind == TN_KIND_OPTIONAL)
        sum = touch(&ref->as.optional->value, out, depth + 1);
    return sum;
}

static void read_outputs(
    struct tn_session *session, struct tn_context *context, struct trial *out) {
    static volatile uint64_t sink;
    (void)sink;
    for (uint32_t k = 0; k < tn_session_io_count(session, TN_OUTPUT); k++) {
        const struct tn_value_ref *ref = tn_context_output(context, k);
        if (!ref) {
            snprintf(out->complaint, sizeof out->complaint, "a run without output %u", k);
            return;
        }
        sink += touch(ref, out, 0);
        struct tn_value *copy = NULL;
        if (tn_value_copy(ref, &copy, NULL) == TN_OK) tn_value_release(&copy);
    }
}

/* ---- one trial ------------------------------------------------------------------------ */

static void run_once(struct tn_session *session, struct tn_context *context,
    struct tn_value *const *feeds, unsigned n_feeds, struct chance *chance,
    struct trial *out) {
    struct tn_value *own[MOST_INPUTS] = {0};
    struct tn_diag diag = {0};
    struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 300000000};
    uint32_t n = tn_session_io_count(session, TN_INPUT);
    if (n > MOST_INPUTS) return;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < n && status == TN_OK; i++) {
        const struct tn_value *feed = choose(i < n_feeds ? feeds[i] : NULL,
            &tn_session_io(session, TN_INPUT, i)->type, chance, &own[i]);
        if (feed) status = tn_context_set_input(context, i, tn_value_get(feed), &diag);
    }
    if (status == TN_OK) status = tn_context_run(context, &options, &diag);
    judge(out, status, &diag, "run");
    if (status == TN_OK) read_outputs(session, context, out);
    for (uint32_t i = 0; i < n; i++) {
        (void)tn_context_set_input(context, i, &(struct tn_value_ref){0}, NULL);
        tn_value_release(&own[i]);
    }
}

static int drop_text(void *arg, const char *text, uint64_t size) {
    (void)arg;
    (void)text;
    (void)size;
    return 0;
}

void trial_model(struct tn_runtime *runtime, const void *data, size_t size,
    struct tn_value *const *feeds, unsigned n_feeds, struct chance *chance,
    struct trial *out) {
    struct tn_session_options options = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = limits,
        .n_options = sizeof limits / sizeof limits[0]};
    struct tn_model model = {.data = data, .size = size};
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct tn_diag diag = {0};
    memset(out, 0, sizeof *out);
    if (chance && chance_below(chance, 8) == 0)
        options.n_options--; /* the default level */
    tn_status status = tn_session_create(runtime, &model, &options, &session, &diag);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    judge(out, status, &diag, "load");
    for (int turn = 0; status == TN_OK && turn < (chance ? 3 : 1); turn++) {
        run_once(session, context, feeds, n_feeds, turn ? chance : NULL, out);
        if (out->complaint[0]) break;
    }
    if (session && chance && chance_below(chance, 16) == 0) {
        (void)tn_session_report(
            session, TN_REPORT_GRAPH, TN_FORMAT_TEXT, drop_text, NULL, NULL);
        (void)tn_session_report(
            session, TN_REPORT_PLACEMENT, TN_FORMAT_JSON, drop_text, NULL, NULL);
    }
    tn_context_destroy(context);
    tn_session_destroy(session);
}
