/* Hostile versions of every official node model: thousands of well-formed files whose
 * attributes, names, dims, types and inputs no exporter would write, each loaded and run
 * under small limits. A crash, a sanitizer's report, a case that takes longer than its
 * deadline allows, a failure without a sentence or one that blames ourselves fails.
 *
 * The order of cases and each case are fixed; HOSTILE_SECONDS (20) says when to stop,
 * HOSTILE_ROUND where to begin, HOSTILE_ONLY picks models by a part of their
 * name, HOSTILE_CASE one round. The models come from the folder TENON_ONNX_DATA; without it
 * the test is skipped. */
#include "mutate.h"
#include "tensor_file.h"
#include "trial.h"

#include <dirent.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_MODELS = 8192,
    MOST_FEEDS = 16,
    PER_VISIT = 4,
    SKIP = 77,
    MOST_BYTES = 1 << 20
};

/* Where the child is, seen by its parent after a crash. */
struct place {
    unsigned model, round;
    uint64_t cases, loaded, ran, complaints;
};

struct list {
    char *names[MOST_MODELS];
    unsigned n;
};

static const char *data_dir;
static struct list models;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_models(const char *only) {
    char path[4096];
    snprintf(path, sizeof path, "%s/node", data_dir);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "test_", 5) != 0 || models.n == MOST_MODELS) continue;
        if (only && fnmatch(only, entry->d_name, 0) != 0) continue;
        models.names[models.n++] = strdup(entry->d_name);
    }
    if (dir) closedir(dir);
    qsort(models.names, models.n, sizeof *models.names, by_text);
}

/* ---- one model ------------------------------------------------------------------------ */

struct source {
    char *data;
    uint64_t size;
    char *raw[MOST_FEEDS]; /* the inputs' messages */
    uint64_t raw_size[MOST_FEEDS];
    unsigned n_feeds;
};

static bool read_source(const char *name, struct source *out) {
    char path[4096];
    snprintf(path, sizeof path, "%s/node/%s/model.onnx", data_dir, name);
    memset(out, 0, sizeof *out);
    if (file_read(path, &out->data, &out->size, NULL) != TN_OK) return false;
    for (; out->n_feeds < MOST_FEEDS; out->n_feeds++) {
        unsigned i = out->n_feeds;
        snprintf(path, sizeof path, "%s/node/%s/test_data_set_0/input_%u.pb", data_dir,
            name, i);
        if (file_read(path, &out->raw[i], &out->raw_size[i], NULL) != TN_OK) break;
    }
    return true;
}

static void free_source(struct source *source) {
    free(source->data);
    for (unsigned i = 0; i < source->n_feeds; i++)
        free(source->raw[i]);
}

/* Makes some inputs constants or shapeless, then damages the model. */
static void damage(Onnx__ModelProto *model, const struct source *source, bool *fed,
    struct chance *chance, struct mutate_memory *memory) {
    ProtobufCAllocator allocator = mutate_allocator(memory);
    Onnx__GraphProto *graph = model->graph;
    const char *names[MOST_FEEDS];
    size_t n = graph->n_input < source->n_feeds ? graph->n_input : source->n_feeds;
    uint64_t manner = chance_below(chance, 4);
    for (size_t i = 0; i < n; i++)
        names[i] = graph->input[i]->name;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (chance_below(chance, 3) == 0) mutate_unshape(graph, i);
    }
    for (size_t i = 0; i < n; i++) {
        const Onnx__TypeProto *type = NULL;
        for (size_t k = 0; k < graph->n_input; k++) {
            if (strcmp(graph->input[k]->name, names[i]) == 0)
                type = graph->input[k]->type;
        }
        bool freeze = manner == 0 || (manner == 1 && i > 0) ||
                      (manner == 2 && chance_below(chance, 2));
        if (!freeze || !type || !type->tensor_type) continue;
        Onnx__TensorProto *content = onnx__tensor_proto__unpack(
            &allocator, source->raw_size[i], (const uint8_t *)source->raw[i]);
        if (!content) continue;
        mutate_freeze(graph, names[i], content, memory);
        fed[i] = true;
    }
    mutate_model(model, chance, memory);
}

static unsigned read_feeds(const struct source *source, const bool *frozen,
    const int32_t *kinds, struct tn_value **feeds) {
    unsigned n = 0;
    for (unsigned i = 0; i < source->n_feeds; i++) {
        struct tn_type type = {.kind = (uint32_t)kinds[i], .elem_kind = TN_KIND_TENSOR};
        if (frozen[i]) continue;
        feeds[n] = NULL;
        (void)tn_value_parse(source->raw[i], source->raw_size[i], &type, &feeds[n], NULL);
        n++;
    }
    return n;
}

static int32_t kind_of(const Onnx__TypeProto *type) {
    if (type && type->sequence_type) return TN_KIND_SEQUENCE;
    return type && type->optional_type ? TN_KIND_OPTIONAL : TN_KIND_TENSOR;
}

static void one_case(struct tn_runtime *runtime, const struct source *source,
    struct place *place, struct mutate_memory *memory, struct trial *trial) {
    struct chance chance = {place->round * UINT64_C(0x10001)};
    for (const char *c = models.names[place->model]; *c; c++)
        chance.state = chance.state * 31 + (uint8_t)*c;
    bool frozen[MOST_FEEDS] = {false};
    int32_t kinds[MOST_FEEDS] = {0};
    struct tn_value *feeds[MOST_FEEDS] = {0};
    memory->used = 0;
    ProtobufCAllocator allocator = mutate_allocator(memory);
    Onnx__ModelProto *model = onnx__model_proto__unpack(
        &allocator, source->size, (const uint8_t *)source->data);
    if (!model || !model->graph) return;
    for (unsigned i = 0; i < source->n_feeds && i < model->graph->n_input; i++)
        kinds[i] = kind_of(model->graph->input[i]->type);
    damage(model, source, frozen, &chance, memory);
    size_t size = onnx__model_proto__get_packed_size(model);
    uint8_t *bytes = malloc(size ? size : 1);
    onnx__model_proto__pack(model, bytes);
    if (getenv("HOSTILE_SAVE")) {
        FILE *file = fopen(getenv("HOSTILE_SAVE"), "wb");
        if (file) {
            fwrite(bytes, 1, size, file);
            fclose(file);
        }
    }
    unsigned n = read_feeds(source, frozen, kinds, feeds);
    trial_model(runtime, bytes, size, feeds, n, &chance, trial);
    for (unsigned i = 0; i < n; i++)
        tn_value_release(&feeds[i]);
    free(bytes);
}

/* ---- a child that walks from a place until the time is up -------------------------------- */

static void guard_case(void) {
    struct itimerval limit = {.it_value = {.tv_sec = 8}};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static void visit(struct tn_runtime *runtime, struct place *place,
    struct mutate_memory *memory, unsigned last_round) {
    struct source source;
    if (!read_source(models.names[place->model], &source)) return;
    bool small = source.size < MOST_BYTES;
    for (; small && place->round < last_round; place->round++) {
        struct trial trial = {0};
        guard_case();
        double start = cpu_time();
        one_case(runtime, &source, place, memory, &trial);
        double took = cpu_time() - start;
        place->cases++;
        place->ran += trial.status == TN_OK;
        if (took > 2.0 && !trial.complaint[0])
            snprintf(trial.complaint, sizeof trial.complaint, "it takes %.1f s", took);
        if (trial.complaint[0]) {
            place->complaints++;
            printf("%s round %u: %s\n", models.names[place->model], place->round,
                trial.complaint);
        }
        if (getenv("HOSTILE_VERBOSE"))
            printf("%s round %u: %d %s\n", models.names[place->model], place->round,
                trial.status, trial.message);
    }
    free_source(&source);
}

static int walk(struct place *place, unsigned last, double end) {
    struct mutate_memory memory = {malloc(64 << 20), 64 << 20, 0};
    struct tn_runtime *runtime = trial_runtime();
    if (!memory.data || !runtime) return 3;
    while (now() < end && place->round < last) {
        unsigned begin = place->round / PER_VISIT * PER_VISIT;
        visit(runtime, place, &memory, begin + PER_VISIT);
        place->round = begin;
        if (++place->model < models.n) continue;
        place->model = 0;
        place->round = begin + PER_VISIT;
    }
    tn_runtime_destroy(runtime);
    free(memory.data);
    return 0;
}

static unsigned number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Children walk until the time is up; each crash is named and left behind. */
static unsigned supervise(struct place *place, unsigned last, double end) {
    unsigned crashes = 0;
    while (now() < end && crashes < 50) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) return crashes + 1;
        if (child == 0) {
            int code = walk(place, last, end);
            fflush(stdout);
            exit(code);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return crashes;
        printf("%s round %u: crash (status %d)\n", models.names[place->model],
            place->round, status);
        crashes++;
        place->round++;
        if (place->round % PER_VISIT == 0) {
            place->round -= PER_VISIT;
            if (++place->model == models.n) {
                place->model = 0;
                place->round += PER_VISIT;
            }
        }
    }
    return crashes;
}

int main(void) {
    struct place *place = mmap(
        NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data_dir = getenv("TENON_ONNX_DATA");
    if (place == MAP_FAILED) return 1;
    if (data_dir) find_models(getenv("HOSTILE_ONLY"));
    if (!models.n) {
        fprintf(stderr, "hostile: no models below TENON_ONNX_DATA\n");
        return SKIP;
    }
    unsigned begin = number("HOSTILE_ROUND", 0), last = UINT32_MAX;
    place->round = begin;
    if (getenv("HOSTILE_CASE")) {
        place->round = number("HOSTILE_CASE", 0);
        last = place->round + 1;
        struct mutate_memory memory = {malloc(64 << 20), 64 << 20, 0};
        struct tn_runtime *runtime = trial_runtime();
        for (; memory.data && runtime && place->model < models.n; place->model++) {
            place->round = last - 1;
            visit(runtime, place, &memory, last);
        }
        tn_runtime_destroy(runtime);
        free(memory.data);
        return place->complaints != 0;
    }
    double end = now() + number("HOSTILE_SECONDS", 20);
    unsigned crashes = supervise(place, last, end);
    printf("%llu cases, %llu ran, %llu complaints, %u crashes; at round %u\n",
        (unsigned long long)place->cases, (unsigned long long)place->ran,
        (unsigned long long)place->complaints, crashes, place->round);
    return place->complaints || crashes || place->cases == 0;
}
