/* Starts a plugin without a runtime, with a host that offers just enough to read its tables.
 * Its code runs in this process: tools that do not trust it fork first. */
#ifndef TENON_PLUGIN_OPEN_H
#define TENON_PLUGIN_OPEN_H

#include "tenon/plugin.h"

/* EXIT_SUCCESS, or EXIT_FAILURE after a sentence on stderr. The library stays open; the state
 * is ended by (*out)->shutdown. */
int plugin_open(const char *path, const struct tn_plugin **out, void **out_state);

#endif
