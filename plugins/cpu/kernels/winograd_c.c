/* Winograd transforms in plain C. */
#include "winograd_tmpl.h"
