/* Writes the manifest of a plugin from the plugin's own tables: opens it and runs its init.
 * Stands on the SDK alone, so that authors outside this repository can build it too. */
#ifndef TENON_MANIFEST_WRITE_H
#define TENON_MANIFEST_WRITE_H

#include <stdio.h>

/* EXIT_SUCCESS, or EXIT_FAILURE after a sentence on stderr. */
int manifest_write(const char *path, FILE *to);

#endif
