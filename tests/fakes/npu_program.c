#include "npu_program.h"

#include "tenon/helper/diag.h"

#include <math.h>
#include <string.h>

enum { ADD, SUB, MUL, RELU, NEG, ABS, EXP, TANH, PRODUCT };

struct row {
    const char *op_type;
    uint32_t op, n_inputs;
};

static const struct row rows[] = {{"Add", ADD, 2}, {"Sub", SUB, 2}, {"Mul", MUL, 2},
    {"Relu", RELU, 1}, {"Neg", NEG, 1}, {"Abs", ABS, 1}, {"Exp", EXP, 1},
    {"Tanh", TANH, 1}, {"MatMul", PRODUCT, 2}};

static const struct row *find_row(const struct tn_node *node) {
    if (node->domain[0] != '\0') return NULL;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].op_type, node->op_type) == 0) return &rows[i];
    }
    return NULL;
}

static uint64_t count_of(const struct tn_type *type) {
    uint64_t n = 1;
    for (int32_t i = 0; i < type->rank; i++)
        n *= type->dims[i] > 0 ? (uint64_t)type->dims[i] : 0;
    return n;
}

static int same_dims(const struct tn_type *a, const struct tn_type *b) {
    return a->rank == b->rank &&
           (a->rank <= 0 ||
               memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

uint32_t npu_judge(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_node *node, const char **out_detail) {
    const struct row *row = find_row(node);
    *out_detail = "";
    if (!row) return TN_REASON_OP_UNKNOWN;
    const struct tn_type *y = api->value_type(graph, node->outputs[0]);
    const struct tn_type *a = api->value_type(graph, node->inputs[0]);
    const struct tn_type *b =
        row->n_inputs == 2 ? api->value_type(graph, node->inputs[1]) : a;
    int is_float = y->dtype == TN_FLOAT;
    if (!is_float && y->dtype != TN_INT8 && y->dtype != TN_INT32) {
        *out_detail = "only float, int8 and int32";
        return TN_REASON_DTYPE;
    }
    if (!is_float && row->op >= EXP) {
        *out_detail = "only float";
        return TN_REASON_DTYPE;
    }
    if (y->rank < 0 || a->rank < 0 || b->rank < 0) return TN_REASON_DYNAMIC_SHAPE;
    if (row->op == PRODUCT) {
        *out_detail = "only matrices";
        return a->rank == 2 && b->rank == 2 ? TN_REASON_OK : TN_REASON_RANK;
    }
    *out_detail = "broadcasts only scalars";
    if ((!same_dims(a, y) && count_of(a) != 1) || (!same_dims(b, y) && count_of(b) != 1))
        return TN_REASON_LAYOUT;
    *out_detail = "";
    return TN_REASON_OK;
}

/* ---- compiling ------------------------------------------------------------------------ */

struct compiler {
    const struct tn_group *group;
    struct npu_program head;
    struct npu_program *out; /* NULL while sizes are counted */
    struct tn_diag *diag;
};

static uint64_t padded(uint64_t size) {
    return (size + 63) & ~UINT64_C(63);
}

static const struct tn_type *type_of(const struct compiler *c, tn_value_id v) {
    return c->group->api->value_type(c->group->graph, v);
}

static uint64_t bytes_of(const struct compiler *c, tn_value_id v) {
    const struct tn_type *type = type_of(c, v);
    return count_of(type) * tn_dtype_bits(type->dtype) / 8;
}

static char *constants_of(struct npu_program *program) {
    return (char *)(program + 1) +
           program->n_instructions * sizeof(struct npu_instruction);
}

/* Offset of a temporary: the sum of those that nodes before its producer write. */
static uint64_t temporary_offset(const struct compiler *c, tn_value_id v) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < c->group->n_nodes; i++) {
        tn_value_id y =
            c->group->api->node(c->group->graph, c->group->nodes[i])->outputs[0];
        if (y == v) break;
        at += padded(bytes_of(c, y));
    }
    return at;
}

static struct npu_ref make_ref(struct compiler *c, tn_value_id v) {
    const struct tn_group *group = c->group;
    for (uint32_t i = 0; i < group->n_inputs; i++) {
        if (group->inputs[i] == v) return (struct npu_ref){NPU_INPUT, i, 0};
    }
    for (uint32_t i = 0; i < group->n_outputs; i++) {
        if (group->outputs[i] == v) return (struct npu_ref){NPU_OUTPUT, i, 0};
    }
    const struct tn_tensor *t = group->api->constant(group->graph, v);
    if (!t) return (struct npu_ref){NPU_TEMPORARY, 0, temporary_offset(c, v)};
    struct npu_ref ref = {NPU_CONSTANT, 0, c->head.constant_bytes};
    if (c->out && t->size)
        memcpy(constants_of(c->out) + c->head.constant_bytes, t->data, t->size);
    c->head.constant_bytes += padded(t->size);
    return ref;
}

static struct npu_instruction make_instruction(struct compiler *c, tn_node_id id) {
    const struct tn_node *node = c->group->api->node(c->group->graph, id);
    const struct row *row = find_row(node);
    const struct tn_type *y = type_of(c, node->outputs[0]);
    const struct tn_type *a = type_of(c, node->inputs[0]);
    struct npu_instruction i = {.op = row->op,
        .dtype = (uint32_t)y->dtype,
        .n = count_of(y),
        .a = make_ref(c, node->inputs[0]),
        .out = make_ref(c, node->outputs[0]),
        .a_scalar = count_of(a) == 1,
        .operands = row->n_inputs};
    if (row->n_inputs == 2) {
        i.b = make_ref(c, node->inputs[1]);
        i.b_scalar = count_of(type_of(c, node->inputs[1])) == 1;
    }
    if (row->op == PRODUCT) {
        i.m = (uint64_t)a->dims[0];
        i.k = (uint64_t)a->dims[1];
    }
    return i;
}

static void emit(struct compiler *c) {
    c->head.constant_bytes = 0;
    for (uint32_t n = 0; n < c->group->n_nodes; n++) {
        struct npu_instruction i = make_instruction(c, c->group->nodes[n]);
        if (c->out) memcpy((char *)(c->out + 1) + n * sizeof i, &i, sizeof i);
    }
}

struct npu_program *npu_compile(
    const struct tn_host *host, const struct tn_group *group, struct tn_diag *diag) {
    struct compiler c = {.group = group, .diag = diag};
    if (group->n_inputs > NPU_MOST_BORDER || group->n_outputs > NPU_MOST_BORDER) {
        tn_diag_write(diag, TN_UNSUPPORTED, "a group with %u inputs and %u outputs",
            group->n_inputs, group->n_outputs);
        return NULL;
    }
    c.head.n_instructions = group->n_nodes;
    c.head.n_inputs = group->n_inputs;
    c.head.n_outputs = group->n_outputs;
    c.head.temporary_bytes = temporary_offset(&c, TN_NO_ID);
    for (uint32_t i = 0; i < group->n_inputs; i++)
        c.head.input_bytes[i] = bytes_of(&c, group->inputs[i]);
    for (uint32_t i = 0; i < group->n_outputs; i++)
        c.head.output_bytes[i] = bytes_of(&c, group->outputs[i]);
    strncpy(c.head.name, group->name, sizeof c.head.name - 1);
    emit(&c);
    c.head.size = sizeof c.head + group->n_nodes * sizeof(struct npu_instruction) +
                  c.head.constant_bytes;
    struct npu_program *program = host->alloc(host->self, c.head.size, 0, "fake npu");
    if (!program) {
        tn_diag_write(diag, TN_OUT_OF_MEMORY, "no memory for a program");
        return NULL;
    }
    memset(program, 0, c.head.size);
    *program = c.head;
    c.out = program;
    emit(&c);
    return program;
}

int npu_is_program(const void *data, uint64_t size) {
    struct npu_program head;
    if (size < sizeof head) return 0;
    memcpy(&head, data, sizeof head);
    return head.size <= size && head.size >= sizeof head &&
           head.n_inputs <= NPU_MOST_BORDER && head.n_outputs <= NPU_MOST_BORDER &&
           head.n_instructions <= size / sizeof(struct npu_instruction) &&
           head.constant_bytes <= size &&
           sizeof head + head.n_instructions * sizeof(struct npu_instruction) +
                   head.constant_bytes ==
               head.size;
}

/* ---- running -------------------------------------------------------------------------- */

static float one_float(uint32_t op, float x, float y) {
    switch (op) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case RELU: return x < 0 ? 0 : x;
    case NEG: return -x;
    case ABS: return fabsf(x);
    case EXP: return expf(x);
    default: return tanhf(x);
    }
}

static int64_t one_int(uint32_t op, int64_t x, int64_t y) {
    switch (op) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case RELU: return x < 0 ? 0 : x;
    case NEG: return -x;
    default: return x < 0 ? -x : x;
    }
}

static void multiply(
    const struct npu_instruction *i, const float *a, const float *b, float *y) {
    uint64_t columns = i->m ? i->n / i->m : 0;
    for (uint64_t r = 0; r < i->m; r++) {
        for (uint64_t c = 0; c < columns; c++) {
            float sum = 0;
            for (uint64_t k = 0; k < i->k; k++)
                sum += a[r * i->k + k] * b[k * columns + c];
            y[r * columns + c] = sum;
        }
    }
}

static int64_t int_at(uint32_t dtype, const void *data, uint64_t i) {
    if (dtype == TN_INT8) return ((const int8_t *)data)[i];
    return ((const int32_t *)data)[i];
}

void npu_execute(
    const struct npu_instruction *i, const void *a, const void *b, void *out) {
    if (i->op == PRODUCT) {
        multiply(i, a, b, out);
        return;
    }
    for (uint64_t n = 0; n < i->n; n++) {
        uint64_t ia = i->a_scalar ? 0 : n, ib = i->b_scalar ? 0 : n;
        if (i->dtype == TN_FLOAT) {
            ((float *)out)[n] =
                one_float(i->op, ((const float *)a)[ia], b ? ((const float *)b)[ib] : 0);
            continue;
        }
        int64_t y =
            one_int(i->op, int_at(i->dtype, a, ia), b ? int_at(i->dtype, b, ib) : 0);
        if (i->dtype == TN_INT8)
            ((int8_t *)out)[n] = (int8_t)(uint8_t)(uint64_t)y;
        else
            ((int32_t *)out)[n] = (int32_t)(uint32_t)(uint64_t)y;
    }
}
