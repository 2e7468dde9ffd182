/* The command `tenon`: one row a verb. */
#include "cli.h"

#include <string.h>

/* clang-format off */
const struct cli_verb cli_verbs[] = {
    {"run", "run MODEL [options]", "run a model on given or generated inputs", 1, cmd_run},
    {"info", "info [MODEL] [options]", "what a model takes, gives and needs", 2, cmd_info},
    {"check", "check MODEL… [options]", "load models and say what is wrong with them", 4, cmd_check},
    {"bench", "bench MODEL… [options]", "time models, interleaved", 8, cmd_bench},
    {"profile", "profile MODEL [options]", "time per node, as a table and a trace", 16, cmd_profile},
    {"assign", "assign MODEL --provider LIST [options]", "who would run each node, and why the others would not", 128, cmd_assign},
    {"plugins", "plugins [options]", "what was found, what it brings, what was refused", 32, cmd_plugins},
    {"plugin", "plugin VERB …", "write and examine plugins: 'tenon plugin' lists the verbs", 0, NULL},
};
/* clang-format on */
const unsigned cli_n_verbs = sizeof cli_verbs / sizeof *cli_verbs;

static void list_verbs(const struct cli_verb *verbs, unsigned n, FILE *to) {
    for (unsigned i = 0; i < n; i++)
        fprintf(to, "  tenon %-30s %s\n", verbs[i].usage, verbs[i].help);
}

static void overview(FILE *to) {
    fprintf(to, "tenon %s: runs ONNX models\n\n", tn_version());
    list_verbs(cli_verbs, cli_n_verbs, to);
    fputs("\n  tenon VERB --help lists the options.\n"
          "  Exit codes: 0 ok, 1 mismatch, 2 usage, 3 load, 4 run.\n",
        to);
}

static void plugin_overview(FILE *to) {
    fputs("tenon plugin: for authors of plugins\n\n", to);
    list_verbs(cli_plugin_verbs, cli_n_plugin_verbs, to);
}

/* An answer that did not arrive is a failure: a full disk, a closed pipe. */
static int written(int code) {
    bool arrived = fflush(stdout) == 0 && !ferror(stdout);
    if (arrived || code != EXIT_OK) return code;
    fprintf(stderr, "tenon: the output could not be written\n");
    return EXIT_RUN;
}

static const struct cli_verb *find_verb(
    const struct cli_verb *verbs, unsigned n, const char *name) {
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    }
    return NULL;
}

static int run_verb(const struct cli_verb *verb, int argc, char **argv) {
    static struct cli_args args; /* large; one a process */
    int code = cli_parse(argc, argv, verb, &args);
    if (code != EXIT_OK) return code;
    if (args.help) {
        cli_help(verb, stdout);
        return EXIT_OK;
    }
    return written(verb->run(&args));
}

/* What answers to `name`, or, for NULL, help and the unknown, the list of verbs. */
static int dispatch(const struct cli_verb *verbs, unsigned n, void (*list)(FILE *),
    int argc, char **argv) {
    const char *name = argc > 0 ? argv[0] : NULL;
    if (!name) {
        list(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        list(stdout);
        return EXIT_OK;
    }
    const struct cli_verb *verb = find_verb(verbs, n, name);
    if (verb && verb->run) return run_verb(verb, argc - 1, argv + 1);
    if (verb)
        return dispatch(
            cli_plugin_verbs, cli_n_plugin_verbs, plugin_overview, argc - 1, argv + 1);
    fprintf(stderr, "tenon: there is no verb '%s'\n\n", name);
    list(stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts(tn_version());
        return EXIT_OK;
    }
    return dispatch(cli_verbs, cli_n_verbs, overview, argc - 1, argv + 1);
}
