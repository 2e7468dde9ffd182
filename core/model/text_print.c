/* Models, functions and graphs as text: what comes out reads back to the same model. */
#include "core/model/model.h"
#include "core/model/text_locale.h"
#include "core/model/text_print_value.h"

#include <string.h>

enum { MAX_DEPTH = 128 };

static void print_graph(struct tn__printer *p, const struct tn_graph *g, uint32_t depth);

static void print_indent(struct tn__printer *p, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++)
        tn__text_puts(p->out, "  ");
}

static const char *const attr_types[] = {"undefined", "float", "int", "string", "tensor",
    "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

/* ---- attributes ----------------------------------------------------------------------- */

static void print_value(
    struct tn__printer *p, const struct tn_attr *attr, uint32_t i, uint32_t depth) {
    switch (attr->type) {
    case TN_ATTR_FLOAT:
    case TN_ATTR_FLOATS: tn__print_float(p, attr->as.floats[i]); break;
    case TN_ATTR_INT:
    case TN_ATTR_INTS:
        tn__text_printf(p->out, "%lld", (long long)attr->as.ints[i]);
        break;
    case TN_ATTR_STRING:
    case TN_ATTR_STRINGS:
        tn__print_quoted(p, attr->as.strings[i].data, attr->as.strings[i].size);
        break;
    case TN_ATTR_TENSOR:
    case TN_ATTR_TENSORS:
        tn__print_tensor_type(p, &attr->as.tensors[i]);
        tn__text_puts(p->out, " ");
        tn__print_data(p, &attr->as.tensors[i]);
        break;
    case TN_ATTR_GRAPH:
    case TN_ATTR_GRAPHS: print_graph(p, attr->as.graphs[i], depth + 1); break;
    case TN_ATTR_SPARSE_TENSOR:
    case TN_ATTR_SPARSE_TENSORS: tn__print_sparse(p, &attr->as.sparse[i]); break;
    default: tn__print_type(p, &attr->as.types[i]); break;
    }
}

static bool is_list(uint32_t type) {
    return (type >= TN_ATTR_FLOATS && type <= TN_ATTR_GRAPHS) ||
           type == TN_ATTR_SPARSE_TENSORS || type == TN_ATTR_TYPE_PROTOS;
}

/* Values whose type does not show, in which case it is stated. */
static bool needs_type(const struct tn_attr *attr) {
    return attr->ref || (is_list(attr->type) && attr->count == 0) ||
           attr->type == TN_ATTR_GRAPH || attr->type == TN_ATTR_GRAPHS ||
           attr->type >= TN_ATTR_TYPE_PROTO;
}

static void print_attr(
    struct tn__printer *p, const struct tn_attr *attr, uint32_t depth) {
    tn__print_name(p, attr->name);
    if (needs_type(attr)) tn__text_printf(p->out, ": %s", attr_types[attr->type]);
    tn__text_puts(p->out, " = ");
    if (attr->ref) {
        tn__text_puts(p->out, "@");
        tn__print_name(p, attr->ref);
        return;
    }
    bool list = is_list(attr->type);
    if (list) tn__text_puts(p->out, "[");
    for (uint32_t i = 0; i < attr->count; i++) {
        if (i) tn__text_puts(p->out, ", ");
        print_value(p, attr, i, depth);
    }
    if (list) tn__text_puts(p->out, "]");
}

/* ---- nodes ---------------------------------------------------------------------------- */

static void print_ids(
    struct tn__printer *p, const struct tn_graph *g, const tn_value_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn__text_puts(p->out, ", ");
        if (ids[i] == TN_NO_ID)
            tn__text_puts(p->out, "\"\"");
        else
            tn__print_name(p, g->values[ids[i]].name);
    }
}

static void print_domain(struct tn__printer *p, const char *domain) {
    while (*domain) {
        size_t n = strcspn(domain, ".");
        char part[256];
        snprintf(part, sizeof part, "%.*s", (int)(n < 255 ? n : 255), domain);
        tn__print_name(p, part);
        tn__text_puts(p->out, ".");
        domain += n + (domain[n] == '.');
    }
}

static void print_node(
    struct tn__printer *p, const struct tn_graph *g, tn_node_id id, uint32_t depth) {
    const struct tn__node *node = tn__node_at(g, id);
    const struct tn_node *view = &node->view;
    print_indent(p, depth + 1);
    if (view->name[0]) {
        tn__text_puts(p->out, "[");
        tn__print_name(p, view->name);
        tn__text_puts(p->out, "] ");
    }
    print_ids(p, g, view->outputs, view->n_outputs);
    tn__text_puts(p->out, view->n_outputs ? " = " : "= ");
    print_domain(p, view->domain);
    tn__print_name(p, view->op_type);
    if (node->overload[0]) {
        tn__text_puts(p->out, ":");
        tn__print_name(p, node->overload);
    }
    for (uint32_t i = 0; i < view->n_attrs; i++) {
        tn__text_puts(p->out, i ? ", " : " <");
        print_attr(p, &view->attrs[i], depth + 1);
    }
    if (view->n_attrs) tn__text_puts(p->out, ">");
    tn__text_puts(p->out, view->n_attrs ? " (" : "(");
    print_ids(p, g, view->inputs, view->n_inputs);
    tn__text_puts(p->out, ")\n");
}

/* ---- graphs --------------------------------------------------------------------------- */

static void print_info(struct tn__printer *p, const struct tn__value *value) {
    if (value->type.kind != TN_KIND_ABSENT) {
        tn__print_type(p, &value->type);
        tn__text_puts(p->out, " ");
    }
    tn__print_name(p, value->name);
}

static void print_initializer(struct tn__printer *p, const struct tn__value *value) {
    tn__print_tensor_type(p, value->constant);
    tn__text_puts(p->out, " ");
    tn__print_name(p, value->name);
    tn__text_puts(p->out, " = ");
    tn__print_data(p, value->constant);
}

static bool is_initializer(const struct tn__value *value) {
    return value->constant && !(value->flags & TN_VALUE_CAPTURE) &&
           value->producer == TN_NO_ID;
}

/* Before IR 4 an initializer is an input by the letter. */
static bool lists_as_inputs(const struct tn_graph *g) {
    return g->model->ir_version < 4;
}

static void print_inputs(struct tn__printer *p, const struct tn_graph *g) {
    const char *separator = "";
    tn__text_puts(p->out, "(");
    for (uint32_t i = 0; i < g->n_inputs; i++, separator = ", ") {
        tn__text_puts(p->out, separator);
        print_info(p, &g->values[g->inputs[i]]);
    }
    for (tn_value_id v = 0; v < g->n_values && lists_as_inputs(g); v++) {
        if (!is_initializer(&g->values[v])) continue;
        tn__text_puts(p->out, separator);
        print_initializer(p, &g->values[v]);
        separator = ", ";
    }
    tn__text_puts(p->out, ") => (");
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (i) tn__text_puts(p->out, ", ");
        print_info(p, &g->values[g->outputs[i]]);
    }
    tn__text_puts(p->out, ")");
}

/* Initializers, then the types of values in between, one a line. */
static void print_values(
    struct tn__printer *p, const struct tn_graph *g, uint32_t depth) {
    const char *separator = "\n";
    bool any = false;
    for (int pass = 0; pass < 2; pass++) {
        for (tn_value_id v = 0; v < g->n_values; v++) {
            const struct tn__value *value = &g->values[v];
            bool constant = is_initializer(value) && !lists_as_inputs(g);
            bool typed =
                value->type.kind != TN_KIND_ABSENT && !is_initializer(value) &&
                !(value->flags & (TN_VALUE_INPUT | TN_VALUE_OUTPUT | TN_VALUE_CAPTURE)) &&
                value->producer != TN_NO_ID;
            if (pass == 0 ? !constant : !typed) continue;
            tn__text_puts(p->out, any ? "," : " <");
            tn__text_puts(p->out, separator);
            print_indent(p, depth + 1);
            if (pass == 0)
                print_initializer(p, value);
            else
                print_info(p, value);
            any = true;
        }
    }
    if (any) tn__text_puts(p->out, ">");
}

static void print_body(struct tn__printer *p, const struct tn_graph *g, uint32_t depth) {
    uint32_t n;
    const tn_node_id *order = tn__graph_order(g, &n);
    print_inputs(p, g);
    print_values(p, g, depth);
    tn__text_puts(p->out, " {\n");
    for (uint32_t i = 0; i < n; i++)
        print_node(p, g, order[i], depth);
    print_indent(p, depth);
    tn__text_puts(p->out, "}");
}

static void print_graph(struct tn__printer *p, const struct tn_graph *g, uint32_t depth) {
    if (depth > MAX_DEPTH) return; /* loading admits far less */
    tn__print_name(p, g->name);
    tn__text_puts(p->out, " ");
    print_body(p, g, depth);
}

/* ---- models --------------------------------------------------------------------------- */

static void print_opsets(
    struct tn__printer *p, const struct tn__opset *opsets, uint32_t n) {
    tn__text_puts(p->out, "opset_import: [");
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn__text_puts(p->out, ", ");
        tn__print_quoted(p, opsets[i].domain, strlen(opsets[i].domain));
        tn__text_printf(p->out, " : %lld", (long long)opsets[i].version);
    }
    tn__text_puts(p->out, "]");
}

static void print_property(struct tn__printer *p, const char *name, const char *value) {
    if (!value[0]) return;
    tn__text_printf(p->out, ",\n  %s: ", name);
    tn__print_quoted(p, value, strlen(value));
}

static void print_metadata(struct tn__printer *p, const struct tn__model *model) {
    for (uint32_t i = 0; i < model->n_metadata; i++) {
        const struct tn__pair *pair = &model->metadata[i];
        tn__text_puts(p->out, i ? ", " : ",\n  metadata_props: [");
        tn__print_quoted(p, pair->key, strlen(pair->key));
        tn__text_puts(p->out, " : ");
        tn__print_quoted(p, pair->value, strlen(pair->value));
    }
    if (model->n_metadata) tn__text_puts(p->out, "]");
}

static void print_function(struct tn__printer *p, const struct tn__function *f) {
    tn__text_puts(p->out, "\n<\n  ");
    print_opsets(p, f->body->opsets, f->body->n_opsets);
    print_property(p, "domain", f->domain);
    print_property(p, "overload", f->overload);
    tn__text_puts(p->out, "\n>\n");
    tn__print_name(p, f->name);
    const char *separator = " <";
    for (uint32_t i = 0; i < f->n_attrs; i++, separator = ", ") {
        tn__text_puts(p->out, separator);
        tn__print_name(p, f->attrs[i]);
    }
    for (uint32_t i = 0; i < f->n_attr_defaults; i++, separator = ", ") {
        tn__text_puts(p->out, separator);
        print_attr(p, &f->attr_defaults[i], 0);
    }
    tn__text_puts(p->out, separator[0] == ',' ? "> " : " ");
    print_body(p, f->body, 0);
    tn__text_puts(p->out, "\n");
}

void tn__text_print_graph(
    const struct tn_graph *g, uint64_t max_elements, struct tn_text *out) {
    struct tn__printer p = {out, g->model->symbols, max_elements};
    struct tn__plain_numbers numbers = {0};
    out->failed |= !tn__plain_numbers_begin(&numbers);
    print_graph(&p, g, 0);
    tn__text_puts(out, "\n");
    tn__plain_numbers_end(&numbers);
}

void tn__text_print_model(
    const struct tn__model *model, uint64_t max_elements, struct tn_text *out) {
    struct tn__printer p = {out, model->symbols, max_elements};
    struct tn__plain_numbers numbers = {0};
    out->failed |= !tn__plain_numbers_begin(&numbers);
    tn__text_printf(out, "<\n  ir_version: %lld", (long long)model->ir_version);
    if (model->ir_version >= 3) {
        tn__text_puts(out, ",\n  ");
        print_opsets(&p, model->opsets, model->n_opsets);
    }
    print_property(&p, "producer_name", model->producer_name);
    print_property(&p, "producer_version", model->producer_version);
    print_property(&p, "domain", model->domain);
    if (model->model_version)
        tn__text_printf(out, ",\n  model_version: %lld", (long long)model->model_version);
    print_property(&p, "doc_string", model->doc);
    print_metadata(&p, model);
    tn__text_puts(out, "\n>\n");
    print_graph(&p, model->graph, 0);
    tn__text_puts(out, "\n");
    for (uint32_t i = 0; i < model->n_functions; i++)
        print_function(&p, &model->functions[i]);
    tn__plain_numbers_end(&numbers);
}
