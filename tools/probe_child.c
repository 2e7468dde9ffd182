/* Forking for kernels: see probe_child.h. */
#include "probe_child.h"

#include "plugin_open.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FILES = 16 };

struct tables {
    const struct tn_op_def *const *ops;
    const struct tn_kernel_def *const *kernels;
    uint32_t n_ops, n_kernels;
};

struct files {
    struct tables tables[MOST_FILES];
    unsigned n;
};

static int read_tables(const char *path, struct tables *out) {
    const struct tn_plugin *plugin;
    void *state = NULL;
    if (plugin_open(path, &plugin, &state) != EXIT_SUCCESS) return EXIT_LOAD;
    memset(out, 0, sizeof *out);
    if ((TN_HAS(plugin, ops) && plugin->ops(state, &out->ops, &out->n_ops) != TN_OK) ||
        (TN_HAS(plugin, kernels) &&
            plugin->kernels(state, &out->kernels, &out->n_kernels) != TN_OK)) {
        fprintf(stderr, "tenon: plugin '%s' does not give its tables\n", path);
        return EXIT_LOAD;
    }
    return EXIT_OK;
}

static const struct tn_op_def *find_def(
    const struct files *files, const struct tn_kernel_def *kernel) {
    for (unsigned f = 0; f < files->n; f++) {
        for (uint32_t i = 0; i < files->tables[f].n_ops; i++) {
            const struct tn_op_def *def = files->tables[f].ops[i];
            if (strcmp(def->op_type, kernel->op_type) == 0 &&
                strcmp(def->domain, kernel->domain) == 0)
                return def;
        }
    }
    return NULL;
}

/* Without it, the child did not come to its end. */
static const char last_line[] = "done\n";

/* ---- the child ------------------------------------------------------------------------- */

/* Generated models leave out what their outputs are: no reader wants to be told. */
static void keep_quiet(void *arg, uint32_t level, const char *message) {
    (void)arg;
    (void)level;
    (void)message;
}

static int make_runtime(const struct cli_args *args, const struct tn_option *option,
    struct tn_runtime **out) {
    const struct tn_runtime_options settings = {.struct_size = TN_RUNTIME_OPTIONS_SIZE,
        .options = option,
        .n_options = option ? 1 : 0,
        .log = keep_quiet};
    struct tn_diag diag = {0};
    tn_status status = tn_runtime_create(&settings, out, &diag);
    for (unsigned i = 0; status == TN_OK && i < args->models.n; i++)
        status = tn_runtime_load_plugin(*out, args->models.items[i].text, &diag);
    return status == TN_OK ? EXIT_OK : cli_fail(args, EXIT_LOAD, &diag);
}

static int work_in_child(
    const struct probe_job *job, const struct probe_target *target, FILE *to) {
    struct probe_bench bench = {0};
    const struct tn_option single = {"threads", "1"}, scalar = {"cpu.isa", "scalar"};
    alarm(job->seconds);
    if (make_runtime(job->args, NULL, &bench.shared) != EXIT_OK ||
        make_runtime(job->args, &single, &bench.single) != EXIT_OK ||
        make_runtime(job->args, &scalar, &bench.scalar) != EXIT_OK)
        return EXIT_LOAD;
    job->work(&bench, target, to);
    fputs(last_line, to);
    return fflush(to) == 0 ? EXIT_OK : EXIT_RUN;
}

/* ---- the parent ------------------------------------------------------------------------ */

/* Whether the last line came. */
static bool read_lines(struct probe_job *job, FILE *from) {
    char line[1400];
    bool done = false;
    while (fgets(line, sizeof line, from)) {
        done |= strcmp(line, last_line) == 0;
        line[strcspn(line, "\n")] = '\0';
        job->line(job, line);
    }
    return done;
}

/* What ended the child, NULL when it came to its own end. */
static const char *handle(struct probe_job *job, const struct probe_target *target) {
    int ends[2], how = 0;
    fflush(NULL);
    if (pipe(ends) != 0) return "no pipe could be made";
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        FILE *to = fdopen(ends[1], "w");
        _exit(to ? work_in_child(job, target, to) : EXIT_LOAD);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool done = from && read_lines(job, from);
    if (from) fclose(from);
    if (child < 0 || waitpid(child, &how, 0) != child) return "no process could be made";
    if (WIFSIGNALED(how))
        return WTERMSIG(how) == SIGALRM ? "it does not end" : strsignal(WTERMSIG(how));
    return done && WEXITSTATUS(how) == EXIT_OK ? NULL : "it ended the process";
}

static void handle_kernel(struct probe_job *job, const struct files *files,
    const struct tn_kernel_def *kernel) {
    const struct probe_target target = {find_def(files, kernel), kernel};
    const char *obstacle =
        target.def ? probe_obstacle(&target)
                   : "no file given defines the operator; give the plugin that does too";
    job->kernels++;
    job->begin(job, kernel);
    job->end(job, obstacle, obstacle ? NULL : handle(job, &target));
}

int probe_children(struct probe_job *job) {
    const struct cli_args *args = job->args;
    static struct files files;
    if (args->models.n == 0 || args->models.n > MOST_FILES)
        return cli_usage(args,
            "'%s' wants a plugin's file, and with it at most 15 more that "
            "define its operators",
            args->verb);
    for (unsigned i = 0; i < args->models.n; i++) {
        int code = read_tables(args->models.items[i].text, &files.tables[i]);
        if (code != EXIT_OK) return code;
        files.n++;
    }
    for (uint32_t k = 0; k < files.tables[0].n_kernels; k++) {
        const struct tn_kernel_def *kernel = files.tables[0].kernels[k];
        if (!args->op || strcmp(args->op, kernel->op_type) == 0)
            handle_kernel(job, &files, kernel);
    }
    if (job->kernels == 0)
        return cli_usage(args, args->op ? "the plugin has no kernel of that operator"
                                        : "the plugin has no kernels");
    return EXIT_OK;
}
