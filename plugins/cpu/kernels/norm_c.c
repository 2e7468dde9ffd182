/* Normalisation at the scalar level: the reference. */
#include "norm_tmpl.h"
