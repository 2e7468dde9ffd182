/* Pooling at the AVX2 level. */
#include "../pool_tmpl.h"
