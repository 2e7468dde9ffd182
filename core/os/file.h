/* Files: read-only mappings, the checks before a file is trusted, folder listings. */
#ifndef TENON_FILE_H
#define TENON_FILE_H

#include "core/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A read-only private mapping. An empty file has data NULL and size 0. */
struct tn__mapping {
    const void *data;
    uint64_t size;
};

/* Maps a whole regular file. A missing file is TN_NOT_FOUND, others are TN_IO. */
tn_status tn__file_map(const char *path, struct tn__mapping *out, struct tn_diag *diag);
/* The same of an open descriptor, which stays the caller's; `label` is for messages. */
tn_status tn__file_map_fd(
    int fd, const char *label, struct tn__mapping *out, struct tn_diag *diag);
void tn__file_unmap(struct tn__mapping *mapping); /* clears it; an empty one is fine */
/* Tells the system that the whole pages inside [data, data + size) of a mapping are not
 * needed for now; they come back from the file when read again. */
void tn__file_forget(const void *data, uint64_t size);

/* Checks that only its owner decides what a file holds before its content is trusted:
 * path and its folder must not be writable by everybody, and the file must be a regular
 * one. TN_PLUGIN names what is wrong and the remedy; TN_NOT_FOUND when it is missing. */
tn_status tn__file_check_safe(const char *path, struct tn_diag *diag);

/* Absolute path without links, "." and "..", to be freed with tn__free. */
tn_status tn__path_real(const char *path, char **out, struct tn_diag *diag);
/* "dir/name" (name alone when it is absolute), to be freed with tn__free; NULL when there
 * is no memory. */
char *tn__path_join(const char *dir, const char *name);
bool tn__path_is_dir(const char *path);

/* Names in a folder that end in `suffix`, sorted bytewise. */
struct tn__names {
    char **items;
    uint32_t n, cap;
};
/* At most max_names (more is TN_LIMIT_EXCEEDED). */
tn_status tn__dir_list(const char *dir, const char *suffix, uint32_t max_names,
    struct tn__names *out, struct tn_diag *diag);
void tn__names_free(struct tn__names *names);

#endif
