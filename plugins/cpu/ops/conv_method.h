/* The ways to compute an f32 convolution, behind one table: direct, depthwise, Winograd.
 *
 * A method has its own packed weights, so it is chosen once, when the weights are packed. */
#ifndef TENON_CPU_CONV_METHOD_H
#define TENON_CPU_CONV_METHOD_H

#include "cpu.h"

#include <stdbool.h>

struct tn__conv_method {
    const char *name; /* also fixes the content of packed weights, with the level */
    /* Floats of the packed weights, and the number of parts they are packed in. */
    size_t (*packed_size)(const struct tn__cpu *cpu, const struct tn_conv *conv);
    size_t (*pack_parts)(const struct tn__cpu *cpu, const struct tn_conv *conv);
    void (*pack)(const struct tn__cpu *cpu, const struct tn_conv *conv, float *dst,
        const float *weights, size_t part0, size_t part1);
    /* The output as rows × columns of independent units of work. */
    size_t (*rows)(const struct tn__cpu *cpu, const struct tn_conv *conv);
    size_t (*columns)(const struct tn__cpu *cpu, const struct tn_conv *conv);
    /* Floats of scratch of one run; NULL: none. */
    size_t (*workspace)(const struct tn__cpu *cpu, const struct tn_conv *conv);
    void (*run)(const struct tn__cpu *cpu, const struct tn_conv *conv, float *workspace,
        size_t r0, size_t r1, size_t c0, size_t c1);
};

/* How a run is cut. */
struct tn__conv_pieces {
    size_t rows, row_block, row_pieces;
    size_t columns, column_block, column_pieces;
    size_t scratch; /* floats for each worker */
    bool small;     /* not worth a thread */
};

/* The method for this convolution. `fast` admits those that add in another order than the
 * definition; `sized` says that the spatial sizes are known. */
const struct tn__conv_method *tn__conv_choose(
    const struct tn__cpu *cpu, const struct tn_conv *conv, bool fast, bool sized);

void tn__conv_pack(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, float *dst, const float *weights);

void tn__conv_cut(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, struct tn__conv_pieces *pieces);

/* Runs all of it; scratch has pieces->scratch floats for each worker. */
tn_status tn__conv_run(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, const struct tn__conv_pieces *pieces, float *scratch,
    const struct tn_run *run);

#endif
