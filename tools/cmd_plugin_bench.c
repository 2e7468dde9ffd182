/* tenon plugin bench FILE…: the time of every kernel of a plugin on generated inputs, beside
 * that of the operator's body or of the scalar kernel, in turns. */
#include "cli.h"
#include "probe_child.h"

#include <string.h>

enum { SECONDS = 120 };

/* ---- the child -------------------------------------------------------------------------- */

struct child {
    const struct probe_bench *bench;
    FILE *to;
    int32_t first; /* the types of the first case: only they are timed */
    bool begun;
};

static bool visit(void *arg, const struct probe_case *c) {
    struct child *child = arg;
    char inputs[512];
    struct probe_times times;
    int32_t type = c->n_inputs ? c->dtypes[0] : 0;
    if (!child->begun) child->first = type;
    child->begun = true;
    if (type != child->first) return false;
    if (!probe_time(child->bench, c, &times)) return true;
    probe_describe(c, inputs, sizeof inputs);
    fprintf(child->to, "time %-40s %12.3f us", inputs, times.own_ns / 1e3);
    if (times.reference_ns > 0)
        fprintf(child->to, "   %s %.3f us: %.2fx", times.reference,
            times.reference_ns / 1e3, times.reference_ns / times.own_ns);
    fprintf(child->to, "\n");
    return true;
}

static void work(
    const struct probe_bench *bench, const struct probe_target *target, FILE *to) {
    struct child child = {.bench = bench, .to = to};
    probe_cases(target, visit, &child);
}

/* ---- the parent ------------------------------------------------------------------------ */

static void begin(struct probe_job *job, const struct tn_kernel_def *kernel) {
    (void)job;
    printf("%s%s%s on %s\n", kernel->domain, kernel->domain[0] ? "." : "",
        kernel->op_type, kernel->provider);
}

static void line(struct probe_job *job, const char *text) {
    (void)job;
    if (strncmp(text, "time ", 5) == 0) printf("  %s\n", text + 5);
}

static void end(struct probe_job *job, const char *obstacle, const char *crash) {
    (void)job;
    if (obstacle || crash) printf("  not timed: %s\n", obstacle ? obstacle : crash);
}

int cmd_plugin_bench(const struct cli_args *args) {
    struct probe_job job = {args, SECONDS, work, line, begin, end, 0};
    return probe_children(&job);
}
