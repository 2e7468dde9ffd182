/* Reductions at the AVX-512 level. */
#include "../reduce_rows_tmpl.h"
