/* Plugins, and what they bring: definitions, kernels, providers, passes.
 *
 * Plugins are found by their manifests; a library is opened only when a model needs one
 * of its domains or operators, or a provider of its is asked for. [any thread]: lookups
 * take a lock, so they belong to loading, never to a run. */
#ifndef TENON_REGISTRY_H
#define TENON_REGISTRY_H

#include "core/conf/conf.h"
#include "core/graph/graph.h"
#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"
#include "tenon/provider.h"

struct tn__registry;

/* A loaded plugin. */
struct tn__plugin {
    const struct tn_plugin *desc;
    void *state;
    const struct tn_host *host;
    const char *path;
};

struct tn__registered_pass {
    const struct tn_pass_def *def;
    const struct tn__plugin *plugin;
};

struct tn__registered_provider {
    const struct tn_provider_def *def;
    const struct tn__plugin *plugin;
};

/* A level of the host's own: shown whatever log.level is, handed to a caller's logger as
 * TN_LOG_INFO. */
enum { TN__LOG_NOTICE = 1 << 16 };

/* What the exec room lends to plugins through their host tables. */
struct tn__host_services {
    void (*parallel_for)(
        void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg);
    uint32_t (*worker_count)(void *self);
    void (*log)(void *self, uint32_t level, const char *message);
    void *self;
    uint64_t cpu_features;
};

/* Scans the configured folders (manifests only). `conf` is borrowed. */
tn_status tn__registry_create(const struct tn__conf *conf,
    const struct tn__host_services *services, struct tn__registry **out,
    struct tn_diag *diag);
void tn__registry_destroy(struct tn__registry *registry);
/* Adds one plugin by path: opened at once, its refusal is the diag. */
tn_status tn__registry_load(
    struct tn__registry *registry, const char *path, struct tn_diag *diag);
/* Registers a plugin that is linked in (static builds, tests). */
tn_status tn__registry_add_static(
    struct tn__registry *registry, tn_plugin_query_fn query, struct tn_diag *diag);

/* ---- definitions (resolve.c) ---------------------------------------------------------
 */

/* Definition of an operator, NULL when no plugin has it; opens plugins as needed. */
const struct tn_op_def *tn__registry_op(
    struct tn__registry *registry, const char *domain, const char *op_type);
/* A definition with this flag, of any plugin; opens all. NULL when none has it. */
const struct tn_op_def *tn__registry_op_flagged(
    struct tn__registry *registry, uint32_t flag);
/* The plugin that brought a definition: its host table goes with every call into it. */
const struct tn__plugin *tn__registry_op_plugin(
    struct tn__registry *registry, const struct tn_op_def *def);
/* Row index of the version that opset `opset` resolves to, -1 when older than the first.
 */
int32_t tn__op_version(const struct tn_op_def *def, int64_t opset);
/* Newest version of a definition. */
static inline int32_t tn__op_newest(const struct tn_op_def *def) {
    return def->versions[def->n_versions - 1].since;
}
/* Highest version any definition of the domain has, 0 when the domain is unknown. */
int32_t tn__registry_domain_newest(struct tn__registry *registry, const char *domain);
/* Finds the node's definition and its version row by the graph's opset imports: sets
 * node->def and view.since. Unknown operator: the nearest name, the plugins that were
 * asked. Unknown domain: where plugins were searched. Deprecated version: refused. */
tn_status tn__resolve_node(struct tn__registry *registry, struct tn_graph *g,
    tn_node_id id, struct tn_diag *diag);
/* Rewrites a resolved node step by step to the newest version (upgrade.c). The node may
 * become another operator, and nodes may appear around it: *out_added says how many new
 * nodes precede or follow. Checks arity and attribute names and types against the schema.
 */
tn_status tn__upgrade_node(struct tn__registry *registry, struct tn_graph *g,
    tn_node_id id, uint32_t *out_added, struct tn_diag *diag);
/* Checks a node (newest version) against its schema: arity, attributes, element types of
 * the inputs whose type is known. */
tn_status tn__check_node(const struct tn_graph *g, tn_node_id id, struct tn_diag *diag);
/* Checks after inference: the element types of the outputs are the schema's. */
tn_status tn__check_outputs(
    const struct tn_graph *g, tn_node_id id, struct tn_diag *diag);

/* ---- kernels and providers -----------------------------------------------------------
 */

/* The best kernel row of `provider` for a resolved, upgraded node with inferred types.
 * NULL: *out_reason (TN_REASON_*) and a sentence in detail (may be NULL) say why. */
const struct tn_kernel_def *tn__registry_kernel(struct tn__registry *registry,
    const char *provider, const struct tn_graph *g, tn_node_id id,
    const struct tn__plugin **out_plugin, uint32_t *out_reason, char *detail,
    size_t detail_size);
/* Provider by id, NULL: diag lists those that exist, and why others were refused. */
const struct tn__registered_provider *tn__registry_provider(
    struct tn__registry *registry, const char *id, struct tn_diag *diag);
/* i-th provider / pass of the plugins opened so far; NULL at the end. */
const struct tn__registered_provider *tn__registry_provider_at(
    struct tn__registry *registry, uint32_t i);
const struct tn__registered_pass *tn__registry_pass_at(
    struct tn__registry *registry, uint32_t i); /* sorted by order, then name */

/* Runs a node once on constant inputs with the kernel of host provider `provider`
 * (constant folding): outputs are new dense tensors in the arena, at most max_bytes in
 * all (else TN_LIMIT_EXCEEDED). (eval.c) */
tn_status tn__eval_node(struct tn__registry *registry, const char *provider,
    struct tn_graph *g, tn_node_id id, uint64_t max_bytes,
    const struct tn_tensor **out_tensors, struct tn_diag *diag);

/* TN_REPORT_PLUGINS, TN_REPORT_SUPPORT, TN_REPORT_DOCTOR */
tn_status tn__registry_report(struct tn__registry *registry, uint32_t report,
    uint32_t format, struct tn_text *out, struct tn_diag *diag);

#endif
