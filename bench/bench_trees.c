/* Forests against ONNX Runtime in one process, the two taking turns in short rounds: rows of
 * a file, all in one batch or one by one (each call another row). Prints for each model the
 * microseconds of one batch, best and median, the ratios, and the largest difference of the
 * scores.
 *
 *     bench_trees [--ort LIBRARY] [--threads N] [--seconds S] --rows FILE:FEATURES
 *                 [--batch N] MODEL…
 *
 * FILE holds float32 rows of FEATURES numbers. --batch: rows a call, default all. bench/trees
 * makes models and rows. Without --ort, TENON_TEST_ORT names the library. */
#include "rival.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 64, MOST_SAMPLES = 1 << 18, ROUNDS = 12, CALLS_OF_FEW = 64 };

struct settings {
    const char *ort, *rows_path;
    unsigned threads;
    double seconds;
    int64_t features, batch, n_rows;
    float *rows;
    const char *models[MOST_MODELS];
    unsigned n_models;
};

struct samples {
    double *us; /* of one call */
    unsigned n;
};

/* One model with its two rivals and the batch that both read. */
struct match {
    const struct settings *settings;
    struct rival *rivals[2];
    struct rival_inputs inputs;
    int64_t dims[2];
    float *batch;
    int64_t next; /* row to begin the next call with */
    struct samples samples[2];
};

static const struct rival_face *const faces[2] = {&rival_tenon, &rival_ort};

static bool read_rows(struct settings *settings) {
    FILE *file = fopen(settings->rows_path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size < 0 || settings->features < 1) {
        fprintf(stderr, "no rows in %s\n", settings->rows_path);
        return false;
    }
    rewind(file);
    settings->n_rows = size / (long)sizeof(float) / settings->features;
    settings->rows = malloc((size_t)size + 1);
    bool good =
        settings->rows && fread(settings->rows, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (settings->batch < 1 || settings->batch > settings->n_rows)
        settings->batch = settings->n_rows;
    return good && settings->n_rows > 0;
}

static void next_batch(struct match *match) {
    const struct settings *s = match->settings;
    if (match->next + s->batch > s->n_rows) match->next = 0;
    memcpy(match->batch, s->rows + match->next * s->features,
        (size_t)(s->batch * s->features) * sizeof(float));
    match->next += s->batch;
}

static bool open_match(struct match *match, const char *model) {
    const struct settings *s = match->settings;
    for (unsigned r = 0; r < (s->ort ? 2u : 1u); r++) {
        match->samples[r].us = malloc(MOST_SAMPLES * sizeof *match->samples[r].us);
        match->rivals[r] = faces[r]->open(model, s->threads, s->ort);
        if (!match->samples[r].us || !match->rivals[r]) return false;
    }
    struct tn_session *session = rival_session(match->rivals[0]);
    struct rival_inputs *in = &match->inputs;
    in->n_inputs = 1;
    in->input_names[0] = tn_session_io(session, TN_INPUT, 0)->name;
    in->n_outputs = tn_session_io_count(session, TN_OUTPUT);
    if (in->n_outputs > RIVAL_MOST_IO) return false;
    for (uint32_t i = 0; i < in->n_outputs; i++)
        in->output_names[i] = tn_session_io(session, TN_OUTPUT, i)->name;
    size_t size = (size_t)(s->batch * s->features) * sizeof(float);
    match->batch = aligned_alloc(64, (size + 63) / 64 * 64);
    match->dims[0] = s->batch;
    match->dims[1] = s->features;
    if (!match->batch) return false;
    in->tensors[0] = (struct tn_tensor){.data = match->batch,
        .dims = match->dims,
        .size = size,
        .dtype = TN_FLOAT,
        .rank = 2};
    next_batch(match);
    for (unsigned r = 0; r < (s->ort ? 2u : 1u); r++)
        if (!faces[r]->bind(match->rivals[r], in)) return false;
    return true;
}

static void close_match(struct match *match) {
    for (unsigned r = 0; r < 2; r++) {
        if (match->rivals[r]) faces[r]->close(match->rivals[r]);
        free(match->samples[r].us);
    }
    free(match->batch);
}

/* Calls for so many seconds; small batches are timed by the dozen, each call another one. */
static bool sample(struct match *match, unsigned r, double seconds) {
    struct samples *out = &match->samples[r];
    const unsigned calls = match->settings->batch < 64 ? CALLS_OF_FEW : 1;
    const uint64_t end = rival_now_ns() + (uint64_t)(seconds * 1e9);
    uint64_t before, after;
    do {
        before = rival_now_ns();
        for (unsigned c = 0; c < calls; c++) {
            if (calls > 1) next_batch(match);
            if (!faces[r]->run(match->rivals[r])) return false;
        }
        after = rival_now_ns();
        if (out->n < MOST_SAMPLES)
            out->us[out->n++] = (double)(after - before) / 1000.0 / calls;
    } while (after < end);
    return true;
}

/* Largest difference of the last output, the scores, relative to the largest of them. */
static double difference(struct match *match) {
    const uint32_t last = match->inputs.n_outputs - 1;
    const struct tn_io *io =
        tn_session_io(rival_session(match->rivals[0]), TN_OUTPUT, last);
    double worst = 0, largest = 1e-30;
    int64_t n = match->settings->batch;
    if (!faces[0]->run(match->rivals[0]) || !faces[1]->run(match->rivals[1])) return NAN;
    const float *a = faces[0]->output(match->rivals[0], last);
    const float *b = faces[1]->output(match->rivals[1], last);
    if (io->type.dtype != TN_FLOAT || !a || !b) return NAN;
    if (io->type.rank == 2 && io->type.dims[1] > 0) n *= io->type.dims[1];
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)b[i]));
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    }
    return worst / largest;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_match(struct match *match, const char *model, double error) {
    const char *slash = strrchr(model, '/');
    double best[2] = {0}, median[2] = {0};
    for (unsigned r = 0; r < 2; r++) {
        struct samples *s = &match->samples[r];
        if (s->n == 0) continue;
        qsort(s->us, s->n, sizeof *s->us, compare);
        best[r] = s->us[0];
        median[r] = s->us[s->n / 2];
    }
    printf("%-28s %12.2f %12.2f", slash ? slash + 1 : model, best[0], median[0]);
    if (match->settings->ort)
        printf(" %12.2f %12.2f %8.2f %8.2f  %.1e", best[1], median[1], best[1] / best[0],
            median[1] / median[0], error);
    putchar('\n');
    fflush(stdout);
}

static bool bench(const struct settings *settings, const char *model) {
    struct match match = {.settings = settings};
    const unsigned n = settings->ort ? 2 : 1;
    bool good = open_match(&match, model);
    for (unsigned round = 0; round < ROUNDS && good; round++)
        for (unsigned r = 0; r < n && good; r++)
            good = sample(&match, r, settings->seconds / ROUNDS);
    if (good) print_match(&match, model, n == 2 ? difference(&match) : NAN);
    close_match(&match);
    return good;
}

static bool parse(int argc, char **argv, struct settings *out) {
    *out = (struct settings){.ort = getenv("TENON_TEST_ORT"), .threads = 1, .seconds = 2};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && strcmp(argv[i], "--ort") == 0) {
            out->ort = argv[++i];
        } else if (value && strcmp(argv[i], "--threads") == 0) {
            out->threads = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (value && strcmp(argv[i], "--seconds") == 0) {
            out->seconds = strtod(argv[++i], NULL);
        } else if (value && strcmp(argv[i], "--batch") == 0) {
            out->batch = strtoll(argv[++i], NULL, 10);
        } else if (value && strcmp(argv[i], "--rows") == 0) {
            char *colon = strrchr(argv[++i], ':');
            if (!colon) return false;
            *colon = 0;
            out->rows_path = argv[i];
            out->features = strtoll(colon + 1, NULL, 10);
        } else if (argv[i][0] != '-' && out->n_models < MOST_MODELS) {
            out->models[out->n_models++] = argv[i];
        } else {
            return false;
        }
    }
    return out->n_models > 0 && out->rows_path;
}

int main(int argc, char **argv) {
    struct settings settings;
    bool good = true;
    if (!parse(argc, argv, &settings)) {
        fputs("usage: bench_trees [--ort LIBRARY] [--threads N] [--seconds S] "
              "--rows FILE:FEATURES [--batch N] MODEL…\n",
            stderr);
        return 2;
    }
    if (!read_rows(&settings)) return 2;
    printf("%-28s %12s %12s%s\n", "model, us a call", "best", "median",
        settings.ort ? "     ort best   ort median    times (median)  difference" : "");
    for (unsigned m = 0; m < settings.n_models; m++)
        good &= bench(&settings, settings.models[m]);
    free(settings.rows);
    return good ? 0 : 1;
}
