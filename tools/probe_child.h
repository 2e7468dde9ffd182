/* Kernels of a plugin, each handled in a process of its own, so that one that crashes or hangs
 * is a finding and not the end. */
#ifndef TENON_PROBE_CHILD_H
#define TENON_PROBE_CHILD_H

#include "cli.h"
#include "probe.h"

struct probe_job {
    const struct cli_args
        *args;        /* models: the plugin, then others that define its operators */
    unsigned seconds; /* that one kernel may take */
    /* In the child: lines for the parent go to `to`. */
    void (*work)(
        const struct probe_bench *bench, const struct probe_target *target, FILE *to);
    /* In the parent: one line, without its end. */
    void (*line)(struct probe_job *job, const char *text);
    /* In the parent, before the first line and after the last: why it was not handled
     * (NULL: it was), and what ended the child (NULL: nothing). */
    void (*begin)(struct probe_job *job, const struct tn_kernel_def *kernel);
    void (*end)(struct probe_job *job, const char *obstacle, const char *crash);
    unsigned kernels; /* handled so far */
};

/* Every kernel of the first file that --op allows; 0 or an exit code (reported). */
int probe_children(struct probe_job *job);

#endif
