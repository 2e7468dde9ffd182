/* Rows of the Winograd area, one function a level; for winograd.c alone. */
#ifndef TENON_CPU_WINOGRAD_ROWS_H
#define TENON_CPU_WINOGRAD_ROWS_H

#include "winograd.h"

void tn__winograd_init_c(struct tn_winograd_kernels *kernels);
void tn__winograd_init_avx2(struct tn_winograd_kernels *kernels);
void tn__winograd_init_avx512(struct tn_winograd_kernels *kernels);

#endif
