/* Nodes and graphs in the text format:
 *   g (float[N,4] x, float[4] w = {1, 2, 3, 4}) => (float[N] y)
 *   <float[2] c = {0, 1}, float[N] t> { [label] t = domain.Op:overload <a = 1> (x, w) … } */
#include "core/model/text_parser.h"

#include <string.h>

/* Names up to something else; an empty place between commas is an omitted name. */
static tn_status parse_names(struct tn__parser *p, char end, char ***out, size_t *n) {
    bool more = !tn__parser_at(p, end);
    while (more) {
        char *name;
        TN_TRY(tn__parser_name(p, true, &name));
        TN_TRY(tn__parser_grow(p, out, *n, sizeof **out));
        (*out)[(*n)++] = name;
        TN_TRY(tn__parser_accept(p, ',', &more));
    }
    return tn__parser_expect(p, end);
}

/* domain.sub.Op: what precedes the last point is the domain. */
static tn_status parse_operator(struct tn__parser *p, Onnx__NodeProto *node) {
    bool more;
    TN_TRY(tn__parser_name(p, false, &node->op_type));
    TN_TRY(tn__parser_accept(p, '.', &more));
    while (more) {
        node->domain = node->domain ? tn__arena_format(
                                          p->arena, "%s.%s", node->domain, node->op_type)
                                    : node->op_type;
        if (!node->domain) return tn__fail_memory(p->lexer.diag, "a domain", 0);
        TN_TRY(tn__parser_name(p, false, &node->op_type));
        TN_TRY(tn__parser_accept(p, '.', &more));
    }
    TN_TRY(tn__parser_accept(p, ':', &more));
    return more ? tn__parser_name(p, false, &node->overload) : TN_OK;
}

static tn_status parse_node(struct tn__parser *p, Onnx__NodeProto **out) {
    Onnx__NodeProto *node = NULL;
    bool labelled;
    TN_TRY(tn__parser_message(p, &onnx__node_proto__descriptor, &node));
    *out = node;
    TN_TRY(tn__parser_accept(p, '[', &labelled));
    if (labelled) {
        TN_TRY(tn__parser_name(p, false, &node->name));
        TN_TRY(tn__parser_expect(p, ']'));
    }
    TN_TRY(parse_names(p, '=', &node->output, &node->n_output));
    TN_TRY(parse_operator(p, node));
    for (unsigned place = 0; place < 2; place++) {
        if (tn__parser_at(p, '<'))
            TN_TRY(tn__parse_attrs(p, &node->attribute, &node->n_attribute, NULL, NULL));
        if (place) break;
        TN_TRY(tn__parser_expect(p, '('));
        TN_TRY(parse_names(p, ')', &node->input, &node->n_input));
    }
    return TN_OK;
}

tn_status tn__parse_nodes(struct tn__parser *p, Onnx__NodeProto ***list, size_t *n) {
    bool end;
    TN_TRY(tn__parser_expect(p, '{'));
    TN_TRY(tn__parser_accept(p, '}', &end));
    while (!end) {
        bool mark;
        TN_TRY(tn__parser_grow(p, list, *n, sizeof **list));
        TN_TRY(parse_node(p, &(*list)[*n]));
        ++*n;
        do { /* nodes may be separated */
            TN_TRY(tn__parser_accept(p, ';', &mark));
        } while (mark);
        TN_TRY(tn__parser_accept(p, '}', &end));
    }
    return TN_OK;
}

/* "type? name" with "= data" where it is an initializer. */
static tn_status parse_info(
    struct tn__parser *p, Onnx__ValueInfoProto *info, Onnx__GraphProto *graph) {
    bool data;
    if (tn__parser_at_type(p)) TN_TRY(tn__parse_type(p, &info->type));
    TN_TRY(tn__parser_name(p, false, &info->name));
    TN_TRY(tn__parser_accept(p, '=', &data));
    if (!data && !tn__parser_at(p, '{')) return TN_OK;
    if (!info->type) return tn__lexer_fail(&p->lexer, "a type in front of data");
    if (info->type->sparse_tensor_type) {
        TN_TRY(tn__parser_grow(p, &graph->sparse_initializer, graph->n_sparse_initializer,
            sizeof *graph->sparse_initializer));
        Onnx__SparseTensorProto *sparse = NULL;
        TN_TRY(tn__parse_sparse(p, info->type, &sparse));
        sparse->values->name = info->name;
        graph->sparse_initializer[graph->n_sparse_initializer++] = sparse;
        return TN_OK;
    }
    TN_TRY(tn__parser_grow(
        p, &graph->initializer, graph->n_initializer, sizeof *graph->initializer));
    TN_TRY(tn__parse_tensor(
        p, info->type, info->name, &graph->initializer[graph->n_initializer]));
    graph->n_initializer++;
    return TN_OK;
}

/* Infos between two marks. Those with data go to the graph's initializers; they stay in
 * the list too when `keep` (an input with a default). */
static tn_status parse_infos(struct tn__parser *p, char open, char close, bool keep,
    Onnx__GraphProto *graph, Onnx__ValueInfoProto ***list, size_t *n) {
    bool more;
    TN_TRY(tn__parser_open(p, open, close, &more));
    while (more) {
        Onnx__ValueInfoProto *info = NULL;
        size_t before = graph->n_initializer + graph->n_sparse_initializer;
        TN_TRY(tn__parser_message(p, &onnx__value_info_proto__descriptor, &info));
        TN_TRY(parse_info(p, info, graph));
        if (keep || graph->n_initializer + graph->n_sparse_initializer == before) {
            TN_TRY(tn__parser_grow(p, list, *n, sizeof **list));
            (*list)[(*n)++] = info;
        }
        TN_TRY(tn__parser_more(p, close, &more));
    }
    return TN_OK;
}

tn_status tn__parse_graph(struct tn__parser *p, Onnx__GraphProto **out) {
    Onnx__GraphProto *graph = NULL;
    TN_TRY(tn__parser_deeper(p));
    TN_TRY(tn__parser_message(p, &onnx__graph_proto__descriptor, &graph));
    *out = graph;
    TN_TRY(tn__parser_name(p, false, &graph->name));
    TN_TRY(parse_infos(p, '(', ')', true, graph, &graph->input, &graph->n_input));
    if (p->lexer.token.kind != TN_TOKEN_ARROW) return tn__lexer_fail(&p->lexer, "'=>'");
    TN_TRY(tn__lexer_next(&p->lexer));
    TN_TRY(parse_infos(p, '(', ')', true, graph, &graph->output, &graph->n_output));
    if (tn__parser_at(p, '<'))
        TN_TRY(parse_infos(
            p, '<', '>', false, graph, &graph->value_info, &graph->n_value_info));
    TN_TRY(tn__parse_nodes(p, &graph->node, &graph->n_node));
    p->depth--;
    return TN_OK;
}

/* ---- functions ------------------------------------------------------------------------ */

/* Formals: their types, where given, are values of the body. */
static tn_status parse_formals(
    struct tn__parser *p, Onnx__GraphProto *scratch, char ***names, size_t *n) {
    size_t first = scratch->n_value_info;
    TN_TRY(parse_infos(
        p, '(', ')', true, scratch, &scratch->value_info, &scratch->n_value_info));
    for (size_t i = first; i < scratch->n_value_info; i++) {
        TN_TRY(tn__parser_grow(p, names, *n, sizeof **names));
        (*names)[(*n)++] = scratch->value_info[i]->name;
    }
    return TN_OK;
}

tn_status tn__parse_function_body(struct tn__parser *p, Onnx__FunctionProto *f) {
    Onnx__GraphProto *scratch = NULL;
    TN_TRY(tn__parser_message(p, &onnx__graph_proto__descriptor, &scratch));
    TN_TRY(tn__parser_name(p, false, &f->name));
    if (tn__parser_at(p, '<'))
        TN_TRY(tn__parse_attrs(p, &f->attribute_proto, &f->n_attribute_proto,
            &f->attribute, &f->n_attribute));
    TN_TRY(parse_formals(p, scratch, &f->input, &f->n_input));
    if (p->lexer.token.kind != TN_TOKEN_ARROW) return tn__lexer_fail(&p->lexer, "'=>'");
    TN_TRY(tn__lexer_next(&p->lexer));
    TN_TRY(parse_formals(p, scratch, &f->output, &f->n_output));
    if (tn__parser_at(p, '<'))
        TN_TRY(parse_infos(
            p, '<', '>', false, scratch, &scratch->value_info, &scratch->n_value_info));
    if (scratch->n_initializer || scratch->n_sparse_initializer)
        return tn__lexer_fail(&p->lexer, "a function without initializers");
    f->value_info = scratch->value_info;
    f->n_value_info = scratch->n_value_info;
    return tn__parse_nodes(p, &f->node, &f->n_node);
}
