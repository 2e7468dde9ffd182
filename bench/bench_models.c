/* Models against ONNX Runtime in one process: same inputs, same threads, wall clock, the two
 * taking turns in short rounds. Prints the best and the median of each, and their ratio.
 *
 *     bench_models [--ort LIBRARY] [--threads N] [--seconds S] [--shape NAME:1x3x4] MODEL…
 *     bench_models [--ort LIBRARY] --load MODEL…      time and peak memory of loading, each in
 *                                                     a process of its own
 *
 * Without --ort, TENON_TEST_ORT names the library; without both only Tenon is measured. */
#include "rival.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_MODELS = 64, MOST_SAMPLES = 1 << 18, MOST_RANK = 16, MOST_SHAPES = 16 };

struct settings {
    const char *ort;
    unsigned threads;
    double seconds;
    bool load;
    const char *shapes[MOST_SHAPES];
    unsigned n_shapes;
    const char *models[MOST_MODELS];
    unsigned n_models;
};

struct samples {
    double *us;
    unsigned n;
};

/* ---- inputs --------------------------------------------------------------------------- */

static int64_t dim_of(
    const struct settings *settings, const struct tn_io *io, int32_t axis) {
    size_t n = strlen(io->name);
    for (unsigned i = 0; i < settings->n_shapes; i++) {
        const char *text = settings->shapes[i];
        if (strncmp(text, io->name, n) != 0 || text[n] != ':') continue;
        text += n + 1;
        for (int32_t a = 0; a < axis && text; a++) {
            text = strpbrk(text, "x,");
            text = text ? text + 1 : NULL;
        }
        if (text) return strtoll(text, NULL, 10);
    }
    return io->type.dims[axis] < 0 ? 1 : io->type.dims[axis];
}

static bool make_input(
    const struct settings *settings, const struct tn_io *io, struct tn_tensor *out) {
    int64_t *dims = calloc(MOST_RANK, sizeof *dims);
    uint64_t n = 1, size = tn_dtype_bits(io->type.dtype) / 8;
    if (!dims || io->type.rank < 0 || io->type.rank > MOST_RANK || size == 0)
        return false;
    for (int32_t a = 0; a < io->type.rank; a++) {
        dims[a] = dim_of(settings, io, a);
        n *= (uint64_t)dims[a];
    }
    char *data = aligned_alloc(64, (n * size + 63) / 64 * 64 + 64);
    if (!data) return false;
    memset(data, 0, n * size);
    for (uint64_t i = 0; i < n; i++) {
        float f = (float)((i * 2654435761u) % 1000) / 1000.0f;
        if (io->type.dtype == TN_FLOAT)
            memcpy(data + i * size, &f, sizeof f);
        else
            data[i * size] = (char)(i % 7);
    }
    *out = (struct tn_tensor){.data = data,
        .dims = dims,
        .size = n * size,
        .dtype = io->type.dtype,
        .rank = (uint32_t)io->type.rank};
    return true;
}

static bool make_inputs(const struct settings *settings, struct tn_session *session,
    struct rival_inputs *out) {
    *out = (struct rival_inputs){.n_inputs = tn_session_io_count(session, TN_INPUT),
        .n_outputs = tn_session_io_count(session, TN_OUTPUT)};
    if (out->n_inputs > RIVAL_MOST_IO || out->n_outputs > RIVAL_MOST_IO) return false;
    for (uint32_t i = 0; i < out->n_inputs; i++) {
        const struct tn_io *io = tn_session_io(session, TN_INPUT, i);
        out->input_names[i] = io->name;
        if (!make_input(settings, io, &out->tensors[i])) return false;
    }
    for (uint32_t i = 0; i < out->n_outputs; i++)
        out->output_names[i] = tn_session_io(session, TN_OUTPUT, i)->name;
    return true;
}

/* ---- runs ----------------------------------------------------------------------------- */

static bool sample(const struct rival_face *face, struct rival *rival, double seconds,
    struct samples *out) {
    uint64_t end = rival_now_ns() + (uint64_t)(seconds * 1e9), before, after;
    do {
        before = rival_now_ns();
        if (!face->run(rival)) return false;
        after = rival_now_ns();
        if (out->n < MOST_SAMPLES) out->us[out->n++] = (double)(after - before) / 1000.0;
    } while (after < end);
    return true;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_row(
    const char *model, struct samples s[2], bool has_ort, double error) {
    double best[2] = {0}, median[2] = {0};
    for (unsigned r = 0; r < 2; r++) {
        if (s[r].n == 0) continue;
        qsort(s[r].us, s[r].n, sizeof *s[r].us, compare);
        best[r] = s[r].us[0];
        median[r] = s[r].us[s[r].n / 2];
    }
    printf("%-30.30s %11.2f %11.2f", base_name(model), best[0], median[0]);
    if (has_ort)
        printf(" %11.2f %11.2f %8.2f %8.2f  %.1e", best[1], median[1], best[0] / best[1],
            median[0] / median[1], error);
    putchar('\n');
    fflush(stdout);
}

/* Largest difference of the first 1000 elements of output 0, when it is float. */
static double difference(struct rival *const rivals[2], struct tn_session *session) {
    const struct tn_io *io = tn_session_io(session, TN_OUTPUT, 0);
    const float *a = rival_tenon.output(rivals[0], 0),
                *b = rival_ort.output(rivals[1], 0);
    uint64_t n = 1;
    double worst = 0;
    for (int32_t i = 0; i < io->type.rank; i++)
        n *= io->type.dims[i] > 0 ? (uint64_t)io->type.dims[i] : 1;
    if (io->type.dtype != TN_FLOAT || !a || !b) return NAN;
    for (uint64_t i = 0; i < n && i < 1000; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

static bool bench(const struct settings *settings, const char *model) {
    enum { ROUNDS = 10 };
    const struct rival_face *faces[2] = {&rival_tenon, &rival_ort};
    struct rival *rivals[2] = {0};
    struct samples samples[2] = {0};
    struct rival_inputs inputs = {0};
    unsigned n = settings->ort ? 2 : 1;
    bool good = true;
    double error = NAN;
    for (unsigned r = 0; r < n && good; r++) {
        samples[r].us = malloc(MOST_SAMPLES * sizeof *samples[r].us);
        rivals[r] = faces[r]->open(model, settings->threads, settings->ort);
        good = samples[r].us && rivals[r];
    }
    good = good && make_inputs(settings, rival_session(rivals[0]), &inputs);
    for (unsigned r = 0; r < n && good; r++)
        good = faces[r]->bind(rivals[r], &inputs);
    for (unsigned round = 0; round < ROUNDS && good; round++) {
        for (unsigned r = 0; r < n && good; r++)
            good = sample(faces[r], rivals[r], settings->seconds / ROUNDS, &samples[r]);
    }
    if (good && n == 2) error = difference(rivals, rival_session(rivals[0]));
    if (good) print_row(model, samples, n == 2, error);
    for (unsigned r = 0; r < n; r++) {
        if (rivals[r]) faces[r]->close(rivals[r]);
        free(samples[r].us);
    }
    for (uint32_t i = 0; i < inputs.n_inputs; i++) {
        free(inputs.tensors[i].data);
        free((void *)(uintptr_t)inputs.tensors[i].dims);
    }
    return good;
}

/* ---- loading -------------------------------------------------------------------------- */

static bool load_once(const struct rival_face *face, const struct settings *settings,
    const char *model, double *out_ms, double *out_mb) {
    int ends[2];
    double report[2] = {0};
    if (pipe(ends) != 0) return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        double before = (double)usage.ru_maxrss / 1024;
        uint64_t start = rival_now_ns();
        struct rival *rival = face->open(model, settings->threads, settings->ort);
        report[0] = (double)(rival_now_ns() - start) / 1e6;
        getrusage(RUSAGE_SELF, &usage);
        report[1] = (double)usage.ru_maxrss / 1024 - before;
        _exit(!rival || write(ends[1], report, sizeof report) != sizeof report);
    }
    close(ends[1]);
    bool good = read(ends[0], report, sizeof report) == sizeof report;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    *out_ms = report[0];
    *out_mb = report[1];
    return good;
}

static bool bench_load(const struct settings *settings, const char *model) {
    enum { TRIES = 5 };
    const struct rival_face *faces[2] = {&rival_tenon, &rival_ort};
    double best[2] = {1e30, 1e30}, peak[2] = {0};
    unsigned n = settings->ort ? 2 : 1;
    for (unsigned t = 0; t < TRIES; t++) {
        for (unsigned r = 0; r < n; r++) {
            double ms, mb;
            if (!load_once(faces[r], settings, model, &ms, &mb)) return false;
            best[r] = fmin(best[r], ms);
            peak[r] = fmax(peak[r], mb);
        }
    }
    printf("%-30.30s %9.1f ms %8.1f MB", base_name(model), best[0], peak[0]);
    if (n == 2)
        printf("   onnxruntime %9.1f ms %8.1f MB   time %.3f memory %.2f", best[1],
            peak[1], best[0] / best[1], peak[0] / peak[1]);
    putchar('\n');
    return true;
}

static bool parse(int argc, char **argv, struct settings *out) {
    *out = (struct settings){.ort = getenv("TENON_TEST_ORT"), .threads = 1, .seconds = 2};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--load") == 0)
            out->load = true;
        else if (value && strcmp(argv[i], "--ort") == 0)
            out->ort = argv[++i];
        else if (value && strcmp(argv[i], "--threads") == 0)
            out->threads = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (value && strcmp(argv[i], "--seconds") == 0)
            out->seconds = strtod(argv[++i], NULL);
        else if (value && strcmp(argv[i], "--shape") == 0 && out->n_shapes < MOST_SHAPES)
            out->shapes[out->n_shapes++] = argv[++i];
        else if (argv[i][0] != '-' && out->n_models < MOST_MODELS)
            out->models[out->n_models++] = argv[i];
        else
            return false;
    }
    return out->n_models > 0;
}

int main(int argc, char **argv) {
    struct settings settings;
    bool good = true;
    if (!parse(argc, argv, &settings)) {
        fputs("usage: bench_models [--ort LIBRARY] [--threads N] [--seconds S] "
              "[--shape NAME:DIMS] [--load] MODEL…\n",
            stderr);
        return 2;
    }
    if (!settings.load)
        printf("%-30s %11s %11s%s\n", "model, us a run", "best", "median",
            settings.ort ? "    ort best  ort median    ratio  (median)  difference"
                         : "");
    for (unsigned m = 0; m < settings.n_models; m++)
        good &= settings.load ? bench_load(&settings, settings.models[m])
                              : bench(&settings, settings.models[m]);
    return good ? 0 : 1;
}
