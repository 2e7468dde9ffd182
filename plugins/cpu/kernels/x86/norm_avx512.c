/* Normalisation at the AVX-512 level. */
#include "../norm_tmpl.h"
