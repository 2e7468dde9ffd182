/* The manager: collects the passes that level, safety and configuration allow, and runs
 * them round by round until none changes anything. */
#include "core/base/alloc.h"
#include "core/opt/opt_impl.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ROUNDS = 8 };
#define DEFAULT_NODE_BYTES (UINT64_C(512) << 20)
#define DEFAULT_TOTAL_BYTES (UINT64_C(2) << 30)

/* A pass of the core or of a plugin. */
struct pass {
    const char *name;
    uint32_t order;
    tn__core_pass_fn run;                         /* of the core … */
    const struct tn__registered_pass *registered; /* … or of a plugin */
};

static const struct pass core_passes[] = {
    {"no_op", 100, tn__pass_no_op, NULL},
    {"fold", 200, tn__pass_fold, NULL},
    {"dedupe", 300, tn__pass_dedupe, NULL},
    {"cse", 400, tn__pass_cse, NULL},
    {"dead_code", 9000, tn__pass_dead_code, NULL},
};
enum { N_CORE = sizeof core_passes / sizeof *core_passes };

/* ---- which passes ---------------------------------------------------- */

static bool is_disabled(const struct tn__opt *opt, const char *name) {
    for (uint32_t i = 0; i < opt->options.n_disabled; i++) {
        if (strcmp(opt->options.disabled[i], name) == 0) return true;
    }
    return false;
}

static bool is_allowed(const struct tn__opt *opt, const struct tn_pass_def *def) {
    return def->level <= opt->options.level && def->safety <= opt->options.safety &&
           !is_disabled(opt, def->name);
}

static int compare_passes(const void *a, const void *b) {
    const struct pass *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Passes in the order in which they run; NULL when there is no memory. */
static struct pass *collect_passes(const struct tn__opt *opt, uint32_t *out_n) {
    uint32_t total = N_CORE, n = 0;
    while (!opt->options.core_only && tn__registry_pass_at(opt->registry, total - N_CORE))
        total++;
    struct pass *passes = tn__alloc(total * sizeof *passes, 0);
    if (!passes) return NULL;
    for (uint32_t i = 0; i < N_CORE; i++) {
        if (!is_disabled(opt, core_passes[i].name)) passes[n++] = core_passes[i];
    }
    for (uint32_t i = 0; i < total - N_CORE; i++) {
        const struct tn__registered_pass *r = tn__registry_pass_at(opt->registry, i);
        if (r && is_allowed(opt, r->def))
            passes[n++] = (struct pass){r->def->name, r->def->order, NULL, r};
    }
    qsort(passes, n, sizeof *passes, compare_passes);
    *out_n = n;
    return passes;
}

static bool is_known(const struct tn__opt *opt, const char *name) {
    const struct tn__registered_pass *r;
    for (uint32_t i = 0; i < N_CORE; i++) {
        if (strcmp(core_passes[i].name, name) == 0) return true;
    }
    for (uint32_t i = 0; (r = tn__registry_pass_at(opt->registry, i)); i++) {
        if (strcmp(r->def->name, name) == 0) return true;
    }
    return false;
}

/* ---- which graphs ---------------------------------------------------- */

struct graphs {
    struct tn_graph **items;
    uint32_t n, cap;
};

static tn_status push_graph(void *arg, struct tn_graph *g) {
    struct graphs *list = arg;
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 16;
        struct tn_graph **items = tn__alloc((uint64_t)cap * sizeof(*items), 0);
        if (!items) return TN_OUT_OF_MEMORY;
        if (list->n) memcpy(items, list->items, list->n * sizeof(*items));
        tn__free(list->items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = g;
    return TN_OK;
}

/* The main graph and all below it, parents first. */
static tn_status collect_graphs(
    struct tn__model *model, struct graphs *list, struct tn_diag *diag) {
    list->n = 0;
    tn_status status = push_graph(list, model->graph);
    for (uint32_t i = 0; i < list->n && status == TN_OK; i++) {
        const struct tn_graph *g = list->items[i];
        for (tn_node_id id = g->first; id != TN_NO_ID && status == TN_OK;
             id = g->nodes[id].next)
            status = tn__node_subgraphs(&g->nodes[id], push_graph, list);
    }
    if (status == TN_OK) return TN_OK;
    return tn__fail_memory(diag, "the list of graphs", list->n * sizeof *list->items);
}

static uint32_t count_nodes(const struct graphs *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        n += list->items[i]->n_live;
    return n;
}

/* ---- running --------------------------------------------------------- */

static tn_status run_plugin_pass(const struct pass *pass, struct tn_graph *g,
    uint32_t *out_changes, struct tn_diag *diag) {
    const struct tn__plugin *plugin = pass->registered->plugin;
    struct tn_diag own = {0};
    struct tn_graph_api api = tn__pass_api(g);
    struct tn_pass_ctx ctx = {
        .struct_size = (uint32_t)TN_END_OF(struct tn_pass_ctx, diag),
        .host = plugin->host,
        .plugin_state = plugin->state,
        .api = &api,
        .graph = g,
        .diag = &own};
    tn_status status = pass->registered->def->run(&ctx, out_changes);
    if (status != TN_OK) {
        if (diag) tn__diag_name(diag, diag->plugin, plugin->desc->id);
        return tn_fail(diag, status, "the pass '%s' of plugin '%s' failed: %s",
            pass->name, plugin->desc->id,
            own.message[0] ? own.message : "it gave no reason");
    }
    /* it may have appended nodes behind their readers */
    return *out_changes ? tn__graph_sort(g, NULL, diag) : TN_OK;
}

static tn_status verify_all(
    const struct pass *pass, const struct graphs *list, struct tn_diag *diag) {
    struct tn_diag own = {0};
    for (uint32_t i = 0; i < list->n; i++) {
        if (tn__graph_verify(list->items[i], &own) == TN_OK) continue;
        return tn_fail(diag, TN_INTERNAL,
            "after the pass '%s' the graph '%s' is broken: %s", pass->name,
            list->items[i]->name, own.message);
    }
    return TN_OK;
}

static tn_status record(
    struct tn__opt *opt, const struct tn__opt_entry *entry, struct tn_diag *diag) {
    struct tn__opt_log *log = opt->log;
    if (!tn__arena_grow(opt->model->arena, (void **)&log->entries, &log->cap_entries,
            log->n_entries + 1, sizeof *entry))
        return tn__fail_memory(diag, "the log of rewrites", sizeof *entry);
    log->entries[log->n_entries++] = *entry;
    return TN_OK;
}

/* One pass over all graphs. */
static tn_status run_pass(struct tn__opt *opt, const struct pass *pass,
    struct graphs *list, uint32_t *out_changes, struct tn_diag *diag) {
    TN_TRY(collect_graphs(opt->model, list, diag));
    struct tn__opt_entry entry = {.pass = pass->name,
        .plugin = pass->registered ? pass->registered->plugin->desc->id : NULL,
        .round = opt->log->rounds,
        .nodes_before = count_nodes(list)};
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t changes = 0;
        struct tn_graph *g = list->items[i];
        bool gone = g->parent &&
                    (g->parent_node == TN_NO_ID || g->parent->nodes[g->parent_node].dead);
        if (gone) continue;
        TN_TRY(pass->run ? pass->run(opt, g, &changes, diag)
                         : run_plugin_pass(pass, g, &changes, diag));
        entry.changes += changes;
    }
    *out_changes = entry.changes;
    if (entry.changes == 0) return TN_OK;
    TN_TRY(collect_graphs(opt->model, list, diag));
    entry.nodes_after = count_nodes(list);
    TN_TRY(record(opt, &entry, diag));
    return opt->options.verify ? verify_all(pass, list, diag) : TN_OK;
}

static tn_status run_rounds(struct tn__opt *opt, const struct pass *passes, uint32_t n,
    struct graphs *list, struct tn_diag *diag) {
    TN_TRY(collect_graphs(opt->model, list, diag));
    if (opt->log->rounds == 0) opt->log->nodes_before = count_nodes(list);
    uint32_t last = opt->log->rounds + opt->options.max_rounds;
    for (uint32_t changed = 1; changed && opt->log->rounds < last;) {
        opt->log->rounds++;
        changed = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t changes = 0;
            TN_TRY(run_pass(opt, &passes[i], list, &changes, diag));
            changed |= changes;
        }
    }
    TN_TRY(collect_graphs(opt->model, list, diag));
    opt->log->nodes_after = count_nodes(list);
    return TN_OK;
}

tn_status tn__optimize(struct tn__model *model, struct tn__registry *registry,
    const struct tn__opt_options *options, struct tn__opt_log *log,
    struct tn_diag *diag) {
    struct tn__opt opt = {
        .model = model, .registry = registry, .options = *options, .log = log};
    struct graphs list = {0};
    uint32_t n = 0;
    if (!options->append) *log = (struct tn__opt_log){0};
    if (options->level == TN_LEVEL_NONE) return TN_OK;
    if (opt.options.max_rounds == 0) opt.options.max_rounds = DEFAULT_ROUNDS;
    if (opt.options.fold_node_bytes == 0)
        opt.options.fold_node_bytes = DEFAULT_NODE_BYTES;
    if (opt.options.fold_total_bytes == 0)
        opt.options.fold_total_bytes = DEFAULT_TOTAL_BYTES;
    opt.fold_left = opt.options.fold_total_bytes;
    for (uint32_t i = 0; i < options->n_disabled; i++) {
        if (!is_known(&opt, options->disabled[i]))
            (void)tn__model_warn(model,
                "no optimiser pass is named '%s', so that there is nothing to disable",
                options->disabled[i]);
    }
    struct pass *passes = collect_passes(&opt, &n);
    if (!passes) return tn__fail_memory(diag, "the list of passes", N_CORE);
    tn_status status = run_rounds(&opt, passes, n, &list, diag);
    tn__free(passes);
    tn__free(list.items);
    return status;
}

/* ---- report ---------------------------------------------------------- */

static void report_json(const struct tn__opt_log *log, struct tn_text *out) {
    tn__text_printf(out,
        "{\"rounds\":%u,\"nodes_before\":%u,\"nodes_after\":%u,\"folded_bytes\":%llu,"
        "\"passes\":[",
        log->rounds, log->nodes_before, log->nodes_after,
        (unsigned long long)log->folded_bytes);
    for (uint32_t i = 0; i < log->n_entries; i++) {
        const struct tn__opt_entry *e = &log->entries[i];
        tn__text_puts(out, i ? ",{\"pass\":" : "{\"pass\":");
        tn__text_json(out, e->pass);
        tn__text_puts(out, ",\"plugin\":");
        if (e->plugin)
            tn__text_json(out, e->plugin);
        else
            tn__text_puts(out, "null");
        tn__text_printf(out,
            ",\"round\":%u,\"changes\":%u,\"nodes_before\":%u,\"nodes_after\":%u}",
            e->round, e->changes, e->nodes_before, e->nodes_after);
    }
    tn__text_puts(out, "]}\n");
}

void tn__opt_report(const struct tn__opt_log *log, uint32_t format, struct tn_text *out) {
    if (format == TN_FORMAT_JSON) {
        report_json(log, out);
        return;
    }
    tn__text_printf(out, "%u nodes before, %u after, %u rounds, %llu bytes folded\n",
        log->nodes_before, log->nodes_after, log->rounds,
        (unsigned long long)log->folded_bytes);
    if (log->n_entries)
        tn__text_printf(out, "%5s  %-24s %8s %8s %8s\n", "round", "pass", "changes",
            "before", "after");
    for (uint32_t i = 0; i < log->n_entries; i++) {
        const struct tn__opt_entry *e = &log->entries[i];
        tn__text_printf(out, "%5u  %-24s %8u %8u %8u\n", e->round, e->pass, e->changes,
            e->nodes_before, e->nodes_after);
    }
}
