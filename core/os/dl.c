/* Shared libraries: see dl.h. */
#include "core/os/dl.h"

#include <dlfcn.h>
#include <stdio.h>

void *tn__dl_open(const char *path, char *why, size_t why_size) {
    dlerror();
    /* no RTLD_DEEPBIND: it breaks sanitizers and foreign allocators; plugins hide their
     * symbols by a version script instead */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *text = dlerror();
        snprintf(why, why_size, "%s", text ? text : "unknown reason");
    }
    return handle;
}

void *tn__dl_symbol(void *handle, const char *name) {
    return dlsym(handle, name);
}

bool tn__dl_can_find(const char *name) {
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle) handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return false;
    dlclose(handle);
    return true;
}

const char *tn__dl_file_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fname : NULL;
}
