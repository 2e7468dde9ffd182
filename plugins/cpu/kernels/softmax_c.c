/* Softmax at the scalar level: the reference. */
#include "softmax_tmpl.h"
