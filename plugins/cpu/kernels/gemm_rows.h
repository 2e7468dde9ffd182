/* Rows of the GEMM area, one function a level; for gemm.c alone. */
#ifndef TENON_CPU_GEMM_ROWS_H
#define TENON_CPU_GEMM_ROWS_H

#include "gemm.h"

void tn__gemm_init_c(struct tn_gemm_kernels *kernels);
void tn__gemm_init_avx2(struct tn_gemm_kernels *kernels);
void tn__gemm_init_avx512(struct tn_gemm_kernels *kernels);

#endif
