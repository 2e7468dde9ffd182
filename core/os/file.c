/* Files: see file.h. */
#include "core/os/file.h"

#include "core/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tn_status fail_errno(
    struct tn_diag *diag, const char *verb, const char *path, int error) {
    tn_status code = error == ENOENT || error == ENOTDIR ? TN_NOT_FOUND
                     : error == ENOMEM                   ? TN_OUT_OF_MEMORY
                                                         : TN_IO;
    return tn_fail(diag, code, "cannot %s '%s': %s", verb, path, strerror(error));
}

tn_status tn__file_map_fd(
    int fd, const char *label, struct tn__mapping *out, struct tn_diag *diag) {
    struct stat st;
    if (fstat(fd, &st) != 0) return fail_errno(diag, "examine", label, errno);
    if (!S_ISREG(st.st_mode))
        return tn_fail(diag, TN_IO, "'%s' is %s, not a regular file", label,
            S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
    struct tn__mapping mapping = {NULL, (uint64_t)st.st_size};
    if (mapping.size) {
        void *data = mmap(NULL, mapping.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) return fail_errno(diag, "map", label, errno);
        mapping.data = data;
    }
    *out = mapping;
    return TN_OK;
}

tn_status tn__file_map(const char *path, struct tn__mapping *out, struct tn_diag *diag) {
    /* O_NONBLOCK: opening a pipe must not wait for a writer */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail_errno(diag, "open", path, errno);
    tn_status status = tn__file_map_fd(fd, path, out, diag);
    close(fd);
    return status;
}

void tn__file_unmap(struct tn__mapping *mapping) {
    if (mapping->data) munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (struct tn__mapping){NULL, 0};
}

void tn__file_forget(const void *data, uint64_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)data + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)data + size) & ~(page - 1);
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* ---- trust ---------------------------------------------------------------------------
 */

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return tn__path_join(".", "");
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    char *dir = tn__alloc(n + 1, 0);
    if (dir) {
        memcpy(dir, path, n);
        dir[n] = '\0';
    }
    return dir;
}

tn_status tn__file_check_safe(const char *path, struct tn_diag *diag) {
    struct stat st;
    if (stat(path, &st) != 0) return fail_errno(diag, "open", path, errno);
    if (!S_ISREG(st.st_mode))
        return tn_fail(diag, TN_PLUGIN, "'%s' is not a regular file", path);
    if (st.st_mode & S_IWOTH)
        return tn_fail(diag, TN_PLUGIN,
            "'%s' can be written by everybody, so it is not loaded; run chmod o-w on it",
            path);
    char *dir = folder_of(path);
    if (!dir) return tn__fail_memory(diag, "a path", strlen(path));
    tn_status status = TN_OK;
    if (stat(dir, &st) != 0)
        status = fail_errno(diag, "open", dir, errno);
    else if (st.st_mode & S_IWOTH)
        status = tn_fail(diag, TN_PLUGIN,
            "folder '%s' of '%s' can be written by everybody, so nothing in it is "
            "loaded; run chmod o-w on it or move the file",
            dir, path);
    tn__free(dir);
    return status;
}

/* ---- paths ---------------------------------------------------------------------------
 */

tn_status tn__path_real(const char *path, char **out, struct tn_diag *diag) {
    char *real = realpath(path, NULL);
    if (!real) return fail_errno(diag, "open", path, errno);
    size_t n = strlen(real) + 1;
    char *copy = tn__alloc(n, 0);
    if (copy) memcpy(copy, real, n);
    free(real);
    if (!copy) return tn__fail_memory(diag, "a path", n);
    *out = copy;
    return TN_OK;
}

char *tn__path_join(const char *dir, const char *name) {
    size_t n_dir = name[0] == '/' ? 0 : strlen(dir), n_name = strlen(name);
    char *path = tn__alloc(n_dir + n_name + 2, 0);
    if (!path) return NULL;
    memcpy(path, dir, n_dir);
    if (n_dir && n_name && dir[n_dir - 1] != '/') path[n_dir++] = '/';
    memcpy(path + n_dir, name, n_name + 1);
    return path;
}

bool tn__path_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- folders -------------------------------------------------------------------------
 */

static bool ends_with(const char *name, const char *suffix) {
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && memcmp(name + n - m, suffix, m) == 0;
}

static bool add_name(struct tn__names *names, const char *name) {
    if (names->n == names->cap) {
        uint32_t cap = names->cap ? names->cap * 2 : 16;
        char **items = tn__alloc((uint64_t)cap * sizeof *items, 0);
        if (!items) return false;
        if (names->n) memcpy(items, names->items, names->n * sizeof *items);
        tn__free(names->items);
        names->items = items;
        names->cap = cap;
    }
    size_t n = strlen(name) + 1;
    char *copy = tn__alloc(n, 0);
    if (!copy) return false;
    memcpy(copy, name, n);
    names->items[names->n++] = copy;
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tn_status tn__dir_list(const char *dir, const char *suffix, uint32_t max_names,
    struct tn__names *out, struct tn_diag *diag) {
    DIR *handle = opendir(dir);
    if (!handle) return fail_errno(diag, "list folder", dir, errno);
    struct tn__names names = {0};
    tn_status status = TN_OK;
    for (struct dirent *entry; status == TN_OK && (entry = readdir(handle));) {
        if (!ends_with(entry->d_name, suffix)) continue;
        if (names.n == max_names)
            status = tn_fail(diag, TN_LIMIT_EXCEEDED,
                "folder '%s' has more than %u files '*%s'", dir, max_names, suffix);
        else if (!add_name(&names, entry->d_name))
            status = tn__fail_memory(diag, "a folder listing", names.n);
    }
    closedir(handle);
    if (status != TN_OK) {
        tn__names_free(&names);
        return status;
    }
    if (names.n) qsort(names.items, names.n, sizeof *names.items, compare_names);
    *out = names;
    return TN_OK;
}

void tn__names_free(struct tn__names *names) {
    for (uint32_t i = 0; i < names->n; i++)
        tn__free(names->items[i]);
    tn__free(names->items);
    *names = (struct tn__names){0};
}
