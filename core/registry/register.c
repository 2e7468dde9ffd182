/* Taking over what a plugin brings, all or nothing: everything is checked and memory is
 * reserved first; only then do the tables change. */
#include "core/registry/registry_impl.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 65536, MAX_SERVICES = 256 };

/* The plugin's tables, copied so that rows can be replaced by full-length copies. */
struct tables {
    const struct tn_op_def **ops;
    const struct tn_kernel_def **kernels;
    const struct tn_provider_def **providers;
    const struct tn_pass_def **passes;
    struct tn__kernel_row *rows; /* [n_kernels], reserved */
    struct tn__op_entry **row_entries;
    uint32_t n_ops, n_kernels, n_providers, n_passes;
};

struct registration {
    struct tn__registry *registry;
    struct tn__plugin *plugin;
    const char *who;
    const struct tn__candidate *candidate; /* with a manifest, or NULL */
    struct tables tables;
    uint32_t n_pending; /* operators checked and marked so far */
    struct tn_diag *diag;
};

/* ---- fetching -------------------------------------------------------------------- */

/* Copies a table that a plugin's function returned. */
static tn_status copy_table(struct registration *r, const char *what, tn_status status,
    const void *table, uint32_t n, void *out_table, uint32_t *out_n) {
    if (status != TN_OK)
        return tn_fail(r->diag, TN_PLUGIN,
            "plugin '%s' failed to give its table of %s (code %d)", r->who, what, status);
    if (n > MAX_TABLE || (n && !table))
        return tn_fail(r->diag, TN_PLUGIN,
            "plugin '%s' gave a broken table of %s (%u rows)", r->who, what, n);
    void *copy =
        tn__arena_copy(r->registry->arena, table, n * (uint64_t)sizeof(const void *));
    if (!copy) return tn__fail_memory(r->diag, "a plugin's table", n);
    memcpy(out_table, &copy, sizeof copy);
    *out_n = n;
    return TN_OK;
}

static tn_status fetch_passes(struct registration *r) {
    const struct tn_plugin *desc = r->plugin->desc;
    if (!desc->get_extension) return TN_OK;
    const struct tn_pass_extension *ext =
        desc->get_extension(r->plugin->state, TN_PASS_EXTENSION);
    if (!ext) return TN_OK;
    if (ext->struct_size != sizeof *ext) {
        tn__registry_log(r->registry, TN_LOG_WARNING,
            "plugin '%s' offers passes of another revision (%u bytes, expected %zu); "
            "they are not used: rebuild the plugin with this SDK",
            r->who, ext->struct_size, sizeof *ext);
        return TN_OK;
    }
    return copy_table(r, "passes", TN_OK, ext->passes, ext->count, &r->tables.passes,
        &r->tables.n_passes);
}

static tn_status fetch(struct registration *r) {
    const struct tn_plugin *desc = r->plugin->desc;
    void *state = r->plugin->state;
    struct tables *t = &r->tables;
    if (desc->ops) {
        const struct tn_op_def *const *table = NULL;
        uint32_t n = 0;
        tn_status status = desc->ops(state, &table, &n);
        TN_TRY(copy_table(r, "operators", status, table, n, &t->ops, &t->n_ops));
    }
    if (desc->kernels) {
        const struct tn_kernel_def *const *table = NULL;
        uint32_t n = 0;
        tn_status status = desc->kernels(state, &table, &n);
        TN_TRY(copy_table(r, "kernels", status, table, n, &t->kernels, &t->n_kernels));
    }
    if (desc->providers) {
        const struct tn_provider_def *const *table = NULL;
        uint32_t n = 0;
        tn_status status = desc->providers(state, &table, &n);
        TN_TRY(
            copy_table(r, "providers", status, table, n, &t->providers, &t->n_providers));
    }
    return fetch_passes(r);
}

/* ---- checking and reserving ------------------------------------------------------ */

static tn_status reserve_op(struct registration *r, const struct tn_op_def **def) {
    TN_TRY(tn__op_def_check(r->registry->arena, def, r->who, r->diag));
    struct tn__op_entry *entry =
        tn__entry_get(r->registry, (*def)->domain, (*def)->op_type);
    if (!entry) return tn__fail_memory(r->diag, "an operator", sizeof *entry);
    const struct tn_op_def *other = entry->def ? entry->def : entry->pending;
    if (other && !tn__op_def_same(other, *def))
        return tn_fail(r->diag, TN_PLUGIN,
            "plugin '%s' defines operator %s.%s differently from '%s'; remove or disable "
            "one of them (plugin.disable)",
            r->who, tn__domain_label(entry->domain), entry->op_type,
            entry->def ? entry->def_plugin->path : r->who);
    if (!other) entry->pending = *def;
    return TN_OK;
}

static tn_status reserve_kernel(struct registration *r, uint32_t i) {
    const struct tn_kernel_def **def = &r->tables.kernels[i];
    TN_TRY(tn__kernel_def_check(r->registry->arena, def, r->who, r->diag));
    struct tn__op_entry *entry =
        tn__entry_get(r->registry, (*def)->domain, (*def)->op_type);
    if (!entry) return tn__fail_memory(r->diag, "an operator", sizeof *entry);
    const struct tn_op_def *op = entry->def ? entry->def : entry->pending;
    if (op) TN_TRY(tn__kernel_fits_schema(*def, op, r->who, r->diag));
    r->tables.row_entries[i] = entry;
    r->tables.rows[i] =
        (struct tn__kernel_row){.def = *def, .plugin = r->plugin, .checked = op != NULL};
    return TN_OK;
}

static tn_status check_provider(struct registration *r, uint32_t i) {
    const struct tn_provider_def **def = &r->tables.providers[i];
    TN_TRY(tn__provider_def_check(r->registry->arena, def, r->who, r->diag));
    for (uint32_t j = 0; j < r->registry->n_providers; j++) {
        const struct tn__registered_provider *other = r->registry->providers[j];
        if (strcmp(other->def->id, (*def)->id) == 0)
            return tn_fail(r->diag, TN_PLUGIN,
                "plugin '%s' brings the provider '%s', which '%s' brings too; disable "
                "one of them (plugin.disable)",
                r->who, (*def)->id, other->plugin->path);
    }
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(r->tables.providers[j]->id, (*def)->id) == 0)
            return tn_fail(r->diag, TN_PLUGIN,
                "plugin '%s' lists the provider '%s' twice", r->who, (*def)->id);
    }
    return TN_OK;
}

static tn_status check_pass(const struct registration *r, uint32_t i) {
    const struct tn_pass_def *def = r->tables.passes[i];
    if (!def || def->struct_size != sizeof *def || !def->name || !def->run ||
        (def->flags & TN_CRITICAL_FLAGS))
        return tn_fail(r->diag, TN_PLUGIN,
            "plugin '%s': row %u of its passes is NULL, of another size, or has no name "
            "or function",
            r->who, i);
    return TN_OK;
}

static tn_status grow_lists(struct registration *r) {
    struct tn__registry *reg = r->registry;
    struct tables *t = &r->tables;
    if (!tn__arena_grow(reg->arena, (void **)&reg->providers, &reg->cap_providers,
            reg->n_providers + t->n_providers, sizeof *reg->providers) ||
        !tn__arena_grow(reg->arena, (void **)&reg->passes, &reg->cap_passes,
            reg->n_passes + t->n_passes, sizeof *reg->passes) ||
        !tn__arena_grow(reg->arena, (void **)&reg->plugins, &reg->cap_plugins,
            reg->n_plugins + 1, sizeof *reg->plugins))
        return tn__fail_memory(r->diag, "the registry", 0);
    return TN_OK;
}

static tn_status list_offers(const struct registration *r, struct tn__offers *have) {
    const struct tables *t = &r->tables;
    struct tn_arena *arena = r->registry->arena;
    char key[TN__KEY_MAX];
    for (uint32_t i = 0; i < t->n_ops; i++) {
        (void)tn__op_key(key, t->ops[i]->domain, t->ops[i]->op_type);
        TN_TRY(tn__offers_add(arena, have, key, TN__OFFER_OP, r->diag));
    }
    for (uint32_t i = 0; i < t->n_kernels; i++) {
        (void)tn__op_key(key, t->kernels[i]->domain, t->kernels[i]->op_type);
        TN_TRY(tn__offers_add(arena, have, key, TN__OFFER_KERNEL, r->diag));
    }
    for (uint32_t i = 0; i < t->n_providers; i++) {
        (void)tn__provider_key(key, t->providers[i]->id);
        TN_TRY(tn__offers_add(arena, have, key, TN__OFFER_PROVIDER, r->diag));
    }
    const char *const *services = r->plugin->desc->services;
    for (uint32_t i = 0; services && i < MAX_SERVICES && services[i]; i++) {
        if (tn__service_key(key, services[i]))
            TN_TRY(tn__offers_add(arena, have, key, TN__OFFER_SERVICE, r->diag));
    }
    return TN_OK;
}

static tn_status compare_manifest(const struct registration *r) {
    if (!r->candidate || !r->candidate->manifest) return TN_OK;
    struct tn__offers have = {0};
    tn_status status = list_offers(r, &have);
    if (status == TN_OK) status = tn__manifest_compare(r->candidate, &have, r->diag);
    tn__map_clear(&have.index);
    return status;
}

static tn_status reserve(struct registration *r) {
    struct tables *t = &r->tables;
    struct tn_arena *arena = r->registry->arena;
    t->rows = tn__arena_array(arena, t->n_kernels, sizeof *t->rows);
    t->row_entries = tn__arena_array(arena, t->n_kernels, sizeof *t->row_entries);
    if (!t->rows || !t->row_entries)
        return tn__fail_memory(r->diag, "a plugin's kernels", t->n_kernels);
    for (; r->n_pending < t->n_ops; r->n_pending++)
        TN_TRY(reserve_op(r, &t->ops[r->n_pending]));
    for (uint32_t i = 0; i < t->n_kernels; i++)
        TN_TRY(reserve_kernel(r, i));
    for (uint32_t i = 0; i < t->n_providers; i++)
        TN_TRY(check_provider(r, i));
    for (uint32_t i = 0; i < t->n_passes; i++)
        TN_TRY(check_pass(r, i));
    TN_TRY(compare_manifest(r));
    return grow_lists(r);
}

/* ---- taking over: nothing below can fail ----------------------------------------- */

static int compare_passes(const void *a, const void *b) {
    const struct tn_pass_def *x = (*(struct tn__registered_pass *const *)a)->def;
    const struct tn_pass_def *y = (*(struct tn__registered_pass *const *)b)->def;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Clears the marks of the operators; `keep` makes them definitions first. */
static void take_ops(struct registration *r, bool keep) {
    for (uint32_t i = 0; i < r->n_pending; i++) {
        const struct tn_op_def *def = r->tables.ops[i];
        struct tn__op_entry *entry =
            tn__entry_find(r->registry, def->domain, def->op_type);
        if (!entry || !entry->pending) continue;
        if (keep) {
            entry->def = entry->pending;
            entry->def_plugin = r->plugin;
        }
        entry->pending = NULL;
    }
}

static void commit(struct registration *r, struct tn__registered_provider *providers,
    struct tn__registered_pass *passes) {
    struct tn__registry *reg = r->registry;
    struct tables *t = &r->tables;
    take_ops(r, true);
    for (uint32_t i = 0; i < t->n_kernels; i++) {
        t->rows[i].older = t->row_entries[i]->rows;
        t->row_entries[i]->rows = &t->rows[i];
    }
    for (uint32_t i = 0; i < t->n_providers; i++) {
        providers[i] = (struct tn__registered_provider){t->providers[i], r->plugin};
        reg->providers[reg->n_providers++] = &providers[i];
    }
    for (uint32_t i = 0; i < t->n_passes; i++) {
        passes[i] = (struct tn__registered_pass){t->passes[i], r->plugin};
        reg->passes[reg->n_passes++] = &passes[i];
    }
    if (t->n_passes)
        qsort(reg->passes, reg->n_passes, sizeof *reg->passes, compare_passes);
    reg->plugins[reg->n_plugins++] = r->plugin;
}

static tn_status register_tables(struct registration *r) {
    TN_TRY(fetch(r));
    tn_status status = reserve(r);
    struct tn_arena *arena = r->registry->arena;
    struct tn__registered_provider *providers =
        tn__arena_array(arena, r->tables.n_providers, sizeof *providers);
    struct tn__registered_pass *passes =
        tn__arena_array(arena, r->tables.n_passes, sizeof *passes);
    if (status == TN_OK && (!providers || !passes))
        status = tn__fail_memory(r->diag, "the registry", 0);
    if (status != TN_OK) {
        take_ops(r, false);
        return status;
    }
    commit(r, providers, passes);
    return TN_OK;
}

static tn_status init_plugin(struct registration *r) {
    struct tn__plugin *plugin = r->plugin;
    plugin->host = tn__host_create(r->registry, plugin->desc->id, r->diag);
    if (!plugin->host) return TN_OUT_OF_MEMORY;
    if (!plugin->desc->init) return TN_OK;
    struct tn_diag inner = {0};
    tn_status status = plugin->desc->init(plugin->host, &plugin->state, &inner);
    if (status == TN_OK) return TN_OK;
    return tn_fail(r->diag, status == TN_OUT_OF_MEMORY ? TN_OUT_OF_MEMORY : TN_PLUGIN,
        "plugin '%s' failed to start: %s", r->who,
        inner.message[0] ? inner.message : "it gave no reason");
}

tn_status tn__plugin_register(struct tn__registry *registry, const struct tn_plugin *desc,
    const char *path, const struct tn__candidate *candidate, struct tn__plugin **out,
    struct tn_diag *diag) {
    struct tn__plugin *plugin = tn__arena_alloc(registry->arena, sizeof *plugin);
    struct tn_plugin *copy = tn__arena_alloc(registry->arena, sizeof *copy);
    char *path_copy = tn__arena_string(registry->arena, path, strlen(path));
    if (!plugin || !copy || !path_copy)
        return tn__fail_memory(diag, "a plugin", sizeof *plugin);
    TN_TRY(tn__descriptor_check(desc, path_copy, copy, diag));
    *plugin = (struct tn__plugin){copy, NULL, NULL, path_copy};
    struct registration r = {.registry = registry,
        .plugin = plugin,
        .who = path_copy,
        .candidate = candidate,
        .diag = diag};
    TN_TRY(init_plugin(&r));
    tn_status status = register_tables(&r);
    if (status != TN_OK) {
        if (copy->shutdown) copy->shutdown(plugin->state);
        return status;
    }
    *out = plugin;
    return TN_OK;
}
