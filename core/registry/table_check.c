/* Judging a plugin's tables before anything of them is used: sizes, flags, names, order,
 * and that kernels name what the schema has. Rows of a plugin that was built against an
 * older header are copied to full length, so that readers need not ask for sizes. */
#include "core/registry/registry_impl.h"

#include <string.h>

enum { MAX_STRUCT = 4096, MAX_ROWS = 4096 };

/* What is being checked, for messages. */
struct subject {
    const char *who;  /* plugin */
    const char *kind; /* "operator" */
    const char *name; /* "Type" once known */
    struct tn_diag *diag;
};

static tn_status refuse(const struct subject *s, const char *what) {
    return tn_fail(s->diag, TN_PLUGIN, "plugin '%s': %s '%.100s' %s", s->who, s->kind,
        s->name ? s->name : "?", what);
}

/* Size and flags of a growable row: *row becomes a copy of full length when its builder
 * knew fewer fields. */
static tn_status check_head(struct tn_arena *arena, const void **row, uint64_t least,
    uint64_t full, uint32_t known_flags, const struct subject *s) {
    if (!*row)
        return tn_fail(s->diag, TN_PLUGIN, "plugin '%s': a row of its %s table is NULL",
            s->who, s->kind);
    struct {
        uint32_t size, flags;
    } head;
    memcpy(&head, *row, sizeof head);
    if (head.size < least || head.size > MAX_STRUCT)
        return tn_fail(s->diag, TN_PLUGIN,
            "plugin '%s': a row of its %s table has %u bytes, expected %u (at least %u)",
            s->who, s->kind, head.size, (uint32_t)full, (uint32_t)least);
    if (head.flags & TN_CRITICAL_FLAGS & ~known_flags)
        return tn_fail(s->diag, TN_PLUGIN,
            "plugin '%s': a row of its %s table has flags 0x%x that this host does not "
            "know; update Tenon",
            s->who, s->kind, head.flags & TN_CRITICAL_FLAGS & ~known_flags);
    if (head.size < full) {
        void *copy = tn__arena_alloc(arena, full);
        if (!copy) return tn__fail_memory(s->diag, "a plugin's table", full);
        memcpy(copy, *row, head.size);
        *row = copy;
    }
    return TN_OK;
}

static bool good_name(const char *name) {
    size_t n = name ? strnlen(name, TN__NAME_MAX) : 0;
    if (n == 0 || n >= TN__NAME_MAX) return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)name[i] <= ' ' || name[i] == ',' || name[i] == '"')
            return false;
    }
    return true;
}

static bool good_domain(const char *domain) {
    return domain && (domain[0] == '\0' || good_name(domain));
}

/* ---- operators ------------------------------------------------------------------- */

static tn_status check_versions(const struct tn_op_def *def, const struct subject *s) {
    if (def->n_versions == 0 || def->n_versions > MAX_ROWS || !def->versions)
        return refuse(s, "has no versions");
    for (uint32_t i = 0; i < def->n_versions; i++) {
        const struct tn_op_version *v = &def->versions[i];
        if (v->since < 1 || (i && v->since <= def->versions[i - 1].since))
            return refuse(s, "lists versions that do not ascend from 1");
        if (v->flags & TN_CRITICAL_FLAGS & ~TN_VERSION_DEPRECATED)
            return refuse(s, "has version flags that this host does not know");
    }
    return TN_OK;
}

static bool has_type_var(const struct tn_op_def *def, const char *name) {
    for (uint32_t i = 0; i < def->n_type_vars; i++) {
        if (strcmp(def->type_vars[i].name, name) == 0) return true;
    }
    return false;
}

static tn_status check_formals(const struct tn_op_def *def,
    const struct tn_formal *formals, uint32_t n, const struct subject *s) {
    if (n > MAX_ROWS || (n && !formals)) return refuse(s, "has a broken list of formals");
    const uint32_t known =
        TN_FORMAL_OPTIONAL | TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS;
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_formal *f = &formals[i];
        if (!good_name(f->name)) return refuse(s, "has a formal without a name");
        if (f->flags & ~known) return refuse(s, "has formal flags that are not known");
        if ((f->flags & TN_FORMAL_VARIADIC) && i + 1 != n)
            return refuse(s, "has a variadic formal that is not the last");
        if (f->type_var && !has_type_var(def, f->type_var))
            return refuse(s, "has a formal whose type variable is not declared");
        if (!f->type_var && f->types == 0)
            return refuse(s, "has a formal that takes no type");
    }
    return TN_OK;
}

static tn_status check_attrs(const struct tn_op_def *def, const struct subject *s) {
    if (def->n_attrs > MAX_ROWS || (def->n_attrs && !def->attrs))
        return refuse(s, "has a broken list of attributes");
    for (uint32_t i = 0; i < def->n_attrs; i++) {
        const struct tn_attr_def *a = &def->attrs[i];
        if (!good_name(a->name)) return refuse(s, "has an attribute without a name");
        if (a->type < TN_ATTR_FLOAT || a->type > TN_ATTR_TYPE_PROTOS)
            return refuse(s, "has an attribute of unknown type");
        if (a->flags & ~TN_ATTR_REQUIRED)
            return refuse(s, "has attribute flags that are not known");
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(def->attrs[j].name, a->name) == 0)
                return refuse(s, "lists an attribute twice");
        }
    }
    return TN_OK;
}

static tn_status check_type_vars(const struct tn_op_def *def, const struct subject *s) {
    if (def->n_type_vars > MAX_ROWS || (def->n_type_vars && !def->type_vars))
        return refuse(s, "has a broken list of type variables");
    for (uint32_t i = 0; i < def->n_type_vars; i++) {
        const struct tn_type_var *v = &def->type_vars[i];
        if (!good_name(v->name)) return refuse(s, "has a type variable without a name");
        if (!(v->tensors | v->sequences | v->optionals | v->maps))
            return refuse(s, "has a type variable that takes no type");
    }
    return TN_OK;
}

tn_status tn__op_def_check(struct tn_arena *arena, const struct tn_op_def **def,
    const char *who, struct tn_diag *diag) {
    struct subject s = {who, "operator", NULL, diag};
    TN_TRY(check_head(arena, (const void **)def, TN_END_OF(struct tn_op_def, reserved),
        TN_OP_DEF_SIZE, 0, &s));
    const struct tn_op_def *d = *def;
    if (!good_name(d->op_type) || !good_domain(d->domain))
        return refuse(&s, "has no name, no domain, or names with blanks or commas");
    s.name = d->op_type;
    if (d->reserved) return refuse(&s, "has a reserved field that is not zero");
    TN_TRY(check_versions(d, &s));
    TN_TRY(check_type_vars(d, &s));
    TN_TRY(check_formals(d, d->inputs, d->n_inputs, &s));
    TN_TRY(check_formals(d, d->outputs, d->n_outputs, &s));
    return check_attrs(d, &s);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_formals(
    const struct tn_formal *a, const struct tn_formal *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!same_text(a[i].name, b[i].name) ||
            !same_text(a[i].type_var, b[i].type_var) || a[i].types != b[i].types ||
            a[i].flags != b[i].flags || a[i].min_arity != b[i].min_arity)
            return false;
    }
    return true;
}

bool tn__op_def_same(const struct tn_op_def *a, const struct tn_op_def *b) {
    if (a == b) return true;
    if (a->n_versions != b->n_versions || a->n_inputs != b->n_inputs ||
        a->n_outputs != b->n_outputs || a->n_type_vars != b->n_type_vars ||
        a->n_attrs != b->n_attrs || a->flags != b->flags)
        return false;
    for (uint32_t i = 0; i < a->n_versions; i++) {
        if (a->versions[i].since != b->versions[i].since ||
            a->versions[i].flags != b->versions[i].flags ||
            !a->versions[i].upgrade != !b->versions[i].upgrade)
            return false;
    }
    for (uint32_t i = 0; i < a->n_type_vars; i++) {
        const struct tn_type_var *x = &a->type_vars[i], *y = &b->type_vars[i];
        if (!same_text(x->name, y->name) || x->tensors != y->tensors ||
            x->sequences != y->sequences || x->optionals != y->optionals ||
            x->maps != y->maps)
            return false;
    }
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        const struct tn_attr_def *x = &a->attrs[i], *y = &b->attrs[i];
        if (!same_text(x->name, y->name) || x->type != y->type || x->flags != y->flags)
            return false;
    }
    return same_formals(a->inputs, b->inputs, a->n_inputs) &&
           same_formals(a->outputs, b->outputs, a->n_outputs);
}

/* ---- kernels --------------------------------------------------------------------- */

tn_status tn__kernel_def_check(struct tn_arena *arena, const struct tn_kernel_def **def,
    const char *who, struct tn_diag *diag) {
    struct subject s = {who, "kernel", NULL, diag};
    TN_TRY(check_head(arena, (const void **)def, TN_END_OF(struct tn_kernel_def, compute),
        TN_KERNEL_DEF_SIZE, TN_KERNEL_SERIAL, &s));
    const struct tn_kernel_def *d = *def;
    if (!good_name(d->op_type) || !good_domain(d->domain) || !good_name(d->provider))
        return refuse(&s, "has no operator, domain or provider name");
    s.name = d->op_type;
    if (d->reserved) return refuse(&s, "has a reserved field that is not zero");
    if (d->since < 1) return refuse(&s, "does not say for which version it was written");
    if (!d->compute) return refuse(&s, "has no compute function");
    if (d->n_types > MAX_ROWS || (d->n_types && !d->types) || d->n_inplace > MAX_ROWS ||
        (d->n_inplace && !d->inplace))
        return refuse(&s, "has a broken list of types or in-place pairs");
    for (uint32_t i = 0; i < d->n_types; i++) {
        if (!good_name(d->types[i].name))
            return refuse(&s, "has a type constraint without a name");
    }
    return TN_OK;
}

static bool has_formal(const struct tn_formal *formals, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(formals[i].name, name) == 0) return true;
    }
    return false;
}

/* Whether a formal index can stand in an in-place pair. */
static bool in_range(const struct tn_formal *formals, uint32_t n, uint32_t i) {
    return i < n || (n && (formals[n - 1].flags & TN_FORMAL_VARIADIC));
}

tn_status tn__kernel_fits_schema(const struct tn_kernel_def *kernel,
    const struct tn_op_def *op, const char *who, struct tn_diag *diag) {
    struct subject s = {who, "kernel", kernel->op_type, diag};
    for (uint32_t i = 0; i < kernel->n_types; i++) {
        const char *name = kernel->types[i].name;
        if (!has_type_var(op, name) && !has_formal(op->inputs, op->n_inputs, name) &&
            !has_formal(op->outputs, op->n_outputs, name))
            return tn_fail(diag, TN_PLUGIN,
                "plugin '%s': kernel '%.100s' constrains the types of '%s', which is "
                "neither a type variable nor an input or output of the operator",
                who, kernel->op_type, name);
    }
    for (uint32_t i = 0; i < kernel->n_inplace; i++) {
        const struct tn_inplace *pair = &kernel->inplace[i];
        if (!in_range(op->inputs, op->n_inputs, pair->input) ||
            !in_range(op->outputs, op->n_outputs, pair->output) ||
            (pair->kind != TN_INPLACE_OVERWRITE && pair->kind != TN_INPLACE_VIEW))
            return refuse(&s, "has an in-place pair that the operator does not have");
    }
    return TN_OK;
}

/* ---- providers ------------------------------------------------------------------- */

tn_status tn__provider_def_check(struct tn_arena *arena,
    const struct tn_provider_def **def, const char *who, struct tn_diag *diag) {
    struct subject s = {who, "provider", NULL, diag};
    TN_TRY(check_head(arena, (const void **)def,
        TN_END_OF(struct tn_provider_def, capability), TN_PROVIDER_DEF_SIZE,
        TN_PROVIDER_OWNING_THREAD, &s));
    const struct tn_provider_def *d = *def;
    if (!good_name(d->id)) return refuse(&s, "has no id");
    s.name = d->id;
    if (d->reserved) return refuse(&s, "has a reserved field that is not zero");
    if (!d->capability) return refuse(&s, "has no capability function");
    if (d->spaces && !(d->space_alloc && d->space_free && d->copy))
        return refuse(
            &s, "has memory spaces but not all of space_alloc, space_free, copy");
    if (!d->import_host != !d->import_release ||
        !d->stream_create != !d->stream_destroy || !d->stream_create != !d->stream_sync)
        return refuse(
            &s, "has one function of a pair (import_*, stream_*) without the other");
    return TN_OK;
}
