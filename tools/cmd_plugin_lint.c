/* tenon plugin lint FILE…: static checks of plugins, without running them (sdk/lint/lint.h). */
#include "cli.h"
#include "lint.h"

#include <string.h>

struct listing {
    const struct cli_args *args;
    const char *path;
    unsigned findings; /* so far, of all files */
};

static void write_finding(void *arg, const struct tn_lint_finding *finding) {
    struct listing *listing = arg;
    const char *level = finding->level == TN_LINT_ERROR ? "error" : "warning";
    if (!listing->args->json) {
        printf("%s: %s: %s [%s]\n", listing->path, level, finding->text, finding->rule);
        return;
    }
    printf("%s\n  {\"file\": ", listing->findings++ ? "," : "");
    cli_json_string(stdout, listing->path);
    printf(", \"rule\": \"%s\", \"level\": \"%s\", \"text\": ", finding->rule, level);
    cli_json_string(stdout, finding->text);
    printf("}");
}

int cmd_plugin_lint(const struct cli_args *args) {
    struct listing listing = {.args = args};
    uint32_t errors = 0, n_rules = 0;
    if (args->models.n == 0)
        return cli_usage(args, "'plugin lint' wants a plugin's file");
    (void)tn_lint_rules(&n_rules);
    if (args->json) printf("{\"findings\": [");
    for (unsigned i = 0; i < args->models.n; i++) {
        listing.path = args->models.items[i].text;
        uint32_t n = tn_lint_file(listing.path, write_finding, &listing);
        if (n == 0 && !args->json && !args->quiet)
            printf("%s: %u rules hold\n", listing.path, n_rules);
        errors += n;
    }
    if (args->json)
        printf("%s], \"errors\": %u}\n", listing.findings ? "\n" : "", errors);
    return errors ? EXIT_MISMATCH : EXIT_OK;
}
