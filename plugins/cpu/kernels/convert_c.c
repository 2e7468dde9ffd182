/* Conversions at the scalar level: the reference. */
#include "convert_tmpl.h"
