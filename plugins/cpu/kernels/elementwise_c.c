/* Elementwise kernels at the scalar level: the reference. */
#include "elementwise_tmpl.h"
