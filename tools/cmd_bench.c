/* tenon bench: wall time of runs. Several models take turns in rounds, so that a machine that
 * slows down slows all of them. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 16 };

struct entry {
    struct job job;
    struct times times;
};

static int measure(
    const struct cli_args *args, struct entry *entry, double seconds, long runs) {
    double spent = 0;
    uint64_t ns;
    for (long i = 0; runs ? i < runs : spent < seconds; i++) {
        int code = job_run(args, &entry->job, false, &ns);
        if (code != EXIT_OK) return code;
        spent += (double)ns / 1e9;
        if (!times_add(&entry->times, ns))
            return cli_usage(args, "not enough memory for the times");
    }
    return EXIT_OK;
}

static int run_rounds(const struct cli_args *args, struct entry *entries, unsigned n) {
    long rounds = args->rounds > 0 ? args->rounds : 1, warmup = args->warmup;
    int code = EXIT_OK;
    for (unsigned m = 0; m < n && code == EXIT_OK; m++)
        code = measure(args, &entries[m], 0.1, warmup > 0 ? warmup : warmup == 0 ? 1 : 0);
    for (unsigned m = 0; m < n; m++)
        entries[m].times.n = 0;
    progress_begin(args, "measuring");
    for (long r = 0; r < rounds && code == EXIT_OK; r++) {
        for (unsigned m = 0; m < n && code == EXIT_OK; m++)
            code = measure(args, &entries[m], args->seconds / (double)rounds,
                args->runs ? (args->runs + rounds - 1) / rounds : 0);
    }
    progress_end();
    return code;
}

static void print_table(const struct cli_args *args, struct entry *entries, unsigned n) {
    if (args->json)
        putchar('[');
    else
        printf("%-32s %9s %11s %11s %11s %11s %12s\n", "model", "runs", "min us",
            "median us", "p90 us", "p99 us", "runs/s");
    for (unsigned m = 0; m < n; m++) {
        struct times *t = &entries[m].times;
        times_sort(t);
        double min = times_quantile_us(t, 0), median = times_quantile_us(t, 0.5);
        double p90 = times_quantile_us(t, 0.9), p99 = times_quantile_us(t, 0.99);
        const char *base = strrchr(entries[m].job.path, '/');
        base = base ? base + 1 : entries[m].job.path;
        if (args->json) {
            fputs(m ? ",{\"model\":" : "{\"model\":", stdout);
            cli_json_string(stdout, entries[m].job.path);
            printf(",\"runs\":%llu,\"min_us\":%.3f,\"median_us\":%.3f,\"p90_us\":%.3f,"
                   "\"p99_us\":%.3f}",
                (unsigned long long)t->n, min, median, p90, p99);
        } else {
            printf("%-32.32s %9llu %11.2f %11.2f %11.2f %11.2f %12.1f\n", base,
                (unsigned long long)t->n, min, median, p90, p99,
                median > 0 ? 1e6 / median : 0);
        }
    }
    if (args->json) puts("]");
}

int cmd_bench(const struct cli_args *args) {
    static struct entry entries[MOST_MODELS];
    struct tn_runtime *runtime = NULL;
    unsigned n = args->models.n;
    if (n == 0 || n > MOST_MODELS)
        return cli_usage(args, "give 1 to %d models, not %u", MOST_MODELS, n);
    int code = cli_runtime(args, &runtime);
    for (unsigned m = 0; m < n && code == EXIT_OK; m++)
        code = job_open(args, runtime, args->models.items[m].text, &entries[m].job);
    if (code == EXIT_OK) code = run_rounds(args, entries, n);
    if (code == EXIT_OK) print_table(args, entries, n);
    for (unsigned m = 0; m < n; m++) {
        job_close(&entries[m].job);
        free(entries[m].times.ns);
    }
    tn_runtime_destroy(runtime);
    return code;
}
