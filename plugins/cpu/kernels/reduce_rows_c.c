/* Reductions at the scalar level: the reference. */
#include "reduce_rows_tmpl.h"
