/* The plugins that are linked into this library: none, unless the build asks for it
 * (-Dstatic_plugins=true), which generates the list. */
#include "core/registry/registry_impl.h"

#ifdef TN_HAVE_STATIC_PLUGINS
#include "static_plugins.h"
#else
#define TN_STATIC_PLUGINS(X)
#endif

#define DECLARE(query)                                                                   \
    tn_status query(const struct tn_host_info *host, const struct tn_plugin **out);
TN_STATIC_PLUGINS(DECLARE)
#undef DECLARE

#define ROW(query) query,
const tn_plugin_query_fn tn__static_plugins[] = {TN_STATIC_PLUGINS(ROW) NULL};
#undef ROW
