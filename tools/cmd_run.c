/* tenon run: inputs in, outputs printed, written and compared. */
#include "job.h"
#include "number.h"
#include "tensor_file.h"
#include "value_print.h"

#include "tenon/helper/diag.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- printing ------------------------------------------------------------------------- */

static uint64_t best_of_row(
    const struct tn_tensor *tensor, uint64_t row, uint64_t width) {
    uint64_t best = 0;
    for (uint64_t k = 1; k < width; k++) {
        if (number_at(tensor->dtype, tensor->data, row * width + k) >
            number_at(tensor->dtype, tensor->data, row * width + best))
            best = k;
    }
    return best;
}

static void print_classes(const struct tn_tensor *tensor) {
    enum { PER_LINE = 30 };
    uint64_t width = tensor->rank ? (uint64_t)tensor->dims[tensor->rank - 1] : 0;
    uint64_t rows = width ? number_count(tensor) / width : 0;
    fputs("  classes:", stdout);
    for (uint64_t r = 0; r < rows; r++)
        printf("%s %llu", r && r % PER_LINE == 0 ? "\n          " : "",
            (unsigned long long)best_of_row(tensor, r, width));
    putchar('\n');
}

static void print_output(const struct cli_args *args, const struct tn_io *io,
    const struct tn_value_ref *value, bool first) {
    if (args->json) {
        fputs(first ? "{\"name\":" : ",{\"name\":", stdout);
        cli_json_string(stdout, io->name);
        putchar(',');
        value_print_json(stdout, value, args->quiet);
        putchar('}');
        return;
    }
    printf("%s: ", io->name);
    value_print_type(stdout, value);
    putchar('\n');
    if (value->kind == TN_KIND_ABSENT) return;
    if (args->classes && value->kind == TN_KIND_TENSOR)
        print_classes(value->as.tensor);
    else if (!args->quiet)
        value_print_items(stdout, value);
}

/* ---- comparing ------------------------------------------------------------------------ */

struct verdict {
    unsigned compared, failed;
    double max_abs;
};

static uint64_t same_classes(const struct tn_tensor *a, const struct tn_tensor *b) {
    uint64_t width = (uint64_t)a->dims[a->rank - 1], same = 0;
    uint64_t rows = width ? number_count(a) / width : 0;
    for (uint64_t r = 0; r < rows; r++)
        same += best_of_row(a, r, width) == best_of_row(b, r, width);
    return same;
}

static void compare_output(const struct cli_args *args, const char *name,
    const struct tn_value_ref *actual, const struct tn_value_ref *expected,
    struct verdict *verdict) {
    struct number_diff diff = {0};
    bool tensors = actual->kind == TN_KIND_TENSOR && expected->kind == TN_KIND_TENSOR;
    bool same = tensors && number_compare(actual->as.tensor, expected->as.tensor,
                               args->rtol, args->atol, &diff);
    verdict->compared++;
    verdict->failed += !same;
    verdict->max_abs = fmax(verdict->max_abs, diff.max_abs);
    if (args->json) return;
    if (!tensors || !diff.same_type || !diff.same_shape) {
        printf("  %s: MISMATCH, expected ", name);
        value_print_type(stdout, expected);
        putchar('\n');
        return;
    }
    printf("  %s: %s, largest difference %.3g", name, same ? "agrees" : "MISMATCH",
        diff.max_abs);
    if (!same)
        printf(", %llu of %llu elements, first at %llu",
            (unsigned long long)diff.mismatches, (unsigned long long)diff.count,
            (unsigned long long)diff.first);
    if (args->classes && actual->as.tensor->rank > 0) {
        uint64_t width = (uint64_t)actual->as.tensor->dims[actual->as.tensor->rank - 1];
        printf(", same class in %llu of %llu rows",
            (unsigned long long)same_classes(actual->as.tensor, expected->as.tensor),
            (unsigned long long)(width ? diff.count / width : 0));
    }
    putchar('\n');
}

static int compare_file(const struct cli_args *args, struct job *job, uint32_t index,
    const char *path, struct verdict *verdict) {
    const struct tn_io *io = tn_session_io(job->session, TN_OUTPUT, index);
    struct tn_value *expected = NULL;
    struct tn_diag diag = {0};
    if (tensor_file_read(path, io->name, &io->type, &expected, &diag) != TN_OK)
        return cli_fail(args, EXIT_USAGE, &diag);
    compare_output(args, io->name, tn_context_output(job->context, index),
        tn_value_get(expected), verdict);
    tn_value_release(&expected);
    return EXIT_OK;
}

static int compare_all(
    const struct cli_args *args, struct job *job, struct verdict *verdict) {
    uint32_t n = tn_session_io_count(job->session, TN_OUTPUT), position = 0;
    for (unsigned i = 0; i < args->expects.n; i++) {
        const struct cli_pair *pair = &args->expects.items[i];
        uint32_t index = pair->name ? tn_session_find(job->session, TN_OUTPUT, pair->name)
                                    : position++;
        if (index >= n)
            return cli_usage(args, "the model has no output '%s'",
                pair->name ? pair->name : pair->text);
        int code = compare_file(args, job, index, pair->text, verdict);
        if (code != EXIT_OK) return code;
    }
    for (uint32_t i = 0; args->data_dir && i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/output_%u.pb", args->data_dir, i);
        if (access(path, F_OK) != 0) continue;
        int code = compare_file(args, job, i, path, verdict);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

/* ---- the verb ------------------------------------------------------------------------- */

static tn_status write_tensor(const struct cli_args *args, const char *name,
    const char *ending, const struct tn_tensor *tensor, struct tn_diag *diag) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s%s", args->output_dir, name, ending);
    for (char *c = path + strlen(args->output_dir) + 1; n > 0 && *c; c++)
        *c = *c == '/' ? '_' : *c;
    return tensor_file_write(path, tensor, diag);
}

/* Tensors as NAME.npy; maps, and sequences of maps with the same keys, as NAME.npy (their
 * values) and NAME.keys.npy. */
static int write_outputs(const struct cli_args *args, const struct job *job) {
    struct tn_diag diag = {0};
    if (mkdir(args->output_dir, 0777) != 0 && errno != EEXIST)
        return cli_usage(
            args, "cannot make the folder '%s': %s", args->output_dir, strerror(errno));
    for (uint32_t i = 0; i < tn_session_io_count(job->session, TN_OUTPUT); i++) {
        const struct tn_value_ref *value = tn_context_output(job->context, i);
        const char *name = tn_session_io(job->session, TN_OUTPUT, i)->name;
        const struct tn_map *map = value->kind == TN_KIND_MAP ? value->as.map
                                   : value->kind == TN_KIND_SEQUENCE
                                       ? tn_sequence_table(value->as.sequence)
                                       : NULL;
        const struct tn_tensor *tensor = map ? &map->values
                                         : value->kind == TN_KIND_TENSOR
                                             ? value->as.tensor
                                             : NULL;
        tn_status status =
            tensor ? write_tensor(args, name, ".npy", tensor, &diag) : TN_OK;
        if (status == TN_OK && map)
            status = write_tensor(args, name, ".keys.npy", &map->keys, &diag);
        if (status != TN_OK) return cli_fail(args, EXIT_RUN, &diag);
    }
    return EXIT_OK;
}

/* Rows of the first input: what "per item" means when several stand in one batch. */
static uint64_t batch_of(const struct job *job) {
    if (job->feed.n == 0 || !job->feed.values[0]) return 1;
    const struct tn_value_ref *value = tn_value_get(job->feed.values[0]);
    if (value->kind != TN_KIND_TENSOR || value->as.tensor->rank == 0) return 1;
    return value->as.tensor->dims[0] > 0 ? (uint64_t)value->as.tensor->dims[0] : 1;
}

static int time_runs(const struct cli_args *args, struct job *job, double *out_us) {
    struct times times = {0};
    uint64_t ns = 0;
    long runs = args->runs ? args->runs : 1;
    int code = EXIT_OK;
    for (long i = 0; i < args->warmup && code == EXIT_OK; i++)
        code = job_run(args, job, false, NULL);
    for (long i = 0; i < runs && code == EXIT_OK; i++) {
        code = job_run(args, job, args->profile, &ns);
        if (!times_add(&times, ns)) break;
    }
    times_sort(&times);
    *out_us = times_quantile_us(&times, 0.5);
    free(times.ns);
    return code;
}

static void report(const struct cli_args *args, struct job *job, double us) {
    uint32_t n = tn_session_io_count(job->session, TN_OUTPUT);
    uint64_t batch = batch_of(job);
    if (args->json) fputs("{\"outputs\":[", stdout);
    for (uint32_t i = 0; i < n; i++)
        print_output(args, tn_session_io(job->session, TN_OUTPUT, i),
            tn_context_output(job->context, i), i == 0);
    if (args->json)
        printf("],\"median_us\":%.3f,\"batch\":%llu", us, (unsigned long long)batch);
    else
        printf("time: %.1f us a run%s", us, batch > 1 ? "" : "\n");
    if (!args->json && batch > 1)
        printf(", %.2f us an item (batch %llu)\n", us / (double)batch,
            (unsigned long long)batch);
}

static int reports_and_verdict(const struct cli_args *args, struct job *job) {
    struct tn_diag diag = {0};
    struct verdict verdict = {0};
    int code = compare_all(args, job, &verdict);
    if (args->json)
        printf(",\"compared\":%u,\"mismatches\":%u,\"max_abs\":%g}\n", verdict.compared,
            verdict.failed, verdict.max_abs);
    if (args->placement_report && !args->json)
        (void)tn_session_report(
            job->session, TN_REPORT_PLACEMENT, TN_FORMAT_TEXT, cli_write, stdout, &diag);
    if (args->profile && !args->json)
        (void)tn_context_report(
            job->context, TN_REPORT_PROFILE, TN_FORMAT_TEXT, cli_write, stdout, &diag);
    return code != EXIT_OK ? code : verdict.failed ? EXIT_MISMATCH : EXIT_OK;
}

int cmd_run(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    struct job job = {0};
    double us = 0;
    if (args->models.n != 1)
        return cli_usage(args, "give one model, not %u", args->models.n);
    int code = cli_runtime(args, &runtime);
    if (code == EXIT_OK) code = job_open(args, runtime, args->models.items[0].text, &job);
    if (code == EXIT_OK) code = time_runs(args, &job, &us);
    if (code == EXIT_OK) {
        report(args, &job, us);
        code = reports_and_verdict(args, &job);
    }
    if (code == EXIT_OK && args->output_dir) code = write_outputs(args, &job);
    job_close(&job);
    tn_runtime_destroy(runtime);
    return code;
}
