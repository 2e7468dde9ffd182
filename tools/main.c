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
    {"plugins", "plugins [options]", "what was found, what it brings, what was refused", 32, cmd_plugins},
};
/* clang-format on */
const unsigned cli_n_verbs = sizeof cli_verbs / sizeof *cli_verbs;

static void overview(FILE *to) {
    fprintf(to, "tenon %s: runs ONNX models\n\n", tn_version());
    for (unsigned i = 0; i < cli_n_verbs; i++)
        fprintf(to, "  tenon %-26s %s\n", cli_verbs[i].usage, cli_verbs[i].help);
    fputs("\n  tenon VERB --help lists the options.\n"
          "  Exit codes: 0 ok, 1 mismatch, 2 usage, 3 load, 4 run.\n",
        to);
}

/* An answer that did not arrive is a failure: a full disk, a closed pipe. */
static int written(int code) {
    bool arrived = fflush(stdout) == 0 && !ferror(stdout);
    if (arrived || code != EXIT_OK) return code;
    fprintf(stderr, "tenon: the output could not be written\n");
    return EXIT_RUN;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        overview(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts(tn_version());
        return EXIT_OK;
    }
    for (unsigned i = 0; i < cli_n_verbs; i++) {
        if (strcmp(argv[1], cli_verbs[i].name) != 0) continue;
        static struct cli_args args; /* large; one a process */
        int code = cli_parse(argc - 2, argv + 2, &cli_verbs[i], &args);
        if (code != EXIT_OK) return code;
        if (args.help) {
            cli_help(&cli_verbs[i], stdout);
            return EXIT_OK;
        }
        return written(cli_verbs[i].run(&args));
    }
    fprintf(stderr, "tenon: there is no verb '%s'\n\n", argv[1]);
    overview(stderr);
    return EXIT_USAGE;
}
