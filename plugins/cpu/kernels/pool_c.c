/* Pooling at the scalar level: the reference. */
#include "pool_tmpl.h"
