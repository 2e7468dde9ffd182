/* File mappings: see mapping.h. */
#include "core/model/mapping.h"

#include "core/base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

tn_status tn__mapping_create(
    int fd, const char *label, struct tn__mapping *out, struct tn_diag *diag) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tn_fail(diag, TN_IO, "cannot examine '%s': %s", label, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tn_fail(diag, TN_IO, "'%s' is not a regular file", label);
    static const char nothing[1];
    *out = (struct tn__mapping){nothing, 0};
    if (st.st_size == 0) return TN_OK;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return tn_fail(diag, TN_IO, "cannot map '%s': %s", label, strerror(errno));
    *out = (struct tn__mapping){data, (uint64_t)st.st_size};
    return TN_OK;
}

void tn__mapping_destroy(const struct tn__mapping *mapping) {
    if (mapping->size) munmap((void *)(uintptr_t)mapping->data, mapping->size);
}

static void release(void *arg) {
    tn__mapping_destroy(arg);
    tn__free(arg);
}

/* Lets the whole pages inside go; they come back from the file when touched. */
static void forget(void *arg, const void *data, uint64_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)data + page - 1) & ~(page - 1);
    uintptr_t last = ((uintptr_t)data + size) & ~(page - 1);
    (void)arg;
    if (first < last) (void)madvise((void *)first, last - first, MADV_DONTNEED);
}

tn_status tn__mapping_give(
    const struct tn__mapping *mapping, struct tn__model *model, struct tn_diag *diag) {
    if (mapping->size == 0) return TN_OK;
    struct tn__mapping *kept = tn__alloc(sizeof *kept, 0);
    if (!kept) {
        tn__mapping_destroy(mapping);
        return tn__fail_memory(diag, "a file mapping", sizeof *kept);
    }
    *kept = *mapping;
    return tn__model_own(model,
        &(struct tn__resource){.release = release,
            .forget = forget,
            .arg = kept,
            .data = kept->data,
            .size = kept->size},
        diag);
}
