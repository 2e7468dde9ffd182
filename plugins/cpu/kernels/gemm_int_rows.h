/* Rows of the integer GEMM area, one function a level; for gemm_int.c alone. */
#ifndef TENON_CPU_GEMM_INT_ROWS_H
#define TENON_CPU_GEMM_INT_ROWS_H

#include "gemm_int.h"

void tn__gemm_int_init_c(struct tn_gemm_int_kernels *kernels);
void tn__gemm_int_init_avx2(struct tn_gemm_int_kernels *kernels);
void tn__gemm_int_init_avx512(struct tn_gemm_int_kernels *kernels);
void tn__gemm_int_init_avx512vnni(struct tn_gemm_int_kernels *kernels);

#endif
