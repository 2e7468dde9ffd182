/* The provider "cpu": claims, node by node, everything it has a kernel row for. It compiles
 * no groups. */
#include "tenon/provider.h"

#include "cpu.h"
#include "tenon/helper/claim.h"
#include "tenon/helper/diag.h"

static void cpu_devices(void *plugin_state,
    void (*emit)(void *arg, const struct tn_device *device), void *arg) {
    (void)plugin_state;
    const struct tn_device device = {
        .struct_size = TN_DEVICE_SIZE,
        .kind = TN_DEVICE_CPU,
        .availability = TN_DEVICE_OK,
        .name = "host processor",
#if defined(__x86_64__)
        .arch = "x86_64"
#elif defined(__aarch64__)
        .arch = "aarch64"
#else
        .arch = "generic"
#endif
    };
    emit(arg, &device);
}

/* The provider has no options of its own yet: threads belong to the host, the
 * instruction-set level to the plugin's section. */
static tn_status cpu_create(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *diag) {
    (void)host;
    if (n_options > 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "provider 'cpu' has no option '%s'; it takes none", options[0]);
    *out_instance = plugin_state;
    return TN_OK;
}

static void cpu_destroy(void *instance) {
    (void)instance; /* the plugin's state, which outlives it */
}

const struct tn_provider_def tn__cpu_provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "cpu",
    .name = "CPU",
    .device_kind = TN_DEVICE_CPU,
    .devices = cpu_devices,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .capability = tn_claim_served,
    .estimate = tn__cpu_estimate,
};
