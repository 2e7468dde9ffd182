/* The manifest of a plugin, from the plugin's own tables: see manifest_write.h. */
#include "manifest_write.h"

#include "plugin_open.h"

#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"
#include "tenon/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TN_TRIPLE
#define TN_TRIPLE "unknown"
#endif

/* Lines of an ini file stay below what every reader takes. */
enum { MAX_LINE = 900 };

/* ---- writing --------------------------------------------------------------------- */

/* Names of a list in "ops1 = A, B", "ops2 = …". */
struct list {
    FILE *to;
    const char *key;
    unsigned lines;
    size_t used;
};

static void add_name(struct list *list, const char *name) {
    size_t n = strlen(name) + 2;
    if (list->used == 0 || list->used + n > MAX_LINE) {
        fprintf(list->to, "%s%s%u = %s", list->lines ? "\n" : "", list->key,
            list->lines + 1, name);
        list->lines++;
        list->used = 16 + n;
        return;
    }
    fprintf(list->to, ", %s", name);
    list->used += n;
}

static const char *domain_label(const char *domain) {
    return domain[0] ? domain : "ai.onnx";
}

/* What groups rows into sections: their domain, and for kernels the provider. */
static int same_group(const char *const *a, const char *const *b) {
    return strcmp(a[0], b[0]) == 0 && strcmp(a[1], b[1]) == 0;
}

static void op_group(const struct tn_op_def *def, const char *out[2]) {
    out[0] = def->domain;
    out[1] = "";
}

static void kernel_group(const struct tn_kernel_def *def, const char *out[2]) {
    out[0] = def->domain;
    out[1] = def->provider;
}

static int32_t newest_of(
    const struct tn_op_def *const *ops, uint32_t n, const char *domain) {
    int32_t newest = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(ops[i]->domain, domain) != 0) continue;
        int32_t version = ops[i]->versions[ops[i]->n_versions - 1].since;
        if (version > newest) newest = version;
    }
    return newest;
}

static void write_ops(FILE *to, const struct tn_op_def *const *ops, uint32_t n) {
    unsigned section = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *group[2], *other[2];
        uint32_t first = 0;
        op_group(ops[i], group);
        for (; first < i; first++) {
            op_group(ops[first], other);
            if (same_group(group, other)) break;
        }
        if (first < i) continue;
        fprintf(to, "\n[domain:%u]\nname = %s\nnewest = %d\n", section++,
            domain_label(group[0]), newest_of(ops, n, group[0]));
        struct list list = {to, "ops", 0, 0};
        for (uint32_t j = i; j < n; j++) {
            op_group(ops[j], other);
            if (same_group(group, other)) add_name(&list, ops[j]->op_type);
        }
        fprintf(to, "\n");
    }
}

/* Whether row i names an operator that an earlier row of its group named. */
static int is_repeated(const struct tn_kernel_def *const *kernels, uint32_t i) {
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(kernels[j]->op_type, kernels[i]->op_type) == 0 &&
            strcmp(kernels[j]->domain, kernels[i]->domain) == 0 &&
            strcmp(kernels[j]->provider, kernels[i]->provider) == 0)
            return 1;
    }
    return 0;
}

static void write_kernels(
    FILE *to, const struct tn_kernel_def *const *kernels, uint32_t n) {
    unsigned section = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *group[2], *other[2];
        uint32_t first = 0;
        kernel_group(kernels[i], group);
        for (; first < i; first++) {
            kernel_group(kernels[first], other);
            if (same_group(group, other)) break;
        }
        if (first < i) continue;
        fprintf(to, "\n[kernels:%u]\nprovider = %s\ndomain = %s\n", section++, group[1],
            domain_label(group[0]));
        struct list list = {to, "ops", 0, 0};
        for (uint32_t j = i; j < n; j++) {
            kernel_group(kernels[j], other);
            if (same_group(group, other) && !is_repeated(kernels, j))
                add_name(&list, kernels[j]->op_type);
        }
        fprintf(to, "\n");
    }
}

static void write_services(FILE *to, const struct tn_plugin *plugin) {
    struct list list = {to, "ids", 0, 0};
    for (uint32_t i = 0; plugin->services[i]; i++) {
        if (i == 0) fprintf(to, "\n[services:0]\n");
        add_name(&list, plugin->services[i]);
    }
    fprintf(to, "\n");
}

static int fail_table(const struct tn_plugin *plugin, const char *what) {
    fprintf(
        stderr, "tenon-manifest: plugin '%s' does not give its %s\n", plugin->id, what);
    return EXIT_FAILURE;
}

static int write_tables(FILE *to, const struct tn_plugin *plugin, void *state) {
    uint32_t n = 0;
    if (TN_HAS(plugin, ops)) {
        const struct tn_op_def *const *ops = NULL;
        if (plugin->ops(state, &ops, &n) != TN_OK) return fail_table(plugin, "operators");
        write_ops(to, ops, n);
    }
    if (TN_HAS(plugin, kernels)) {
        const struct tn_kernel_def *const *kernels = NULL;
        if (plugin->kernels(state, &kernels, &n) != TN_OK)
            return fail_table(plugin, "kernels");
        write_kernels(to, kernels, n);
    }
    if (TN_HAS(plugin, providers)) {
        const struct tn_provider_def *const *providers = NULL;
        if (plugin->providers(state, &providers, &n) != TN_OK)
            return fail_table(plugin, "providers");
        for (uint32_t i = 0; i < n; i++)
            fprintf(to, "\n[provider:%u]\nid = %s\nname = \"%s\"\n", i, providers[i]->id,
                providers[i]->name ? providers[i]->name : providers[i]->id);
    }
    return EXIT_SUCCESS;
}

static int write_manifest(
    FILE *to, const struct tn_plugin *plugin, void *state, const char *path) {
    const char *slash = strrchr(path, '/');
    int passes = TN_HAS(plugin, get_extension) &&
                 plugin->get_extension(state, TN_PASS_EXTENSION) != NULL;
    fprintf(to, "; Generated from %s by tenon-manifest. Do not edit.\n",
        slash ? slash + 1 : path);
    fprintf(to, "[plugin]\nid = %s\nname = \"%s\"\nversion = %s\nlibrary = %s\n",
        plugin->id, plugin->name, plugin->version, slash ? slash + 1 : path);
    fprintf(to, "abi = %u.%u\ntriple = %s\npasses = %d\n", TN_ABI_MAJOR,
        plugin->abi_minor, TN_TRIPLE, passes);
    int result = write_tables(to, plugin, state);
    if (result == EXIT_SUCCESS && TN_HAS(plugin, services)) write_services(to, plugin);
    return result;
}

int manifest_write(const char *path, FILE *to) {
    const struct tn_plugin *plugin;
    void *state = NULL;
    if (plugin_open(path, &plugin, &state) != EXIT_SUCCESS) return EXIT_FAILURE;
    int result = write_manifest(to, plugin, state, path);
    if (plugin->shutdown) plugin->shutdown(state);
    return result;
}
