/* A model made ready to run: see job.h. */
#include "job.h"

#include <stdlib.h>
#include <time.h>

int job_open(const struct cli_args *args, struct tn_runtime *runtime, const char *path,
    struct job *out) {
    struct tn_diag diag = {0};
    *out = (struct job){.path = path};
    int code = cli_session(args, runtime, path, &out->session);
    if (code != EXIT_OK) return code;
    code = feed_make(args, out->session, &out->feed);
    if (code == EXIT_OK && tn_context_create(out->session, &out->context, &diag) != TN_OK)
        code = cli_fail(args, EXIT_LOAD, &diag);
    if (code == EXIT_OK) code = feed_bind(args, &out->feed, out->context);
    if (code != EXIT_OK) job_close(out);
    return code;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int job_run(
    const struct cli_args *args, struct job *job, bool profile, uint64_t *out_ns) {
    struct tn_diag diag = {0};
    struct tn_run_options options = {.struct_size = TN_RUN_OPTIONS_SIZE,
        .deadline_ns = (uint64_t)args->deadline_ms * 1000000u,
        .profile = profile};
    uint64_t start = now_ns();
    tn_status status = tn_context_run(job->context, &options, &diag);
    if (out_ns) *out_ns = now_ns() - start;
    return status == TN_OK ? EXIT_OK : cli_fail(args, EXIT_RUN, &diag);
}

void job_close(struct job *job) {
    tn_context_destroy(job->context);
    feed_free(&job->feed);
    tn_session_destroy(job->session);
    *job = (struct job){0};
}

bool times_add(struct times *times, uint64_t ns) {
    if (times->n == times->cap) {
        uint64_t cap = times->cap ? times->cap * 2 : 1024;
        uint64_t *grown = realloc(times->ns, cap * sizeof *grown);
        if (!grown) return false;
        times->ns = grown;
        times->cap = cap;
    }
    times->ns[times->n++] = ns;
    return true;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void times_sort(struct times *times) {
    if (times->n) qsort(times->ns, times->n, sizeof *times->ns, compare);
}

double times_quantile_us(const struct times *times, double q) {
    if (times->n == 0) return 0;
    return (double)times->ns[(uint64_t)(q * (double)(times->n - 1) + 0.5)] / 1000.0;
}
