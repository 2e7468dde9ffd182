/* Rows of the depthwise area, one function a level; for depthwise.c alone. */
#ifndef TENON_CPU_DEPTHWISE_ROWS_H
#define TENON_CPU_DEPTHWISE_ROWS_H

#include "depthwise.h"

void tn__depthwise_init_c(struct tn_depthwise_kernels *kernels);
void tn__depthwise_init_avx2(struct tn_depthwise_kernels *kernels);
void tn__depthwise_init_avx512(struct tn_depthwise_kernels *kernels);

#endif
