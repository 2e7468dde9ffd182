/* Elementwise kernels at the AVX-512 level. */
#include "../elementwise_tmpl.h"
