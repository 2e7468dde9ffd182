/* The runtime: what a process shares. */
#include "core/base/alloc.h"
#include "core/objects.h"
#include "core/os/processor.h"

#include <stdio.h>
#include <string.h>

const char *tn_version(void) {
    return TN_VERSION;
}

const char *tn_status_text(tn_status status) {
    switch (status) {
#define TN_STATUS_TEXT(name, number, text)                                               \
    case number: return text;
        TN_STATUS_LIST(TN_STATUS_TEXT)
#undef TN_STATUS_TEXT
    default: return "unknown status";
    }
}

tn_status tn__options_check(
    uint32_t struct_size, uint32_t flags, const char *what, struct tn_diag *diag) {
    if (struct_size < 8)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "struct_size of %s is %u; set it with the macro beside the struct", what,
            (unsigned)struct_size);
    if (flags & TN_CRITICAL_FLAGS)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%s has flags 0x%x that this version does not know", what, (unsigned)flags);
    return TN_OK;
}

/* ---- services for plugins ------------------------------------------------------------- */

static void parallel_for(
    void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    const struct tn_runtime *runtime = self;
    tn__pool_run(runtime->threads, n, grain, fn, arg);
}

static uint32_t worker_count(void *self) {
    const struct tn_runtime *runtime = self;
    return runtime->threads;
}

static void write_log(void *self, uint32_t level, const char *message) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const struct tn_runtime *runtime = self;
    if (level != TN__LOG_NOTICE && level > runtime->log_level) return;
    if (runtime->log)
        runtime->log(runtime->log_arg,
            level == TN__LOG_NOTICE ? (uint32_t)TN_LOG_INFO : level, message);
    else if (level == TN__LOG_NOTICE)
        fprintf(stderr, "tenon: %s\n", message);
    else
        fprintf(stderr, "tenon: %s: %s\n", names[level & 3], message);
}

/* ---- life ----------------------------------------------------------------------------- */

static uint32_t find_log_level(const struct tn__conf *conf) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *name = tn__conf_text(conf, "log.level");
    uint32_t level = 0;
    while (level < TN_LOG_DEBUG && strcmp(names[level], name) != 0)
        level++;
    return level;
}

/* Names of levels in settings and in feature masks differ where settings are older. */
static tn_status find_features(
    const struct tn__conf *conf, uint64_t *out, struct tn_diag *diag) {
    const char *isa = tn__conf_text(conf, "cpu.isa");
    struct tn__cpu cpu;
    uint64_t mask;
    if (strcmp(isa, "best") == 0) isa = "all";
    if (strcmp(isa, "avx512vnni") == 0) isa = "avx512_vnni";
    TN_TRY(tn__cpu_mask(isa, &mask, diag));
    tn__cpu_detect(&cpu);
    *out = cpu.features & mask;
    return TN_OK;
}

static tn_status fill_runtime(struct tn_runtime *runtime,
    const struct tn_runtime_options *options, struct tn_diag *diag) {
    TN_TRY(tn__conf_create(options ? options->options : NULL,
        options ? options->n_options : 0, &runtime->conf, diag));
    int64_t threads = tn__conf_int(runtime->conf, "threads");
    runtime->threads = threads > 0 ? (uint32_t)threads : tn__cpu_threads();
    if (runtime->threads > TN_POOL_MOST_THREADS) runtime->threads = TN_POOL_MOST_THREADS;
    tn__pool_set_spin((uint64_t)tn__conf_int(runtime->conf, "threads.spin_us") * 1000);
    runtime->log_level = find_log_level(runtime->conf);
    runtime->weights = tn__weights_create();
    if (!runtime->weights) return tn__fail_memory(diag, "the runtime", 64);
    runtime->services = (struct tn__host_services){.parallel_for = parallel_for,
        .worker_count = worker_count,
        .log = write_log,
        .self = runtime};
    TN_TRY(find_features(runtime->conf, &runtime->services.cpu_features, diag));
    return tn__registry_create(
        runtime->conf, &runtime->services, &runtime->registry, diag);
}

tn_status tn_runtime_create(const struct tn_runtime_options *options,
    struct tn_runtime **out, struct tn_diag *diag) {
    if (!out) return tn_fail(diag, TN_INVALID_ARGUMENT, "no place for the runtime");
    if (options)
        TN_TRY(tn__options_check(
            options->struct_size, options->flags, "tn_runtime_options", diag));
    struct tn_runtime *runtime = tn__alloc_zero(sizeof *runtime, 0);
    if (!runtime) return tn__fail_memory(diag, "the runtime", sizeof *runtime);
    if (options && TN_HAS(options, log)) {
        runtime->log = options->log;
        runtime->log_arg = options->log_arg;
    }
    tn__pool_retain();
    tn_status status = fill_runtime(runtime, options, diag);
    if (status != TN_OK) {
        tn_runtime_destroy(runtime);
        return status;
    }
    *out = runtime;
    return TN_OK;
}

void tn_runtime_destroy(struct tn_runtime *runtime) {
    if (!runtime) return;
    tn__registry_destroy(runtime->registry);
    tn__weights_destroy(runtime->weights);
    tn__conf_destroy(runtime->conf);
    tn__pool_release();
    tn__free(runtime);
}

tn_status tn_runtime_load_plugin(
    struct tn_runtime *runtime, const char *path, struct tn_diag *diag) {
    if (!runtime || !path)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "no runtime or no path of a plugin");
    return tn__registry_load(runtime->registry, path, diag);
}

tn_status tn_runtime_report(struct tn_runtime *runtime, uint32_t report, uint32_t format,
    tn_write_fn write, void *arg, struct tn_diag *diag) {
    struct tn_text text = {0};
    tn_status status = TN_OK;
    if (report == TN_REPORT_CONFIG)
        tn__conf_report(runtime->conf, format, &text);
    else if (report == TN_REPORT_PLUGINS || report == TN_REPORT_SUPPORT ||
             report == TN_REPORT_DOCTOR)
        status = tn__registry_report(runtime->registry, report, format, &text, diag);
    else
        status = tn_fail(diag, TN_INVALID_ARGUMENT,
            "a runtime has no report %u; it has plugins, support, doctor and config",
            (unsigned)report);
    if (status != TN_OK) {
        tn__text_free(&text);
        return status;
    }
    return tn__report_write(&text, write, arg, diag);
}

tn_status tn__report_write(
    struct tn_text *text, tn_write_fn write, void *arg, struct tn_diag *diag) {
    enum { PIECE = 1 << 16 };
    tn_status status = TN_OK;
    if (text->failed) status = tn__fail_memory(diag, "a report", text->size);
    for (uint64_t at = 0; at < text->size && status == TN_OK; at += PIECE) {
        uint64_t n = text->size - at < PIECE ? text->size - at : PIECE;
        if (write(arg, text->data + at, n) != 0)
            status = tn_fail(diag, TN_CANCELLED, "the writer of the report stopped it");
    }
    tn__text_free(text);
    return status;
}
