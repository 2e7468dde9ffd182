/* Softmax at the AVX2 level. */
#include "../softmax_tmpl.h"
