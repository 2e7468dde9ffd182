/* Which kernel row serves a node: version first, then element types; and if none does,
 * precisely why. */
#include "core/registry/registry_impl.h"

#include "core/base/text.h"

#include <stdio.h>
#include <string.h>

const char *tn__types_text(uint64_t types, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = '\0';
    for (int32_t d = 1; d < TN_DTYPE_COUNT; d++) {
        if (!(types >> d & 1)) continue;
        int n =
            snprintf(buf + used, size - used, "%s%s", used ? ", " : "", tn_dtype_name(d));
        if (n < 0 || (size_t)n >= size - used) {
            if (size > 4) memcpy(buf + size - 4, "...", 4);
            break;
        }
        used += (size_t)n;
    }
    if (used == 0) snprintf(buf, size, "no type");
    return buf;
}

struct match {
    const struct tn_graph *g;
    const struct tn__node *node;
    const struct tn_op_def *def;
    uint32_t reason;
    char *detail;
    size_t detail_size;
};

static void explain(struct match *m, uint32_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void explain(struct match *m, uint32_t reason, const char *format, ...) {
    m->reason = reason;
    if (!m->detail || m->detail_size == 0) return;
    va_list args;
    va_start(args, format);
    vsnprintf(m->detail, m->detail_size, format, args);
    va_end(args);
}

/* ---- version --------------------------------------------------------------------- */

/* A kernel for version V serves version D when no step with meaning lies in (V, D]. */
static bool serves_version(const struct tn_op_def *def, int32_t written, int32_t node) {
    int32_t low = written < node ? written : node;
    int32_t high = written < node ? node : written;
    for (uint32_t i = 0; i < def->n_versions; i++) {
        const struct tn_op_version *v = &def->versions[i];
        if (v->since > low && v->since <= high && v->upgrade) return false;
    }
    return true;
}

/* ---- types ----------------------------------------------------------------------- */

static const struct tn_formal *formal_at(
    const struct tn_formal *formals, uint32_t n, uint32_t i) {
    if (i < n) return &formals[i];
    return n && (formals[n - 1].flags & TN_FORMAL_VARIADIC) ? &formals[n - 1] : NULL;
}

/* Types the row takes for a formal: by its own name, else by its variable's. */
static uint64_t row_types(
    const struct tn_kernel_def *row, const struct tn_formal *formal) {
    uint64_t types = UINT64_MAX;
    for (uint32_t i = 0; i < row->n_types; i++) {
        const char *name = row->types[i].name;
        if (strcmp(name, formal->name) == 0) return row->types[i].types;
        if (formal->type_var && strcmp(name, formal->type_var) == 0)
            types = row->types[i].types;
    }
    return types;
}

/* One side (inputs or outputs) of a node. */
struct side {
    const char *what;
    const tn_value_id *ids;
    uint32_t n;
    const struct tn_formal *formals;
    uint32_t n_formals;
    bool must_know;
};

/* Index of the first item whose type the row does not take, n when all fit. *out_types is
 * what it takes there. */
static uint32_t misfit(const struct match *m, const struct tn_kernel_def *row,
    const struct side *side, uint64_t *out_types) {
    for (uint32_t i = 0; i < side->n; i++) {
        const struct tn_formal *formal = formal_at(side->formals, side->n_formals, i);
        if (side->ids[i] == TN_NO_ID || !formal) continue;
        uint64_t types = row_types(row, formal);
        const struct tn_type *type = &tn__value_at(m->g, side->ids[i])->type;
        bool known = type->kind != TN_KIND_ABSENT && type->dtype > TN_UNDEFINED &&
                     type->dtype < TN_DTYPE_COUNT;
        if (types == UINT64_MAX || (!known && !side->must_know)) continue;
        if (known && (types >> type->dtype & 1)) continue;
        *out_types = types;
        return i;
    }
    return side->n;
}

/* What all rows of the provider take together for a formal. */
static uint64_t union_types(const struct tn__kernel_row *rows, const char *provider,
    const struct tn_formal *formal) {
    uint64_t types = 0;
    for (const struct tn__kernel_row *row = rows; row; row = row->older) {
        if (!row->broken && strcmp(row->def->provider, provider) == 0)
            types |= row_types(row->def, formal);
    }
    return types;
}

static bool fits_side(struct match *m, const struct tn__kernel_row *rows,
    const struct tn__kernel_row *row, const struct side *side) {
    uint64_t types = 0;
    uint32_t i = misfit(m, row->def, side, &types);
    if (i == side->n) return true;
    const struct tn_formal *formal = formal_at(side->formals, side->n_formals, i);
    const struct tn__value *value = tn__value_at(m->g, side->ids[i]);
    char text[200];
    tn__types_text(
        union_types(rows, row->def->provider, formal) | types, text, sizeof text);
    if (value->type.kind == TN_KIND_ABSENT || value->type.dtype == TN_UNDEFINED)
        explain(m, TN_REASON_DTYPE,
            "element type of %s %u '%s' is not known; supported: %s", side->what, i,
            formal->name, text);
    else
        explain(m, TN_REASON_DTYPE, "%s %u '%s' is %s; supported: %s", side->what, i,
            formal->name, tn_dtype_name(value->type.dtype), text);
    return false;
}

static bool fits(struct match *m, const struct tn__kernel_row *rows,
    const struct tn__kernel_row *row) {
    const struct tn_node *node = &m->node->view;
    if (!serves_version(m->def, row->def->since, node->since)) {
        if (m->reason != TN_REASON_DTYPE)
            explain(m, TN_REASON_OPSET,
                "the kernel is written for version %d, the node follows version %d, and "
                "the meaning changed in between",
                row->def->since, node->since);
        return false;
    }
    const struct side inputs = {
        "input", node->inputs, node->n_inputs, m->def->inputs, m->def->n_inputs, true};
    const struct side outputs = {"output", node->outputs, node->n_outputs,
        m->def->outputs, m->def->n_outputs, false};
    return fits_side(m, rows, row, &inputs) && fits_side(m, rows, row, &outputs);
}

/* Rows that came before their schema are held against it now. */
static bool usable(struct tn__registry *registry, const struct tn__op_entry *entry,
    struct tn__kernel_row *row) {
    if (!row->checked) {
        struct tn_diag diag = {0};
        row->checked = true;
        row->broken = tn__kernel_fits_schema(
                          row->def, entry->def, row->plugin->path, &diag) != TN_OK;
        if (row->broken)
            tn__registry_log(
                registry, TN_LOG_ERROR, "%s; the kernel is not used", diag.message);
    }
    return !row->broken;
}

static const struct tn__kernel_row *find_row(
    struct tn__registry *registry, const char *provider, struct match *m) {
    struct tn__op_entry *entry =
        tn__entry_lookup(registry, m->node->view.domain, m->node->view.op_type);
    explain(m, TN_REASON_OP_UNKNOWN, "provider '%s' has no kernel for it", provider);
    if (!entry || !entry->def) return NULL;
    m->def = entry->def;
    for (struct tn__kernel_row *row = entry->rows; row; row = row->older) {
        if (strcmp(row->def->provider, provider) == 0 && usable(registry, entry, row) &&
            fits(m, entry->rows, row))
            return row;
    }
    return NULL;
}

const struct tn_kernel_def *tn__registry_kernel(struct tn__registry *registry,
    const char *provider, const struct tn_graph *g, tn_node_id id,
    const struct tn__plugin **out_plugin, uint32_t *out_reason, char *detail,
    size_t detail_size) {
    struct match m = {g, tn__node_at(g, id), NULL, TN_REASON_OK, detail, detail_size};
    pthread_mutex_lock(&registry->lock);
    const struct tn__kernel_row *row = find_row(registry, provider, &m);
    pthread_mutex_unlock(&registry->lock);
    if (!row) {
        if (out_reason) *out_reason = m.reason;
        return NULL;
    }
    if (detail && detail_size) detail[0] = '\0';
    if (out_reason) *out_reason = TN_REASON_OK;
    if (out_plugin) *out_plugin = row->plugin;
    return row->def;
}
