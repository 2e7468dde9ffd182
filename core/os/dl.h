/* Shared libraries. Code is never unloaded: a thread of a plugin may still run in it. */
#ifndef TENON_DL_H
#define TENON_DL_H

#include "core/base/diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens a library by absolute path: all symbols bound now, none given to others, never
 * unloaded. On failure `why` holds the system's text. */
void *tn__dl_open(const char *path, char *why, size_t why_size);
/* Address of a symbol, NULL when it is missing. */
void *tn__dl_symbol(void *handle, const char *name);
/* Whether a dependency named as in DT_NEEDED can be found by the system. */
bool tn__dl_can_find(const char *name);
/* Path of the file that holds an address of this process, NULL when unknown; borrowed
 * from the system's loader. */
const char *tn__dl_file_of(const void *address);

#endif
