/* Rows of features: AVX2. */
#include "../ml_rows_tmpl.h"

void tn__rows_init_avx2(struct tn_rows_kernels *kernels);

void tn__rows_init_avx2(struct tn_rows_kernels *kernels) {
    kernels->distances = distances;
    kernels->exp = exps;
    kernels->dots = dots;
}
