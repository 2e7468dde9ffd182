/* Runs ONNX's backend test data through the public API: DATA/<kind>/test_x/model.onnx with
 * test_data_set_N/{input,output}_i.pb, and DATA/light/light_x.onnx with its output (the input
 * is arange(n)/n). Official comparison: rtol 1e-3, atol 1e-7, exact type and shape.
 *
 * Children run batches and report line by line, so that a crash or a hang costs one test and
 * is named. Expected failures stand in a file with a reason each; a test that fails without
 * standing there, or passes although it does, makes the program fail. */
#include "conformance.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, PATIENCE_MS = 120000, LINE_MOST = 1200 };

static const char *const kinds[] = {
    "node", "simple", "pytorch-converted", "pytorch-operator", "light"};

struct test_list {
    struct test *tests;
    unsigned n, cap;
};

/* ---- finding tests -------------------------------------------------------------------- */

static void add_test(struct test_list *list, const char *kind, const char *name) {
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 1024;
        list->tests = realloc(list->tests, list->cap * sizeof *list->tests);
        if (!list->tests) abort();
    }
    struct test *test = &list->tests[list->n++];
    memset(test, 0, sizeof *test);
    test->kind = kind;
    snprintf(test->name, sizeof test->name, "%s", name);
}

static void find_kind(const char *data, const char *kind, struct test_list *list) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", data, kind);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        bool light = strcmp(kind, "light") == 0;
        if (light ? dot && strcmp(dot, ".onnx") == 0
                  : strncmp(entry->d_name, "test_", 5) == 0)
            add_test(list, kind, entry->d_name);
    }
    if (dir) closedir(dir);
}

static int by_name(const void *a, const void *b) {
    const struct test *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->name, y->name);
}

/* ---- expected failures ---------------------------------------------------------------- */

/* "kind/name reason" a line; # begins a comment. What passes "by chance" only may do so. */
static void read_expected(const char *path, struct test_list *list) {
    char line[LINE_MOST];
    FILE *file = path ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *reason = line + strcspn(line, " ");
        if (line[0] == '#' || line[0] == '\0') continue;
        if (*reason) *reason++ = '\0';
        for (unsigned i = 0; i < list->n; i++) {
            char full[320];
            snprintf(
                full, sizeof full, "%s/%s", list->tests[i].kind, list->tests[i].name);
            if (strcmp(full, line) != 0) continue;
            list->tests[i].expected_failure = true;
            snprintf(list->tests[i].reason, sizeof list->tests[i].reason, "%s", reason);
        }
    }
    if (file) fclose(file);
}

static void write_expected(const char *path, const struct test_list *list) {
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(
        "# Backend tests that do not pass yet, each with its reason. A test that passes\n"
        "# although it stands here fails the run: delete its line.\n",
        file);
    for (unsigned i = 0; i < list->n; i++) {
        const struct test *test = &list->tests[i];
        bool listed = test->expected_failure && *test->reason;
        const char *reason = listed ? test->reason : test->message;
        /* what follows names folders of this machine */
        int length = (int)(listed ? strlen(reason) : strcspn(reason, ";,"));
        if (test->outcome != OUTCOME_PASS)
            fprintf(file, "%s/%s %.*s\n", test->kind, test->name, length, reason);
    }
    fclose(file);
}

/* ---- running in children -------------------------------------------------------------- */

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static int child(const struct options *options, const struct test_list *list,
    unsigned begin, unsigned end, int out) {
    struct runner *runner = runner_create(options);
    FILE *file = fdopen(out, "w");
    if (!runner || !file) return 3;
    for (unsigned i = begin; i < end; i++) {
        struct test test = list->tests[i];
        runner_run(runner, &test);
        for (char *c = test.message; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        fprintf(file, "%u %d %s\n", i, (int)test.outcome, test.message);
        fflush(file);
    }
    runner_destroy(runner);
    fclose(file);
    return 0;
}

/* Takes complete lines out of the buffer; returns the number of tests reported. */
static unsigned take_lines(struct test_list *list, char *buffer, size_t *used) {
    unsigned taken = 0;
    for (char *newline; (newline = memchr(buffer, '\n', *used)) != NULL; taken++) {
        unsigned index;
        int outcome, at = 0;
        *newline = '\0';
        if (sscanf(buffer, "%u %d %n", &index, &outcome, &at) >= 2 && index < list->n) {
            list->tests[index].outcome = (enum outcome)outcome;
            snprintf(list->tests[index].message, sizeof list->tests[index].message, "%s",
                buffer + at);
        }
        size_t length = (size_t)(newline - buffer) + 1;
        *used -= length;
        memmove(buffer, newline + 1, *used);
    }
    return taken;
}

/* Runs [begin, end); returns the index behind the last test that has a result. */
static unsigned run_batch(
    const struct options *options, struct test_list *list, unsigned begin, unsigned end) {
    static char buffer[1 << 16];
    int pipe_ends[2], wait_status = 0;
    size_t used = 0;
    unsigned done = begin;
    bool hung = false;
    if (pipe(pipe_ends) != 0) abort();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_ends[0]);
        exit(child(options, list, begin, end, pipe_ends[1]));
    }
    close(pipe_ends[1]);
    for (uint64_t last = now_ms();;) {
        struct pollfd wait_for = {.fd = pipe_ends[0], .events = POLLIN};
        int ready = poll(&wait_for, 1, 1000);
        ssize_t n =
            ready > 0 ? read(pipe_ends[0], buffer + used, sizeof buffer - used) : -1;
        if (ready > 0 && n <= 0) break;
        used += n > 0 ? (size_t)n : 0;
        unsigned taken = take_lines(list, buffer, &used);
        done += taken;
        last = taken ? now_ms() : last;
        if (now_ms() - last > PATIENCE_MS) {
            hung = true;
            kill(pid, SIGKILL);
            break;
        }
    }
    close(pipe_ends[0]);
    waitpid(pid, &wait_status, 0);
    if (done == end && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return end;
    if (done == end)
        done--; /* died at the end (a leak, say): told of the last test of the batch */
    struct test *test = &list->tests[done];
    test->outcome = hung ? OUTCOME_HANG : OUTCOME_CRASH;
    snprintf(test->message, sizeof test->message, "%s (signal %d, exit %d)",
        hung ? "no answer" : "the process died",
        WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0,
        WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0);
    return done + 1;
}

/* ---- results -------------------------------------------------------------------------- */

static const char *const outcome_names[] = {
    "unrun", "pass", "mismatch", "load", "run", "crash", "hang", "data"};

static void write_result(const struct options *options, const struct test_list *list) {
    FILE *file = options->result ? fopen(options->result, "w") : NULL;
    if (!file) return;
    fputs("kind\ttest\tlevel\toutcome\tmessage\n", file);
    for (unsigned i = 0; i < list->n; i++)
        fprintf(file, "%s\t%s\t%s\t%s\t%s\n", list->tests[i].kind, list->tests[i].name,
            options->level, outcome_names[list->tests[i].outcome],
            list->tests[i].message);
    fclose(file);
}

static unsigned summarize(const struct test_list *list) {
    unsigned failed = 0, expected = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        unsigned passed = 0, total = 0;
        for (unsigned i = 0; i < list->n; i++) {
            if (strcmp(list->tests[i].kind, kinds[k]) != 0) continue;
            total++;
            passed += list->tests[i].outcome == OUTCOME_PASS;
        }
        if (total) printf("  %-18s %4u of %4u pass\n", kinds[k], passed, total);
    }
    for (unsigned i = 0; i < list->n; i++) {
        const struct test *test = &list->tests[i];
        bool passes = test->outcome == OUTCOME_PASS;
        bool wild = test->outcome == OUTCOME_CRASH || test->outcome == OUTCOME_HANG;
        expected += !passes && test->expected_failure && !wild;
        if (!wild && passes != test->expected_failure) continue;
        if (passes && strncmp(test->reason, "by chance", 9) == 0) continue;
        failed++;
        printf("  %s/%s: %s %s\n", test->kind, test->name,
            passes ? "passes, though listed as a failure" : outcome_names[test->outcome],
            passes ? test->reason : test->message);
    }
    printf("conformance: %u passed, %u failed (%u listed failures)\n",
        list->n - failed - expected, failed, expected);
    return failed;
}

static bool parse_options(int argc, char **argv, struct options *out) {
    *out = (struct options){.level = "all", .isa = "best"};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const struct {
            const char *name;
            const char **field;
        } texts[] = {{"--level", &out->level}, {"--isa", &out->isa},
            {"--expected", &out->expected}, {"--expected-too", &out->expected_too},
            {"--expected-package", &out->expected_package}, {"--result", &out->result},
            {"--filter", &out->filter}, {"--set", &out->setting}};
        bool known = false;
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            if (value && strcmp(argv[i], texts[t].name) == 0) {
                *texts[t].field = value;
                known = true;
                i++;
                break;
            }
        }
        if (!known && strcmp(argv[i], "--update") == 0) out->update = known = true;
        if (!known && argv[i][0] != '-') known = (out->data = argv[i]) != NULL;
        if (!known) return false;
    }
    return true;
}

static void filter(struct test_list *list, const char *text) {
    unsigned kept = 0;
    for (unsigned i = 0; i < list->n; i++) {
        char full[320];
        snprintf(full, sizeof full, "%s/%s", list->tests[i].kind, list->tests[i].name);
        if (strstr(full, text)) list->tests[kept++] = list->tests[i];
    }
    list->n = kept;
}

int main(int argc, char **argv) {
    struct options options;
    struct test_list list = {0};
    if (!parse_options(argc, argv, &options)) {
        fputs("usage: conformance [DATA] [--level L] [--isa I] [--expected FILE] "
              "[--expected-too FILE] [--expected-package FILE] [--result FILE] [--filter "
              "TEXT] [--set KEY=VALUE] "
              "[--update]\n",
            stderr);
        return 2;
    }
    const char *fallback = "/usr/share/libonnx-testdata/data";
    options.data = options.data ? options.data : getenv("TENON_ONNX_DATA");
    if (!options.data || access(options.data, R_OK) != 0) options.data = fallback;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        find_kind(options.data, kinds[k], &list);
    if (list.n == 0) {
        puts("conformance: skipped, there is no test data (set TENON_ONNX_DATA, or "
             "install "
             "libonnx-testdata)");
        return 77;
    }
    qsort(list.tests, list.n, sizeof *list.tests, by_name);
    if (options.filter) filter(&list, options.filter);
    read_expected(options.expected, &list);
    read_expected(options.expected_too, &list);
    if (options.data == fallback) read_expected(options.expected_package, &list);
    for (unsigned i = 0; i < list.n;)
        i = run_batch(&options, &list, i, i + BATCH < list.n ? i + BATCH : list.n);
    printf("conformance, level %s, isa %s, data %s\n", options.level, options.isa,
        options.data == fallback ? "libonnx-testdata" : "archive");
    write_result(&options, &list);
    if (options.update && options.expected) write_expected(options.expected, &list);
    unsigned failed = summarize(&list);
    free(list.tests);
    return failed ? 1 : 0;
}
