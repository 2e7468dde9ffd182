/* What a probe tries: the types, the omitted inputs and the shapes of a target's nodes. */
#include "probe.h"

#include <stdarg.h>
#include <string.h>

/* Empty, scalar, awkward, square, an image, and more than one vector and one thread's share. */
static const struct probe_shape shapes[] = {
    {"scalar", 0, {0}},
    {"empty", 1, {0}},
    {"one", 1, {1}},
    {"awkward", 1, {17}},
    {"empty rows", 2, {3, 0}},
    {"square", 2, {3, 3}},
    {"rows", 2, {2, 5}},
    {"image", 4, {1, 2, 5, 5}},
    {"large", 2, {2459, 67}},
};
enum { OPSET = 25 }; /* of ai.onnx, for operators that are no newer */
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* ---- types ----------------------------------------------------------------------------- */

/* Element types that the kernel takes for a formal; 0 when it takes no tensor. */
static uint64_t types_of(
    const struct probe_target *target, const struct tn_formal *formal) {
    uint64_t types = formal->types;
    const struct tn_op_def *def = target->def;
    for (uint32_t i = 0; formal->type_var && i < def->n_type_vars; i++)
        if (strcmp(def->type_vars[i].name, formal->type_var) == 0)
            types = def->type_vars[i].tensors;
    for (uint32_t i = 0; i < target->kernel->n_types; i++) {
        const struct tn_type_constraint *limit = &target->kernel->types[i];
        if (strcmp(limit->name, formal->name) == 0 ||
            (formal->type_var && strcmp(limit->name, formal->type_var) == 0))
            types &= limit->types;
    }
    return types;
}

/* Most kernels' first type would be uint8; float says more. */
static int32_t first_type(uint64_t types) {
    if (types & TN_BIT(FLOAT)) return TN_FLOAT;
    for (int32_t t = 1; t < TN_DTYPE_COUNT; t++)
        if (types >> t & 1) return t;
    return 0;
}

static bool same_variable(const struct tn_formal *a, const struct tn_formal *b) {
    if (a == b) return true;
    return a->type_var && b->type_var && strcmp(a->type_var, b->type_var) == 0;
}

const char *probe_obstacle(const struct probe_target *target) {
    const struct tn_op_def *def = target->def;
    if (def->flags & TN_OP_PRIVATE) return "it is private to the plugin's rewrites";
    if (def->n_inputs > PROBE_MOST_INPUTS) return "it has more inputs than a probe fills";
    for (uint32_t i = 0; i < def->n_inputs; i++) {
        bool optional = def->inputs[i].flags & TN_FORMAL_OPTIONAL;
        if (!optional && types_of(target, &def->inputs[i]) == 0)
            return "an input takes no tensors";
    }
    for (uint32_t i = 0; i < def->n_attrs; i++) {
        bool graph =
            def->attrs[i].type == TN_ATTR_GRAPH || def->attrs[i].type == TN_ATTR_GRAPHS;
        if (graph && (def->attrs[i].flags & TN_ATTR_REQUIRED))
            return "it needs a subgraph";
    }
    return NULL;
}

/* ---- cases ----------------------------------------------------------------------------- */

struct walk {
    const struct probe_target *target;
    bool (*visit)(void *arg, const struct probe_case *c);
    void *arg;
    bool going;
};

/* Every input present in its first type, but the formals of `varied` in `dtype`, and without
 * formal `missing`. */
static void fill_case(const struct probe_target *target, const struct tn_formal *varied,
    int32_t dtype, uint32_t missing, struct probe_case *out) {
    const struct tn_op_def *def = target->def;
    out->n_inputs = 0;
    for (uint32_t i = 0; i < def->n_inputs; i++) {
        const struct tn_formal *formal = &def->inputs[i];
        int32_t type = varied && same_variable(formal, varied)
                           ? dtype
                           : first_type(types_of(target, formal));
        uint32_t copies = formal->flags & TN_FORMAL_VARIADIC ? 3 : 1;
        for (; copies > 0 && out->n_inputs < PROBE_MOST_INPUTS; copies--)
            out->dtypes[out->n_inputs++] = i == missing ? 0 : type;
    }
    while (out->n_inputs && out->dtypes[out->n_inputs - 1] == 0)
        out->n_inputs--;
}

static void visit_shapes(struct walk *walk, struct probe_case *c) {
    for (uint32_t s = 0; walk->going && s < N_SHAPES; s++) {
        c->shape = &shapes[s];
        walk->going = walk->visit(walk->arg, c);
    }
}

/* All inputs, then each optional one omitted, then all of them. */
static void visit_presence(
    struct walk *walk, const struct tn_formal *varied, int32_t dtype) {
    const struct tn_op_def *def = walk->target->def;
    struct probe_case c = {.target = walk->target};
    fill_case(walk->target, varied, dtype, UINT32_MAX, &c);
    visit_shapes(walk, &c);
    for (uint32_t i = 0; i < def->n_inputs; i++) {
        if (!(def->inputs[i].flags & TN_FORMAL_OPTIONAL)) continue;
        fill_case(walk->target, varied, dtype, i, &c);
        visit_shapes(walk, &c);
    }
}

void probe_cases(const struct probe_target *target,
    bool (*visit)(void *arg, const struct probe_case *c), void *arg) {
    struct walk walk = {target, visit, arg, true};
    const struct tn_op_def *def = target->def;
    if (def->n_inputs == 0) visit_presence(&walk, NULL, 0);
    for (uint32_t i = 0; i < def->n_inputs; i++) {
        const struct tn_formal *formal = &def->inputs[i];
        uint64_t types = types_of(target, formal);
        bool seen = false;
        for (uint32_t j = 0; j < i; j++)
            seen |= same_variable(formal, &def->inputs[j]);
        for (int32_t t = 1; !seen && t < TN_DTYPE_COUNT; t++)
            if (types >> t & 1) visit_presence(&walk, formal, t);
    }
}

/* ---- text ------------------------------------------------------------------------------ */

struct text {
    char *to;
    size_t size, used;
    bool fits;
};

__attribute__((format(printf, 2, 3))) static void add(
    struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->to + text->used, text->size - text->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= text->size - text->used)
        text->fits = false;
    else
        text->used += (size_t)n;
}

static void add_type(struct text *text, const struct probe_case *c, int32_t dtype) {
    add(text, "%s", tn_dtype_name(dtype));
    for (uint32_t i = 0; i < c->shape->rank; i++)
        add(text, "%s%lld", i ? "," : "[", (long long)c->shape->dims[i]);
    if (c->shape->rank) add(text, "]");
}

void probe_describe(const struct probe_case *c, char *out, size_t size) {
    struct text text = {out, size, 0, true};
    out[0] = '\0';
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        add(&text, "%s", i ? ", " : "");
        if (c->dtypes[i])
            add_type(&text, c, c->dtypes[i]);
        else
            add(&text, "-");
    }
}

/* Attributes without a default get the smallest value that says something. */
static void add_attributes(struct text *text, const struct tn_op_def *def) {
    static const char *const values[] = {[TN_ATTR_FLOAT] = "1.0",
        [TN_ATTR_INT] = "1",
        [TN_ATTR_STRING] = "\"a\"",
        [TN_ATTR_FLOATS] = "[1.0]",
        [TN_ATTR_INTS] = "[1]",
        [TN_ATTR_STRINGS] = "[\"a\"]"};
    const char *mark = " <";
    for (uint32_t i = 0; i < def->n_attrs; i++) {
        const struct tn_attr_def *attr = &def->attrs[i];
        if (!(attr->flags & TN_ATTR_REQUIRED)) continue;
        if (attr->type >= sizeof values / sizeof *values || !values[attr->type]) continue;
        add(text, "%s%s = %s", mark, attr->name, values[attr->type]);
        mark = ", ";
    }
    if (mark[0] == ',') add(text, ">");
}

static void add_node(struct text *text, const struct probe_case *c, bool over) {
    const struct tn_op_def *def = c->target->def;
    for (uint32_t o = 0; o < def->n_outputs; o++)
        add(text, "%sy%u", o ? ", " : "", o);
    add(text, " = %s%s%s", def->domain, def->domain[0] ? "." : "", def->op_type);
    add_attributes(text, def);
    add(text, " (");
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        add(text, "%s", i ? ", " : "");
        if (c->dtypes[i]) add(text, "%s%u", over ? "t" : "x", i);
    }
    add(text, ")\n");
}

bool probe_model(const struct probe_case *c, bool over, char *out, size_t size) {
    const struct tn_op_def *def = c->target->def;
    struct text text = {out, size, 0, true};
    const char *mark = "";
    int32_t newest = def->versions[def->n_versions - 1].since;
    add(&text, "<ir_version: 10, opset_import: [\"\" : %d",
        !def->domain[0] && newest > OPSET ? newest : OPSET);
    if (def->domain[0]) add(&text, ", \"%s\" : %d", def->domain, newest);
    add(&text, "]>\ng (");
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        if (!c->dtypes[i]) continue;
        add(&text, "%s", mark);
        add_type(&text, c, c->dtypes[i]);
        add(&text, " x%u", i);
        mark = ", ";
    }
    if (over) add(&text, "%sbool which", mark);
    add(&text, ") => (");
    for (uint32_t o = 0; o < def->n_outputs; o++)
        add(&text, "%sy%u", o ? ", " : "", o);
    add(&text, ") {\n");
    for (uint32_t i = 0; over && i < c->n_inputs; i++)
        if (c->dtypes[i]) add(&text, "t%u = Where (which, x%u, x%u)\n", i, i, i);
    add_node(&text, c, over);
    add(&text, "}\n");
    return text.fits;
}
