/* The table of services that a plugin gets: memory, log, its configuration section, time,
 * the shared thread pool. */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/os/clock.h"
#include "core/os/processor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- services without a runtime behind them -------------------------------------- */

static void run_in_place(
    void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    (void)self;
    (void)grain;
    if (n > 0) fn(arg, 0, n, 0);
}

static uint32_t one_worker(void *self) {
    (void)self;
    return 1;
}

static void log_to_stderr(void *self, uint32_t level, const char *message) {
    (void)self;
    if (level <= TN_LOG_WARNING)
        fprintf(stderr, "tenon: %s: %s\n", level == TN_LOG_ERROR ? "error" : "warning",
            message);
}

void tn__host_services_complete(struct tn__host_services *services) {
    if (!services->parallel_for || !services->worker_count) {
        services->parallel_for = run_in_place;
        services->worker_count = one_worker;
    }
    if (!services->log) services->log = log_to_stderr;
}

void tn__registry_log(
    const struct tn__registry *registry, uint32_t level, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    registry->services.log(registry->services.self, level, message);
}

/* ---- what is said at the entry --------------------------------------------------- */

struct tn_host_info tn__host_info_make(uint64_t cpu_features) {
    return (struct tn_host_info){
        .struct_size = TN_HOST_INFO_SIZE,
        .abi_major = TN_ABI_MAJOR,
        .abi_minor_min = TN_ABI_MINOR_OLDEST,
        .abi_minor_max = TN_ABI_MINOR,
        .sanitizer = TN_SANITIZER_CURRENT,
        .cpu_features = cpu_features,
        .product_version = TN_VERSION,
        .triple = TN_TRIPLE,
    };
}

/* ---- TENON_DEBUG=threads: the rule for bodies of parallel loops is asserted --------- */

static _Thread_local bool in_body; /* never set without that */

struct body {
    tn_parallel_fn fn;
    void *arg;
};

static void run_watched(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct body *body = arg;
    bool was = in_body;
    in_body = true;
    body->fn(body->arg, begin, end, worker);
    in_body = was;
}

static void forbid_in_body(const void *self, const char *function) {
    if (!in_body) return;
    fprintf(stderr,
        "tenon: error: %s calls %s inside a parallel loop, whose body may call nothing "
        "of the host\n",
        ((const struct tn__host_ctx *)self)->section, function);
    abort();
}

/* ---- the table ------------------------------------------------------------------- */

static void *host_alloc(void *self, uint64_t size, uint64_t align, const char *tag) {
    forbid_in_body(self, "alloc");
    (void)tag;
    if ((align & (align - 1)) != 0 || align > (2u << 20)) return NULL;
    return tn__alloc(size, align);
}

static void host_free(void *self, void *ptr) {
    forbid_in_body(self, "free");
    tn__free(ptr);
}

static void host_log(void *self, uint32_t level, const char *message) {
    const struct tn__host_ctx *ctx = self;
    forbid_in_body(self, "log");
    tn__registry_log(ctx->registry, level, "%s: %s", ctx->section, message);
}

static const char *host_config(void *self, const char *key) {
    const struct tn__host_ctx *ctx = self;
    forbid_in_body(self, "config");
    return ctx->registry->conf ? tn__conf_section(ctx->registry->conf, ctx->section, key)
                               : NULL;
}

static uint64_t host_clock(void *self) {
    (void)self;
    return tn__clock_ns();
}

static void host_parallel_for(
    void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    const struct tn__registry *registry = ((const struct tn__host_ctx *)self)->registry;
    const struct tn__host_services *services = &registry->services;
    struct body body = {fn, arg};
    if (registry->watch_bodies)
        services->parallel_for(services->self, n, grain, run_watched, &body);
    else
        services->parallel_for(services->self, n, grain, fn, arg);
}

static uint32_t host_worker_count(void *self) {
    const struct tn__host_services *services =
        &((const struct tn__host_ctx *)self)->registry->services;
    return services->worker_count(services->self);
}

static const void *host_get_extension(void *self, const char *id) {
    struct tn__host_ctx *ctx = self;
    forbid_in_body(self, "get_extension");
    return id ? tn__registry_service(ctx->registry, id) : NULL;
}

const struct tn_host *tn__host_create(
    struct tn__registry *registry, const char *id, struct tn_diag *diag) {
    struct tn__host_ctx *ctx = tn__arena_alloc(registry->arena, sizeof *ctx);
    const char *section = tn__arena_format(registry->arena, "plugin:%s", id);
    if (!ctx || !section) {
        (void)tn__fail_memory(diag, "a plugin's host table", sizeof *ctx);
        return NULL;
    }
    struct tn__cpu cpu;
    tn__cpu_detect(&cpu);
    ctx->registry = registry;
    ctx->section = section;
    ctx->table = (struct tn_host){
        .struct_size = TN_HOST_SIZE,
        .self = ctx,
        .cpu_features = registry->services.cpu_features,
        .cache_l1d = cpu.cache_l1d,
        .cache_l2 = cpu.cache_l2,
        .cache_l3 = cpu.cache_l3,
        .alloc = host_alloc,
        .free = host_free,
        .log = host_log,
        .config = host_config,
        .clock_ns = host_clock,
        .parallel_for = host_parallel_for,
        .worker_count = host_worker_count,
        .get_extension = host_get_extension,
    };
    return &ctx->table;
}
