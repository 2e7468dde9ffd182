/* Depthwise tiles for AVX2. */
#include "../depthwise_tmpl.h"
