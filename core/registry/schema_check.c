/* Holding a node against its schema: how many inputs and outputs, which attributes, which
 * element types. */
#include "core/registry/registry_impl.h"

#include "core/base/nearest.h"

#include <string.h>

struct check {
    const struct tn_graph *g;
    const struct tn__node *node;
    const struct tn_op_def *def;
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
    struct tn_diag *diag;
};

/* The formal that item i of a list belongs to, NULL when there are too many. */
static const struct tn_formal *formal_of(
    const struct tn_formal *formals, uint32_t n, uint32_t i) {
    if (i < n) return &formals[i];
    return n && (formals[n - 1].flags & TN_FORMAL_VARIADIC) ? &formals[n - 1] : NULL;
}

/* ---- arity ----------------------------------------------------------------------- */

/* Kernels walk a variadic input without asking whether each item is there. */
static tn_status check_complete(const struct check *c, const struct tn_formal *f,
    const tn_value_id *ids, uint32_t begin, uint32_t n) {
    for (uint32_t i = begin; i < n; i++) {
        if (ids[i] == TN_NO_ID)
            return tn_fail(c->diag, TN_INVALID_MODEL,
                "node %s (%s) omits input %u, an item of the variadic input '%s', which "
                "is required",
                c->label, c->op, i, f->name);
    }
    return TN_OK;
}

static tn_status check_arity(const struct check *c, const char *what,
    const struct tn_formal *formals, uint32_t n_formals, const tn_value_id *ids,
    uint32_t n, bool is_input) {
    for (uint32_t i = 0; i < n_formals; i++) {
        const struct tn_formal *f = &formals[i];
        bool given = i < n && ids[i] != TN_NO_ID;
        if (f->flags & TN_FORMAL_VARIADIC) {
            uint32_t items = n > i ? n - i : 0;
            if (items < f->min_arity)
                return tn_fail(c->diag, TN_INVALID_MODEL,
                    "node %s (%s) has %u of the variadic %s '%s', expected at least %u",
                    c->label, c->op, items, what, f->name, f->min_arity);
            if (is_input && !(f->flags & TN_FORMAL_OPTIONAL))
                TN_TRY(check_complete(c, f, ids, i, n));
        } else if (!(f->flags & TN_FORMAL_OPTIONAL) && !given && is_input) {
            return tn_fail(c->diag, TN_INVALID_MODEL,
                "node %s (%s) lacks %s %u '%s', which is required", c->label, c->op, what,
                i, f->name);
        }
    }
    if (n > n_formals && !formal_of(formals, n_formals, n - 1))
        return tn_fail(c->diag, TN_INVALID_MODEL,
            "node %s (%s) has %u %ss, expected at most %u", c->label, c->op, n, what,
            n_formals);
    return TN_OK;
}

/* ---- attributes ------------------------------------------------------------------ */

static const char *attr_type_name(uint32_t type) {
    static const char *const names[] = {"undefined", "float", "int", "string", "tensor",
        "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse tensor",
        "sparse tensors", "type", "types"};
    return type < sizeof names / sizeof names[0] ? names[type] : "undefined";
}

static const struct tn_attr_def *find_attr_def(
    const struct tn_op_def *def, const char *name) {
    for (uint32_t i = 0; i < def->n_attrs; i++) {
        if (strcmp(def->attrs[i].name, name) == 0) return &def->attrs[i];
    }
    return NULL;
}

/* An empty list is written without elements: its type may be any list's. */
static bool attr_type_fits(const struct tn_attr *attr, const struct tn_attr_def *want) {
    return attr->type == want->type ||
           (attr->count == 0 && attr->type >= TN_ATTR_FLOATS &&
               attr->type <= TN_ATTR_GRAPHS && want->type >= TN_ATTR_FLOATS &&
               want->type <= TN_ATTR_GRAPHS);
}

static tn_status check_attr(const struct check *c, const struct tn_attr *attr) {
    const struct tn_attr_def *want = find_attr_def(c->def, attr->name);
    if (!want) {
        struct tn__nearest nearest = tn__nearest_start(attr->name);
        for (uint32_t i = 0; i < c->def->n_attrs; i++)
            tn__nearest_offer(&nearest, c->def->attrs[i].name);
        const char *meant = tn__nearest_get(&nearest);
        return tn_fail(c->diag, TN_INVALID_MODEL,
            "node %s (%s) has an attribute '%.80s' that the operator does not have%s%s%s",
            c->label, c->op, attr->name, meant ? "; did you mean '" : "",
            meant ? meant : "", meant ? "'?" : "");
    }
    if (!attr_type_fits(attr, want))
        return tn_fail(c->diag, TN_INVALID_MODEL,
            "node %s (%s): attribute '%s' is of type %s, expected %s", c->label, c->op,
            attr->name, attr_type_name(attr->type), attr_type_name(want->type));
    return TN_OK;
}

static tn_status check_attrs(const struct check *c) {
    const struct tn_node *node = &c->node->view;
    for (uint32_t i = 0; i < node->n_attrs; i++)
        TN_TRY(check_attr(c, &node->attrs[i]));
    for (uint32_t i = 0; i < c->def->n_attrs; i++) {
        const struct tn_attr_def *want = &c->def->attrs[i];
        if ((want->flags & TN_ATTR_REQUIRED) && !tn_node_attr(node, want->name))
            return tn_fail(c->diag, TN_INVALID_MODEL,
                "node %s (%s) lacks the attribute '%s' (%s), which is required", c->label,
                c->op, want->name, attr_type_name(want->type));
    }
    return TN_OK;
}

/* ---- element types --------------------------------------------------------------- */

static const struct tn_type_var *find_type_var(
    const struct tn_op_def *def, const char *name) {
    for (uint32_t i = 0; name && i < def->n_type_vars; i++) {
        if (strcmp(def->type_vars[i].name, name) == 0) return &def->type_vars[i];
    }
    return NULL;
}

/* Value types of maps with these keys. */
static uint64_t allowed_maps(const struct tn_type_var *var, const struct tn_type *type) {
    uint64_t by_number = var->maps & UINT32_MAX, by_string = var->maps >> 32;
    if (type->key_dtype == TN_UNDEFINED) return by_number | by_string;
    if (type->key_dtype == TN_STRING) return by_string;
    return type->key_dtype == TN_INT64 ? by_number : 0;
}

/* Element types a formal takes from values of this kind. */
static uint64_t allowed_types(const struct tn_op_def *def, const struct tn_formal *formal,
    const struct tn_type *type) {
    const struct tn_type_var *var = find_type_var(def, formal->type_var);
    if (!var) return type->kind == TN_KIND_TENSOR ? formal->types : 0;
    switch (type->kind) {
    case TN_KIND_TENSOR:
    case TN_KIND_SPARSE: return var->tensors;
    case TN_KIND_SEQUENCE:
        if (type->elem_kind == TN_KIND_MAP)
            return var->sequences >> 63 ? allowed_maps(var, type) : 0;
        return var->sequences & ~TN_SEQUENCES_OF_MAPS;
    case TN_KIND_OPTIONAL:
        if (type->elem_kind == TN_KIND_SEQUENCE && !(var->optionals >> 63)) return 0;
        return var->optionals & ~(UINT64_C(1) << 63);
    case TN_KIND_MAP: return var->sequences >> 63 ? 0 : allowed_maps(var, type);
    default: return UINT64_MAX;
    }
}

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"an absent value", "a tensor", "a sequence",
        "a map", "an optional", "a sparse tensor", "an opaque value"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "an unknown kind";
}

static tn_status check_input_type(const struct check *c, uint32_t i) {
    const struct tn_op_def *def = c->def;
    const struct tn_formal *formal = formal_of(def->inputs, def->n_inputs, i);
    const struct tn__value *value = tn__value_at(c->g, c->node->view.inputs[i]);
    const struct tn_type *type = &value->type;
    if (!formal || type->kind == TN_KIND_ABSENT || type->kind == TN_KIND_OPAQUE ||
        type->dtype <= TN_UNDEFINED || type->dtype >= TN_DTYPE_COUNT)
        return TN_OK;
    uint64_t allowed = allowed_types(def, formal, type);
    if (allowed >> type->dtype & 1) return TN_OK;
    char wanted[256];
    const struct tn_type_var *var = find_type_var(def, formal->type_var);
    if (c->diag) tn__diag_name(c->diag, c->diag->tensor, value->name);
    if (allowed == 0)
        return tn_fail(c->diag, TN_INVALID_MODEL,
            "node %s (%s): input %u '%s' is %s of %s, expected a tensor of %s", c->label,
            c->op, i, formal->name, kind_name(type->kind), tn_dtype_name(type->dtype),
            tn__types_text(var ? var->tensors : formal->types, wanted, sizeof wanted));
    return tn_fail(c->diag, TN_INVALID_MODEL,
        "node %s (%s): input %u '%s' has element type %s, expected %s", c->label, c->op,
        i, formal->name, tn_dtype_name(type->dtype),
        tn__types_text(allowed, wanted, sizeof wanted));
}

/* What inference says of an output must be a type that the definition may produce. */
static tn_status check_output_type(const struct check *c, uint32_t o) {
    const struct tn_op_def *def = c->def;
    const struct tn_formal *formal = formal_of(def->outputs, def->n_outputs, o);
    const struct tn__value *value = tn__value_at(c->g, c->node->view.outputs[o]);
    const struct tn_type *type = &value->type;
    char wanted[256];
    if (!formal || type->kind == TN_KIND_ABSENT || type->kind == TN_KIND_OPAQUE ||
        type->dtype == TN_UNDEFINED)
        return TN_OK;
    uint64_t allowed = allowed_types(def, formal, type);
    if (type->dtype > TN_UNDEFINED && type->dtype < TN_DTYPE_COUNT &&
        (allowed >> type->dtype & 1))
        return TN_OK;
    if (c->diag) tn__diag_name(c->diag, c->diag->tensor, value->name);
    return tn_fail(c->diag, TN_INVALID_MODEL,
        "node %s (%s): output %u '%s' would be %s of %s, expected one of %s", c->label,
        c->op, o, formal->name, kind_name(type->kind), tn_dtype_name(type->dtype),
        tn__types_text(allowed, wanted, sizeof wanted));
}

/* Inputs of one type variable must agree. first[v] is the first input of known type that
 * variable v governs. */
enum { MAX_VARS = 32 };

static tn_status check_agreement(
    const struct check *c, uint32_t i, uint32_t first[MAX_VARS]) {
    const struct tn_op_def *def = c->def;
    const struct tn_node *node = &c->node->view;
    const struct tn_formal *formal = formal_of(def->inputs, def->n_inputs, i);
    const struct tn_type_var *var = find_type_var(def, formal ? formal->type_var : NULL);
    const struct tn_type *type = &tn__value_at(c->g, node->inputs[i])->type;
    if (!var || var - def->type_vars >= MAX_VARS ||
        (formal->flags & TN_FORMAL_HETEROGENEOUS) || type->kind == TN_KIND_ABSENT ||
        type->dtype == TN_UNDEFINED)
        return TN_OK;
    uint32_t *j = &first[var - def->type_vars];
    if (*j == TN_NO_ID) *j = i;
    const struct tn_type *other = &tn__value_at(c->g, node->inputs[*j])->type;
    if (other->kind == type->kind && other->dtype == type->dtype &&
        other->key_dtype == type->key_dtype)
        return TN_OK;
    return tn_fail(c->diag, TN_INVALID_MODEL,
        "node %s (%s): input %u '%s' is %s of %s, input %u '%s' is %s of %s; they must "
        "be of one type (%s)",
        c->label, c->op, *j, formal_of(def->inputs, def->n_inputs, *j)->name,
        kind_name(other->kind), tn_dtype_name(other->dtype), i, formal->name,
        kind_name(type->kind), tn_dtype_name(type->dtype), var->name);
}

static tn_status check_types(const struct check *c) {
    const struct tn_node *node = &c->node->view;
    uint32_t first[MAX_VARS];
    memset(first, 0xff, sizeof first);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        TN_TRY(check_input_type(c, i));
        TN_TRY(check_agreement(c, i, first));
    }
    return TN_OK;
}

tn_status tn__check_outputs(
    const struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    struct check c = {.g = g, .node = tn__node_at(g, id), .diag = diag};
    c.def = c.node->def;
    if (!c.def) return TN_OK;
    const struct tn_node *node = &c.node->view;
    tn__node_label(c.node, c.label, sizeof c.label);
    tn__node_op_label(c.node, c.op, sizeof c.op);
    tn_status status = TN_OK;
    for (uint32_t o = 0; o < node->n_outputs && status == TN_OK; o++) {
        if (node->outputs[o] != TN_NO_ID) status = check_output_type(&c, o);
    }
    return status == TN_OK ? TN_OK : tn__node_context(diag, c.node, status);
}

tn_status tn__check_node(const struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    struct check c = {.g = g, .node = tn__node_at(g, id), .diag = diag};
    c.def = c.node->def;
    if (!c.def) return TN_OK;
    const struct tn_node *node = &c.node->view;
    tn__node_label(c.node, c.label, sizeof c.label);
    tn__node_op_label(c.node, c.op, sizeof c.op);
    tn_status status = check_arity(
        &c, "input", c.def->inputs, c.def->n_inputs, node->inputs, node->n_inputs, true);
    if (status == TN_OK)
        status = check_arity(&c, "output", c.def->outputs, c.def->n_outputs,
            node->outputs, node->n_outputs, false);
    if (status == TN_OK) status = check_attrs(&c);
    if (status == TN_OK) status = check_types(&c);
    return status == TN_OK ? TN_OK : tn__node_context(diag, c.node, status);
}
