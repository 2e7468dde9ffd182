/* The capability of a provider that brings kernels and compiles nothing. */
#ifndef TENON_HELPER_CLAIM_H
#define TENON_HELPER_CLAIM_H

#include "tenon/helper/diag.h"
#include "tenon/provider.h"

/* Claims, one by one, the nodes that a kernel row of this provider serves, and declines the
 * others with the reason: `.capability = tn_claim_served`. */
static inline tn_status tn_claim_served(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    const tn_node_id *ids;
    uint32_t n;
    (void)instance;
    (void)diag;
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *detail = NULL;
        uint32_t reason = sink->kernel(sink->self, ids[i], &detail);
        if (reason == TN_REASON_OK)
            TN_TRY(sink->claim(sink->self, ids[i], 0));
        else
            TN_TRY(sink->decline(sink->self, ids[i], reason, detail));
    }
    return TN_OK;
}

#endif
