/* Starting a plugin without a runtime: see plugin_open.h. */
#include "plugin_open.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a host that offers just enough to start a plugin ---------------------------- */

static void *host_alloc(void *self, uint64_t size, uint64_t align, const char *tag) {
    (void)self;
    (void)tag;
    if (align < 64) align = 64;
    return aligned_alloc(align, (size + align - 1) / align * align + align);
}

static void host_free(void *self, void *ptr) {
    (void)self;
    free(ptr);
}

static void host_log(void *self, uint32_t level, const char *message) {
    (void)self;
    (void)level;
    fprintf(stderr, "%s\n", message);
}

static const char *host_config(void *self, const char *key) {
    (void)self;
    (void)key;
    return NULL;
}

static uint64_t host_clock(void *self) {
    (void)self;
    return (uint64_t)clock();
}

static void host_parallel_for(
    void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    (void)self;
    (void)grain;
    if (n > 0) fn(arg, 0, n, 0);
}

static uint32_t host_worker_count(void *self) {
    (void)self;
    return 1;
}

static const void *host_get_extension(void *self, const char *id) {
    (void)self;
    (void)id;
    return NULL;
}

static const struct tn_host host = {
    .struct_size = TN_HOST_SIZE,
    .alloc = host_alloc,
    .free = host_free,
    .log = host_log,
    .config = host_config,
    .clock_ns = host_clock,
    .parallel_for = host_parallel_for,
    .worker_count = host_worker_count,
    .get_extension = host_get_extension,
};

/* ---- opening ------------------------------------------------------------------------- */

static int fail(const char *path, const char *why) {
    fprintf(stderr, "plugin '%s': %s\n", path, why);
    return EXIT_FAILURE;
}

int plugin_open(const char *path, const struct tn_plugin **out, void **out_state) {
    /* a bare name would be searched on the system's library path */
    char own[4096];
    int n = snprintf(own, sizeof own, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *handle = n < (int)sizeof own ? dlopen(own, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = handle ? dlsym(handle, TN_PLUGIN_ENTRY_NAME) : NULL;
    if (!symbol) return fail(path, dlerror());
    tn_plugin_query_fn query;
    memcpy(&query, &symbol, sizeof query);
    const struct tn_host_info info = {.struct_size = TN_HOST_INFO_SIZE,
        .abi_major = TN_ABI_MAJOR,
        .abi_minor_min = TN_ABI_MINOR_OLDEST,
        .abi_minor_max = TN_ABI_MINOR,
        .sanitizer = TN_SANITIZER_CURRENT,
        .product_version = "the SDK's tools",
        .triple = ""};
    const struct tn_plugin *plugin = NULL;
    struct tn_diag diag;
    memset(&diag, 0, sizeof diag);
    if (query(&info, &plugin) != TN_OK || !plugin)
        return fail(path, "declines this tool");
    if (plugin->init && plugin->init(&host, out_state, &diag) != TN_OK)
        return fail(path, diag.message);
    *out = plugin;
    return EXIT_SUCCESS;
}
