/* Softmax at the AVX-512 level. */
#include "../softmax_tmpl.h"
