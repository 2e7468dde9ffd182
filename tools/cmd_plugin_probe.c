/* tenon plugin probe FILE…: runs every kernel of a plugin on generated inputs (probe.h).
 * Operators that the first file does not define are looked for in the others. */
#include "cli.h"
#include "probe_child.h"

#include <string.h>

enum { SECONDS = 300, MOST_FAULTS = 20 };

struct probing {
    struct probe_job job; /* first: the functions get its address */
    unsigned clean, faulty, unprobed, without_case;
    unsigned long long all_ran, all_refused;
    /* of the kernel in hand */
    unsigned faults;
    unsigned long long ran, refused, referenced;
    double difference;
    char last[600], why[512];
};

/* ---- the child: lines "at …", "fault …" and at last "tally …" ----------------------------- */

struct child {
    const struct probe_bench *bench;
    struct probe_tally tally;
    FILE *to;
};

static bool visit(void *arg, const struct probe_case *c) {
    struct child *child = arg;
    char inputs[512];
    probe_describe(c, inputs, sizeof inputs);
    fprintf(child->to, "at %s(%s)\n", c->target->def->op_type, inputs);
    fflush(child->to);
    probe_run(child->bench, c, &child->tally, child->to);
    return child->tally.faults < MOST_FAULTS;
}

static void work(
    const struct probe_bench *bench, const struct probe_target *target, FILE *to) {
    struct child child = {.bench = bench, .to = to};
    probe_cases(target, visit, &child);
    fprintf(to, "tally %llu %llu %llu %.3g %s\n", (unsigned long long)child.tally.ran,
        (unsigned long long)child.tally.refused,
        (unsigned long long)child.tally.referenced, child.tally.difference,
        child.tally.why);
}

/* ---- the parent ------------------------------------------------------------------------ */

static void begin(struct probe_job *job, const struct tn_kernel_def *kernel) {
    struct probing *p = (struct probing *)job;
    p->faults = 0;
    p->ran = p->refused = p->referenced = 0;
    p->difference = 0;
    p->last[0] = p->why[0] = '\0';
    printf("%s%s%s on %s\n", kernel->domain, kernel->domain[0] ? "." : "",
        kernel->op_type, kernel->provider);
}

static void line(struct probe_job *job, const char *text) {
    struct probing *p = (struct probing *)job;
    int at = 0;
    if (strncmp(text, "at ", 3) == 0) snprintf(p->last, sizeof p->last, "%s", text + 3);
    if (strncmp(text, "fault ", 6) == 0) {
        p->faults++;
        printf("  %s\n", text + 6);
    }
    if (sscanf(text, "tally %llu %llu %llu %lf %n", &p->ran, &p->refused, &p->referenced,
            &p->difference, &at) >= 4 &&
        at > 0)
        snprintf(p->why, sizeof p->why, "%s", text + at);
}

static void print_clean(const struct probing *p) {
    if (p->job.args->quiet) return;
    printf("  %llu cases ran, %llu were refused; ", p->ran, p->refused);
    if (p->referenced)
        printf("%llu agree with a reference (largest difference %.3g)\n", p->referenced,
            p->difference);
    else
        printf("no reference to compare with\n");
}

static void end(struct probe_job *job, const char *obstacle, const char *crash) {
    struct probing *p = (struct probing *)job;
    p->all_ran += p->ran;
    p->all_refused += p->refused;
    if (obstacle) {
        p->unprobed++;
        printf("  not probed: %s\n", obstacle);
    } else if (crash) {
        p->faulty++;
        printf("  %s, at %s\n", crash, p->last);
    } else if (p->faults) {
        p->faulty++;
    } else if (p->ran == 0) {
        p->without_case++;
        printf("  no case ran; the last refusal: %s\n", p->why);
    } else {
        p->clean++;
        print_clean(p);
    }
}

int cmd_plugin_probe(const struct cli_args *args) {
    struct probing p = {.job = {args, SECONDS, work, line, begin, end, 0}};
    int code = probe_children(&p.job);
    if (code != EXIT_OK) return code;
    printf(
        "%u kernels: %u without fault, %u with faults, %u of which no case ran, %u not "
        "probed; %llu cases ran, %llu were refused with a reason\n",
        p.job.kernels, p.clean, p.faulty, p.without_case, p.unprobed, p.all_ran,
        p.all_refused);
    return p.faulty ? EXIT_MISMATCH : EXIT_OK;
}
