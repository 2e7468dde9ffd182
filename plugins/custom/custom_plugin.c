/* The plugin "org.tenon.custom": its tables and its entry. */
#include "custom.h"

#define ADDRESS(name) &custom_##name,

TN_PLUGIN_FULL("org.tenon.custom", TN_CUSTOM_VERSION, TN_ABI_MINOR,
    (TN_CUSTOM_OPS(ADDRESS)), (TN_CUSTOM_KERNELS(ADDRESS)), (&custom_provider), NULL,
    NULL, NULL);
