/* The thread pool: one a process, for every runtime, session and context.
 *
 * Threads start with the first loop that is worth them and end when the last runtime
 * goes. The caller of a loop takes part in it; pieces are claimed from a counter, so a slow thread
 * never holds up the others. One loop runs at a time: a second caller runs its loop by
 * itself, which gives the same bits. Idle threads spin for a moment, then sleep. */
#ifndef TENON_POOL_H
#define TENON_POOL_H

#include "tenon/plugin.h"

enum { TN_POOL_MOST_THREADS = 256 };

/* [any] Users keep the threads alive; the last release ends them. */
void tn__pool_retain(void);
void tn__pool_release(void);
/* [any] Calls fn over [0, n) in pieces of multiples of grain on up to `threads` threads,
 * the caller included; returns when all are done. */
void tn__pool_run(
    uint32_t threads, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg);
/* [any] Limits loops begun by this thread to `threads` (0: no limit of its own); returns
 * the limit before. */
uint32_t tn__pool_limit(uint32_t threads);
/* [any] How long an idle thread spins before it sleeps. */
void tn__pool_set_spin(uint64_t ns);
/* [any] Threads that run now, callers not counted; for tests. */
uint32_t tn__pool_size(void);

#endif
