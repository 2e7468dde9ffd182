/* The provider "example": the smallest there is. It runs on the host, has the kernels that
 * name it (cube.c), and claims exactly the nodes that these serve; every other node gets the
 * reason why not. docs/add-a-provider.md begins where this ends. */
#include "custom.h"

static tn_status judge(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    const tn_node_id *ids;
    uint32_t n;
    (void)instance;
    (void)diag;
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *detail;
        uint32_t reason = sink->kernel(sink->self, ids[i], &detail);
        if (reason == TN_REASON_OK)
            TN_TRY(sink->claim(sink->self, ids[i], 0));
        else
            TN_TRY(sink->decline(sink->self, ids[i], reason, detail));
    }
    return TN_OK;
}

const struct tn_provider_def custom_provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "example",
    .name = "Worked example of a provider",
    .device_kind = TN_DEVICE_CPU,
    .capability = judge,
};
