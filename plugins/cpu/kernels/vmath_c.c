/* Vector mathematics at the scalar level: the reference. */
#include "vmath_tmpl.h"
