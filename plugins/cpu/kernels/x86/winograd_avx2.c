/* Winograd transforms for AVX2. */
#include "../winograd_tmpl.h"
