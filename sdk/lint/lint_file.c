/* Rules of the file system: the loader refuses what everybody can write. */
#include "lint_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void lint_permissions(struct lint *lint) {
    struct stat st;
    char folder[4096];
    const char *slash = strrchr(lint->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - lint->path) : 1,
        slash ? lint->path : ".");
    if (stat(lint->path, &st) == 0 && (st.st_mode & S_IWOTH))
        lint_error(lint, "can be written by everybody; run chmod o-w on it");
    if (stat(folder[0] ? folder : "/", &st) == 0 && (st.st_mode & S_IWOTH))
        lint_error(lint,
            "lies in '%.200s', which everybody can write: the loader takes nothing "
            "from there",
            folder);
}
