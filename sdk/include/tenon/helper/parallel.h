/* How much work is worth a thread. */
#ifndef TENON_HELPER_PARALLEL_H
#define TENON_HELPER_PARALLEL_H

#include "tenon/op.h"
#include "tenon/plugin.h"

/* Calls fn over [0, n), in pieces of at least about 16 µs, `cost` being nanoseconds an item
 * takes. Small work runs in place. Pieces begin at multiples of a grain that depends on
 * cost alone. */
static inline void tn_parallel(
    const struct tn_host *host, int64_t n, double cost, tn_parallel_fn fn, void *arg) {
    double grain = 16000.0 / (cost > 1e-3 ? cost : 1e-3);
    if (n <= 0) return;
    if ((double)n < 2.0 * grain) {
        fn(arg, 0, n, 0);
        return;
    }
    int64_t items = grain < 1.0 ? 1 : (int64_t)grain;
    if (items > 64) items &= ~(int64_t)63; /* whole cache lines and vectors */
    host->parallel_for(host->self, n, items, fn, arg);
}

/* host->parallel_for that ends early when the run is interrupted: return what is not TN_OK
 * at once. run may be NULL, or of a host that has no such loop. */
static inline tn_status tn_parallel_run(const struct tn_run *run,
    const struct tn_host *host, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    if (run && TN_HAS(run, parallel_for))
        return run->parallel_for(run, n, grain, fn, arg);
    host->parallel_for(host->self, n, grain, fn, arg);
    return TN_OK;
}

#endif
