/* Damage on the message tree: see mutate.h. */
#include "mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 256 };

/* ---- memory --------------------------------------------------------------------------- */

static void *take(void *arg, size_t size) {
    struct mutate_memory *memory = arg;
    size_t at = (memory->used + 15) & ~(size_t)15;
    if (at > memory->size || size > memory->size - at) abort();
    memory->used = at + size;
    return memset(memory->data + at, 0, size);
}

static void leave(void *arg, void *data) {
    (void)arg;
    (void)data;
}

ProtobufCAllocator mutate_allocator(struct mutate_memory *memory) {
    return (ProtobufCAllocator){take, leave, memory};
}

/* A copy of an array with room for one more item. */
static void *grown(
    struct mutate_memory *memory, const void *items, size_t n, size_t size) {
    void *copy = take(memory, (n + 1) * size);
    if (n) memcpy(copy, items, n * size);
    return copy;
}

/* ---- numbers -------------------------------------------------------------------------- */

int64_t mutate_number(struct chance *chance) {
    static const int64_t numbers[] = {0, 1, -1, 2, -2, 3, -3, 7, 63, 64, 65, 127, 128,
        255, 1000, -1000, 65536, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1,
        INT64_C(1) << 32, INT64_C(1) << 40, INT64_C(1) << 50, INT64_C(1) << 62, INT64_MAX,
        INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 33)};
    return numbers[chance_below(chance, sizeof numbers / sizeof numbers[0])];
}

static float odd_float(struct chance *chance) {
    const float numbers[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e-45f, 3e38f, -3e38f,
        INFINITY, -INFINITY, NAN, 1e20f, 2147483648.0f, 1e-8f};
    return numbers[chance_below(chance, sizeof numbers / sizeof numbers[0])];
}

/* ---- nodes ---------------------------------------------------------------------------- */

struct nodes {
    Onnx__NodeProto *items[MOST_NODES];
    Onnx__GraphProto *graphs[MOST_NODES];
    size_t n, n_graphs;
};

static void list_nodes(struct nodes *out, Onnx__GraphProto *graph, unsigned depth) {
    if (!graph || depth > 8 || out->n_graphs == MOST_NODES) return;
    out->graphs[out->n_graphs++] = graph;
    for (size_t i = 0; i < graph->n_node && out->n < MOST_NODES; i++) {
        Onnx__NodeProto *node = graph->node[i];
        out->items[out->n++] = node;
        for (size_t a = 0; a < node->n_attribute; a++)
            list_nodes(out, node->attribute[a]->g, depth + 1);
    }
}

static void break_ints(
    Onnx__AttributeProto *attr, struct chance *chance, struct mutate_memory *memory) {
    size_t at = (size_t)chance_below(chance, attr->n_ints);
    switch (chance_below(chance, 5)) {
    case 0: attr->n_ints = at; break;
    case 1:
        attr->ints = grown(memory, attr->ints, attr->n_ints, sizeof *attr->ints);
        attr->ints[attr->n_ints++] = mutate_number(chance);
        break;
    case 2:
        for (size_t i = 0; i < attr->n_ints; i++)
            attr->ints[i] = mutate_number(chance);
        break;
    default: attr->ints[at] = mutate_number(chance); break;
    }
}

static void break_tensor(
    Onnx__TensorProto *t, struct chance *chance, struct mutate_memory *memory) {
    switch (chance_below(chance, 6)) {
    case 0: t->data_type = (int32_t)chance_below(chance, 28); break;
    case 1:
        if (t->n_dims) t->dims[chance_below(chance, t->n_dims)] = mutate_number(chance);
        break;
    case 2:
        t->dims = grown(memory, t->dims, t->n_dims, sizeof *t->dims);
        t->dims[t->n_dims++] = 1;
        break;
    case 3: t->n_dims -= t->n_dims > 0; break;
    default: /* another value, the same size */
        if (t->n_int64_data) {
            t->int64_data[chance_below(chance, t->n_int64_data)] = mutate_number(chance);
        } else if (t->n_int32_data) {
            t->int32_data[chance_below(chance, t->n_int32_data)] =
                (int32_t)mutate_number(chance);
        } else if (t->n_float_data) {
            t->float_data[chance_below(chance, t->n_float_data)] = odd_float(chance);
        } else if (t->raw_data.len >= 8) {
            int64_t number = mutate_number(chance);
            size_t at = (size_t)chance_below(chance, t->raw_data.len / 8) * 8;
            memcpy(t->raw_data.data + at, &number, sizeof number);
        }
    }
}

static void break_text(
    ProtobufCBinaryData *text, struct chance *chance, struct mutate_memory *memory) {
    static const char *const texts[] = {"", "SAME_UPPER", "VALID", "linear", "cubic",
        "wrap", "bilinear", "reflect", "\xff\xfe", "sum", "mean", "none", "bi", "DCR",
        "...ij->", "ij,jk", "reverse", "a->a", "->", "align_corners",
        "tf_crop_and_resize", "border"};
    const char *chosen = texts[chance_below(chance, sizeof texts / sizeof texts[0])];
    text->len = strlen(chosen);
    text->data = memcpy(take(memory, text->len + 1), chosen, text->len);
}

static void break_attribute(
    Onnx__NodeProto *node, struct chance *chance, struct mutate_memory *memory) {
    if (!node->n_attribute) return;
    size_t at = (size_t)chance_below(chance, node->n_attribute);
    Onnx__AttributeProto *attr = node->attribute[at];
    if (chance_below(chance, 10) == 0) {
        node->attribute[at] = node->attribute[--node->n_attribute];
    } else if (chance_below(chance, 20) == 0) {
        attr->type = (int32_t)chance_below(chance, 16);
    } else if (attr->n_ints) {
        break_ints(attr, chance, memory);
    } else if (attr->t) {
        break_tensor(attr->t, chance, memory);
    } else if (attr->has_s) {
        break_text(&attr->s, chance, memory);
    } else if (attr->n_strings) {
        break_text(&attr->strings[chance_below(chance, attr->n_strings)], chance, memory);
    } else if (attr->n_floats) {
        attr->floats[chance_below(chance, attr->n_floats)] = odd_float(chance);
        if (chance_below(chance, 3) == 0) attr->n_floats--;
    } else if (attr->has_f) {
        attr->f = odd_float(chance);
    } else if (attr->has_i) {
        attr->i = mutate_number(chance);
    }
}

/* An attribute that the exporter left to its default, by the names in common use. */
static void add_attribute(
    Onnx__NodeProto *node, struct chance *chance, struct mutate_memory *memory) {
    static const char *const names[] = {"axis", "axes", "group", "strides", "dilations",
        "pads", "kernel_shape", "output_padding", "output_shape", "keepdims", "to",
        "epsilon", "batch_dims", "num_outputs", "size", "k", "largest", "mode",
        "auto_pad", "block_size", "blocksize", "start", "end", "split", "shape", "perm",
        "hidden_size", "direction", "ceil_mode", "count_include_pad", "storage_order",
        "exclusive", "reverse", "upper", "seed", "dtype", "noop_with_empty_axes",
        "allowzero", "transA", "transB", "num_groups", "antialias", "saturate",
        "q_num_heads", "kv_num_heads", "is_causal", "block_size", "layout",
        "select_last_index", "stash_type", "p", "norm_size", "equation", "sorted",
        "max_gram_length", "new_axis", "onesided", "center_point_box", "scan_input_axes",
        "scan_input_directions", "num_scan_inputs", "value_int", "value_ints", "fmod"};
    Onnx__AttributeProto *attr = take(memory, sizeof *attr);
    onnx__attribute_proto__init(attr);
    attr->name =
        (char *)(uintptr_t)names[chance_below(chance, sizeof names / sizeof *names)];
    attr->has_type = 1;
    if (chance_below(chance, 2)) {
        attr->type = 2;
        attr->has_i = 1;
        attr->i = mutate_number(chance);
    } else {
        attr->type = 7;
        attr->n_ints = (size_t)chance_below(chance, 5);
        attr->ints = take(memory, 5 * sizeof *attr->ints);
        for (size_t i = 0; i < attr->n_ints; i++)
            attr->ints[i] = mutate_number(chance);
    }
    node->attribute =
        grown(memory, node->attribute, node->n_attribute, sizeof *node->attribute);
    node->attribute[node->n_attribute++] = attr;
}

static void break_names(char ***names, size_t *n, struct nodes *nodes,
    struct chance *chance, struct mutate_memory *memory) {
    static char nothing[1];
    size_t a = (size_t)chance_below(chance, *n), b = (size_t)chance_below(chance, *n);
    Onnx__NodeProto *other = nodes->items[chance_below(chance, nodes->n)];
    Onnx__GraphProto *graph = nodes->graphs[0];
    switch (chance_below(chance, 7)) {
    case 0:
    case 1:
        if (*n) {
            char *swap = (*names)[a];
            (*names)[a] = (*names)[b];
            (*names)[b] = swap;
        }
        break;
    case 2:
        if (*n) (*names)[a] = nothing;
        break;
    case 3: *n -= *n > 0; break;
    case 4:
        if (*n) (*names)[a] = (*names)[b];
        break;
    case 5:
        *names = grown(memory, *names, *n, sizeof **names);
        (*names)[(*n)++] = other->n_output
                               ? other->output[chance_below(chance, other->n_output)]
                               : nothing;
        break;
    default: /* a graph input in another place */
        if (*n && graph->n_input)
            (*names)[a] = graph->input[chance_below(chance, graph->n_input)]->name;
    }
}

/* ---- graphs --------------------------------------------------------------------------- */

static void break_type(
    Onnx__TypeProto *type, struct chance *chance, struct mutate_memory *memory) {
    if (!type) return;
    Onnx__TypeProto__Tensor *tensor = type->tensor_type;
    if (!tensor) {
        if (type->sequence_type)
            break_type(type->sequence_type->elem_type, chance, memory);
        if (type->optional_type)
            break_type(type->optional_type->elem_type, chance, memory);
        return;
    }
    Onnx__TensorShapeProto *shape = tensor->shape;
    size_t at = shape ? (size_t)chance_below(chance, shape->n_dim) : 0;
    switch (chance_below(chance, 6)) {
    case 0: tensor->elem_type = (int32_t)chance_below(chance, 28); break;
    case 1: tensor->shape = NULL; break;
    case 2:
        if (shape) shape->n_dim -= shape->n_dim > 0;
        break;
    case 3:
        if (!shape) break;
        shape->dim = grown(memory, shape->dim, shape->n_dim, sizeof *shape->dim);
        shape->dim[shape->n_dim] = take(memory, sizeof **shape->dim);
        onnx__tensor_shape_proto__dimension__init(shape->dim[shape->n_dim++]);
        break;
    case 4:
        if (!shape || !shape->n_dim) break;
        shape->dim[at]->has_dim_value = 0;
        shape->dim[at]->dim_param = (char *)(uintptr_t) "N";
        break;
    default:
        if (!shape || !shape->n_dim) break;
        shape->dim[at]->has_dim_value = 1;
        shape->dim[at]->dim_value = mutate_number(chance);
    }
}

static void break_graph(
    Onnx__GraphProto *graph, struct chance *chance, struct mutate_memory *memory) {
    uint64_t what = chance_below(chance, 4);
    if (what == 0 && graph->n_initializer)
        break_tensor(graph->initializer[chance_below(chance, graph->n_initializer)],
            chance, memory);
    else if (what == 1 && graph->n_output)
        break_type(
            graph->output[chance_below(chance, graph->n_output)]->type, chance, memory);
    else if (what == 2 && graph->n_value_info)
        break_type(graph->value_info[chance_below(chance, graph->n_value_info)]->type,
            chance, memory);
    else if (graph->n_input)
        break_type(
            graph->input[chance_below(chance, graph->n_input)]->type, chance, memory);
}

void mutate_unshape(Onnx__GraphProto *graph, size_t input) {
    Onnx__TypeProto *type = graph->input[input]->type;
    if (type && type->tensor_type) type->tensor_type->shape = NULL;
}

void mutate_freeze(Onnx__GraphProto *graph, const char *name, Onnx__TensorProto *content,
    struct mutate_memory *memory) {
    content->name = (char *)(uintptr_t)name;
    graph->initializer = grown(
        memory, graph->initializer, graph->n_initializer, sizeof *graph->initializer);
    graph->initializer[graph->n_initializer++] = content;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (strcmp(graph->input[i]->name, name) != 0)
            graph->input[kept++] = graph->input[i];
    }
    graph->n_input = kept;
}

void mutate_model(
    Onnx__ModelProto *model, struct chance *chance, struct mutate_memory *memory) {
    struct nodes nodes = {.n = 0};
    list_nodes(&nodes, model->graph, 0);
    if (!nodes.n) return;
    for (uint64_t i = 0, n = 1 + chance_below(chance, 4); i < n; i++) {
        Onnx__NodeProto *node = nodes.items[chance_below(chance, nodes.n)];
        switch (chance_below(chance, 12)) {
        case 0:
        case 1:
        case 2:
        case 3: break_attribute(node, chance, memory); break;
        case 4: add_attribute(node, chance, memory); break;
        case 5:
        case 6: break_names(&node->input, &node->n_input, &nodes, chance, memory); break;
        case 7:
            break_names(&node->output, &node->n_output, &nodes, chance, memory);
            break;
        case 8:
            if (chance_below(chance, 4) == 0 && model->n_opset_import)
                model->opset_import[0]->version = (int64_t)(1 + chance_below(chance, 26));
            break;
        default:
            break_graph(
                nodes.graphs[chance_below(chance, nodes.n_graphs)], chance, memory);
        }
    }
}
