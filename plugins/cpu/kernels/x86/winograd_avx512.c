/* Winograd transforms for AVX-512: the 36 vectors of a tile nearly fit the registers. */
#include "../winograd_tmpl.h"
