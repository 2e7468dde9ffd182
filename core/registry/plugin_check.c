/* Judging a plugin's descriptor: ABI numbers, sizes, flags, names and slots. */
#include "core/registry/registry_impl.h"

#include <string.h>

/* A struct that grows will not reach this in a lifetime: a larger size is a lie. */
enum { MAX_STRUCT = 4096 };

static const char *sanitizer_name(uint32_t kind) {
    static const char *const names[] = {
        "no sanitizer", "AddressSanitizer", "ThreadSanitizer", "MemorySanitizer"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "an unknown sanitizer";
}

tn_status tn__abi_check(const char *who, uint32_t major, uint32_t minor,
    uint32_t host_minor_min, uint32_t sanitizer, struct tn_diag *diag) {
    if (major != TN_ABI_MAJOR)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' was built for ABI %u.%u, this host (Tenon " TN_VERSION
            ") speaks ABI %u.%u; %s",
            who, major, minor, TN_ABI_MAJOR, TN_ABI_MINOR,
            major > TN_ABI_MAJOR ? "update Tenon" : "rebuild the plugin with this SDK");
    if (host_minor_min > TN_ABI_MINOR)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' (ABI %u.%u) needs a host with ABI %u.%u or newer, this host "
            "(Tenon " TN_VERSION
            ") speaks ABI %u.%u; update Tenon or take an older build "
            "of the plugin",
            who, major, minor, major, host_minor_min, TN_ABI_MAJOR, TN_ABI_MINOR);
    if (minor < TN_ABI_MINOR_OLDEST)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' was built for ABI %u.%u, this host (Tenon " TN_VERSION
            ") speaks ABI %u.%u to %u.%u; rebuild the plugin with this SDK",
            who, major, minor, TN_ABI_MAJOR, TN_ABI_MINOR_OLDEST, TN_ABI_MAJOR,
            TN_ABI_MINOR);
    if (sanitizer != TN_SANITIZER_CURRENT)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' was built with %s, this host with %s; build both alike", who,
            sanitizer_name(sanitizer), sanitizer_name(TN_SANITIZER_CURRENT));
    return TN_OK;
}

/* Reverse-DNS: it names files and sections of ini files. */
static tn_status check_id(const char *id, const char *who, struct tn_diag *diag) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = id ? strlen(id) : 0;
    if (n == 0 || n > 63 || strspn(id, allowed) != n || id[0] == '.')
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' has the id '%.80s'; expected 1 to 63 lower-case letters, "
            "digits, '.', '_' or '-'",
            who, id ? id : "(NULL)");
    return TN_OK;
}

static tn_status check_slots(
    const struct tn_plugin *p, const char *who, struct tn_diag *diag) {
    const struct {
        uint32_t bit;
        bool present;
        const char *what;
    } slots[] = {
        {TN_PLUGIN_HAS_OPS, p->ops != NULL, "operators, but its ops"},
        {TN_PLUGIN_HAS_KERNELS, p->kernels != NULL, "kernels, but its kernels"},
        {TN_PLUGIN_HAS_PROVIDERS, p->providers != NULL, "providers, but its providers"},
    };
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        if ((p->capabilities & slots[i].bit) && !slots[i].present)
            return tn_fail(diag, TN_PLUGIN,
                "plugin '%s' says that it has %s function is NULL", who, slots[i].what);
    }
    return TN_OK;
}

tn_status tn__descriptor_check(const struct tn_plugin *desc, const char *who,
    struct tn_plugin *out, struct tn_diag *diag) {
    if (!desc) return tn_fail(diag, TN_PLUGIN, "plugin '%s' returned no descriptor", who);
    uint32_t size = desc->struct_size;
    if (size < TN_END_OF(struct tn_plugin, providers) || size > MAX_STRUCT)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' has a descriptor of %u bytes, expected %u (at least %u); set "
            "struct_size to TN_PLUGIN_SIZE",
            who, size, TN_PLUGIN_SIZE, (uint32_t)TN_END_OF(struct tn_plugin, providers));
    *out = (struct tn_plugin){0};
    memcpy(out, desc, size < TN_PLUGIN_SIZE ? size : TN_PLUGIN_SIZE);
    if (out->flags & TN_CRITICAL_FLAGS)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' needs features that this host does not know (flags 0x%x); "
            "update Tenon",
            who, out->flags & TN_CRITICAL_FLAGS);
    TN_TRY(tn__abi_check(
        who, TN_ABI_MAJOR, out->abi_minor, out->host_minor_min, out->sanitizer, diag));
    TN_TRY(check_id(out->id, who, diag));
    if (!out->name || !out->version)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' has no name or no version in its descriptor", who);
    return check_slots(out, who, diag);
}
