/* Normalisation at the AVX2 level. */
#include "../norm_tmpl.h"
