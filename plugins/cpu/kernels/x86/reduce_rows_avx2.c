/* Reductions at the AVX2 level. */
#include "../reduce_rows_tmpl.h"
