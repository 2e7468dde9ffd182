/* Vector mathematics at the AVX-512 level. */
#include "../vmath_tmpl.h"
