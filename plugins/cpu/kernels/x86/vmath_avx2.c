/* Vector mathematics at the AVX2 level. */
#include "../vmath_tmpl.h"
