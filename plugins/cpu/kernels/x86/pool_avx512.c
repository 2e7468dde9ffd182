/* Pooling at the AVX-512 level. */
#include "../pool_tmpl.h"
