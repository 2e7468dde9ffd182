/* Elementwise kernels at the AVX2 level. */
#include "../elementwise_tmpl.h"
