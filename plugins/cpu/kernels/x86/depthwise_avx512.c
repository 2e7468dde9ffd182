/* Depthwise tiles for AVX-512. */
#include "../depthwise_tmpl.h"
