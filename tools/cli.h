/* What the verbs of the command share: arguments, messages, exit codes, runtimes. */
#ifndef TENON_CLI_H
#define TENON_CLI_H

#include "tenon/tenon.h"

#include <stdbool.h>
#include <stdio.h>

/* Exit codes, the same for every verb. */
enum { EXIT_OK = 0, EXIT_MISMATCH = 1, EXIT_USAGE = 2, EXIT_LOAD = 3, EXIT_RUN = 4 };

enum { CLI_MOST = 256 };

/* "name=text", or text alone. */
struct cli_pair {
    const char *name; /* NULL: by position */
    const char *text;
};

struct cli_list {
    struct cli_pair items[CLI_MOST];
    unsigned n;
};

struct cli_args {
    const char *verb;
    struct cli_list models;   /* what stands without an option */
    struct cli_list inputs;   /* --input [name=]file */
    struct cli_list expects;  /* --expect [name=]file */
    struct cli_list shapes;   /* --shape name:1x3x224x224 */
    struct cli_list settings; /* --set key=value */
    struct cli_list plugins;  /* --plugin file */
    const char *data_dir;     /* --data: a test_data_set folder */
    const char *output_dir;   /* --output */
    const char *trace;        /* --trace */
    const char *html;         /* --html */
    const char *provider, *placement, *level, *config;
    const char *threads, *op;
    double rtol, atol, seconds;
    long runs, warmup, rounds, seed, deadline_ms;
    bool json, quiet, classes, support, graph, placement_report, profile, help;
};

struct cli_verb {
    const char *name;
    const char *usage;
    const char *help;
    unsigned mask;                           /* the bit by which options name the verb */
    int (*run)(const struct cli_args *args); /* NULL: `tenon plugin`, which has verbs */
};

extern const struct cli_verb cli_verbs[];
extern const unsigned cli_n_verbs;
extern const struct cli_verb cli_plugin_verbs[]; /* what follows `tenon plugin` */
extern const unsigned cli_n_plugin_verbs;

/* Parses; on a mistake prints one sentence and returns EXIT_USAGE. */
int cli_parse(int argc, char **argv, const struct cli_verb *verb, struct cli_args *out);
void cli_help(const struct cli_verb *verb, FILE *to);

/* Prints "tenon: <sentence>" with what the diagnosis knows, as JSON when asked; returns
 * exit_code. */
int cli_fail(const struct cli_args *args, int exit_code, const struct tn_diag *diag);
int cli_usage(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A runtime with the settings and plugins of the arguments; 0 or an exit code (reported). */
int cli_runtime(const struct cli_args *args, struct tn_runtime **out);
/* A session for one model, with progress on a terminal; 0 or an exit code (reported). */
int cli_session(const struct cli_args *args, struct tn_runtime *runtime, const char *path,
    struct tn_session **out);
/* A tn_write_fn that writes to the FILE given as arg. */
int cli_write(void *file, const char *text, uint64_t size);
/* A tn_write_fn that keeps the text, NUL-terminated, in the struct given as arg; the caller
 * frees data, which is NULL before the first piece. */
struct cli_text {
    char *data;
    size_t size;
};
int cli_keep(void *text, const char *piece, uint64_t size);

/* "float32[N,3,224,224]" of an input or output, into buf. */
const char *cli_type_text(const struct tn_io *io, char *buf, size_t size);
/* A JSON string with quotes. */
void cli_json_string(FILE *to, const char *text);

/* Text that stays on a terminal's last line while something takes long; nothing when stderr
 * is no terminal. */
void progress_begin(const struct cli_args *args, const char *what);
void progress_end(void);

int cmd_run(const struct cli_args *args);
int cmd_info(const struct cli_args *args);
int cmd_check(const struct cli_args *args);
int cmd_bench(const struct cli_args *args);
int cmd_profile(const struct cli_args *args);
int cmd_assign(const struct cli_args *args);
int cmd_plugins(const struct cli_args *args);
int cmd_plugin_new(const struct cli_args *args);
int cmd_plugin_lint(const struct cli_args *args);
int cmd_plugin_probe(const struct cli_args *args);
int cmd_plugin_doctor(const struct cli_args *args);
int cmd_plugin_bench(const struct cli_args *args);

#endif
