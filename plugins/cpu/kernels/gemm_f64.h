/* f64 matrix product on packed panels: a tile of rows by one panel of columns. Every element is
 * one sum in ascending k whose products are not fused with it, at every level: the same bits
 * everywhere. [any thread] */
#ifndef TENON_CPU_GEMM_F64_H
#define TENON_CPU_GEMM_F64_H

#include "tenon/isa.h"

#include <stddef.h>

enum { TN_GEMM_F64_ROWS = 4, TN_GEMM_F64_NR = 8 };

/* sums[i][j] = sum over l < k of a[i][l] * panel[l * TN_GEMM_F64_NR + j]. */
typedef void tn_gemm_f64_tile_fn(const double *const a[TN_GEMM_F64_ROWS],
    const double *panel, size_t k, double sums[TN_GEMM_F64_ROWS][TN_GEMM_F64_NR]);

struct tn_gemm_f64_kernels {
    tn_gemm_f64_tile_fn *tile;
};

/* Fills the slot with the best row of a level not above `isa`. [any thread] */
void tn_gemm_f64_kernels_init(struct tn_gemm_f64_kernels *kernels, enum tn_isa isa);

#endif
