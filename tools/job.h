/* A model made ready to run: runtime, session, context and inputs in one. */
#ifndef TENON_JOB_H
#define TENON_JOB_H

#include "feed.h"

#include <stdint.h>

struct job {
    const char *path;
    struct tn_session *session;
    struct tn_context *context;
    struct feed feed;
};

/* 0 or an exit code (reported). */
int job_open(const struct cli_args *args, struct tn_runtime *runtime, const char *path,
    struct job *out);
/* One run; *out_ns may be NULL. 0 or an exit code (reported). */
int job_run(const struct cli_args *args, struct job *job, bool profile, uint64_t *out_ns);
void job_close(struct job *job);

/* Times of runs, in nanoseconds. */
struct times {
    uint64_t *ns;
    uint64_t n, cap;
};
bool times_add(struct times *times, uint64_t ns);
void times_sort(struct times *times);
/* q in [0, 1]; sorted times. */
double times_quantile_us(const struct times *times, double q);

#endif
