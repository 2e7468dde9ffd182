/* Conversions at the AVX2 level; wider vectors would not move memory faster. */
#include "../convert_tmpl.h"
