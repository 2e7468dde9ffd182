/* What nodes cost on the processor, roughly, from their shapes alone: enough to tell heavy
 * nodes from light ones, and a node from a transfer. A size that is not known counts as 1. */
#include "tenon/provider.h"

#include "cpu.h"

#include <string.h>

static double count_of(const struct tn_type *type) {
    double n = 1;
    for (int32_t i = 0; i < type->rank; i++)
        n *= type->dims[i] > 0 ? (double)type->dims[i] : type->dims[i] == 0 ? 0 : 1;
    return n;
}

static double dim_of(const struct tn_type *type, int32_t from_end) {
    if (type->rank < from_end) return 1;
    int64_t dim = type->dims[type->rank - from_end];
    return dim > 0 ? (double)dim : 1;
}

/* One node, with the types of its first two inputs and its first output. */
struct shapes {
    const struct tn_type *a, *b, *y;
};

static double product_of_rows(const struct shapes *s) {
    return 2 * count_of(s->y) * dim_of(s->a, 1);
}

static double product_transposed(const struct shapes *s) {
    double k = count_of(s->a) / dim_of(s->y, 2);
    return 2 * count_of(s->y) * (k > 0 ? k : 1);
}

static double convolution(const struct shapes *s) {
    double filters = s->b->rank > 0 && s->b->dims[0] > 0 ? (double)s->b->dims[0] : 1;
    return 2 * count_of(s->y) * count_of(s->b) / filters;
}

static double transposed_convolution(const struct shapes *s) {
    double channels = s->b->rank > 0 && s->b->dims[0] > 0 ? (double)s->b->dims[0] : 1;
    return 2 * count_of(s->a) * count_of(s->b) / channels;
}

/* Operators whose work is more than touching their elements. */
static const struct row {
    const char *op_type;
    double (*flops)(const struct shapes *shapes);
} rows[] = {{"MatMul", product_of_rows}, {"Gemm", product_transposed},
    {"MatMulInteger", product_of_rows}, {"QLinearMatMul", product_of_rows},
    {"Conv", convolution}, {"ConvInteger", convolution}, {"QLinearConv", convolution},
    {"ConvTranspose", transposed_convolution}};

static double node_ns(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_node *node) {
    /* of one thread of an ordinary machine */
    const double flops_a_ns = 40, bytes_a_ns = 8, call_ns = 100;
    double bytes = 0, flops = 0;
    struct shapes s = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        const struct tn_type *type = api->value_type(graph, node->inputs[i]);
        bytes += count_of(type) * tn_dtype_bits(type->dtype) / 8;
        if (i == 0) s.a = type;
        if (i == 1) s.b = type;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == TN_NO_ID) continue;
        const struct tn_type *type = api->value_type(graph, node->outputs[i]);
        bytes += count_of(type) * tn_dtype_bits(type->dtype) / 8;
        if (i == 0) s.y = type;
    }
    for (unsigned i = 0; i < sizeof rows / sizeof *rows && s.a && s.b && s.y; i++) {
        if (strcmp(rows[i].op_type, node->op_type) == 0) flops = rows[i].flops(&s);
    }
    return call_ns + bytes / bytes_a_ns + flops / flops_a_ns;
}

void tn__cpu_estimate(
    void *instance, const struct tn_group *group, struct tn_estimate *out) {
    (void)instance;
    for (uint32_t i = 0; i < group->n_nodes; i++)
        out->ns += node_ns(
            group->api, group->graph, group->api->node(group->graph, group->nodes[i]));
    out->confidence = 0.3;
}
