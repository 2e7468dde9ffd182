/* The plugin "org.tenon.custom": its tables and its entry. It uses nothing that hosts of ABI
 * 0.1 lack, and says so, whatever SDK builds it. */
#include "custom.h"

#define ADDRESS(name) &custom_##name,

TN_PLUGIN_FULL("org.tenon.custom", TN_CUSTOM_VERSION, 1, (TN_CUSTOM_OPS(ADDRESS)),
    (TN_CUSTOM_KERNELS(ADDRESS)), (&custom_provider), NULL, NULL, NULL);
