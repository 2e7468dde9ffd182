/* What the fake NPU compiles a group into: flat instructions without pointers, so that a
 * program is its own context binary. */
#ifndef TENON_NPU_PROGRAM_H
#define TENON_NPU_PROGRAM_H

#include "tenon/provider.h"

enum { NPU_MOST_BORDER = 16, NPU_NAME = 64 };

/* Where an operand is. */
enum { NPU_INPUT = 0, NPU_OUTPUT = 1, NPU_CONSTANT = 2, NPU_TEMPORARY = 3 };
struct npu_ref {
    uint32_t kind, index; /* border: index */
    uint64_t offset;      /* constants, temporaries: bytes */
};

struct npu_instruction {
    uint32_t op, dtype;
    uint64_t n, m, k; /* elements; rows and inner size of a product */
    struct npu_ref a, b, out;
    uint32_t a_scalar, b_scalar;
    uint32_t operands, reserved;
};

struct npu_program {
    uint64_t size; /* of all that follows too */
    uint32_t n_instructions, n_inputs, n_outputs, reserved;
    uint64_t constant_bytes, temporary_bytes;
    uint64_t input_bytes[NPU_MOST_BORDER], output_bytes[NPU_MOST_BORDER];
    char name[NPU_NAME];
    /* then the instructions, then the constants */
};

static inline const struct npu_instruction *npu_instructions(
    const struct npu_program *program) {
    return (const struct npu_instruction *)(const void *)(program + 1);
}

/* Whether an instruction exists for the node: TN_REASON_OK, or why not. */
uint32_t npu_judge(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_node *node, const char **out_detail);
/* NULL: diag says why. Freed with host->free. */
struct npu_program *npu_compile(
    const struct tn_host *host, const struct tn_group *group, struct tn_diag *diag);
/* Whether bytes are a program that stays within itself. */
int npu_is_program(const void *data, uint64_t size);
/* Runs one instruction on resolved memory. */
void npu_execute(
    const struct npu_instruction *i, const void *a, const void *b, void *out);

#endif
