/* tenon assign: who would run each node, and why the others would not. Nothing is compiled
 * and nothing runs. */
#include "cli.h"
#include "html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int write_page(const struct cli_args *args, const char *placement) {
    FILE *file = fopen(args->html, "w");
    bool good = file && html_placement(file, args->models.items[0].text, placement);
    int error = errno;
    if (file && fclose(file) != 0) good = false;
    if (good) return EXIT_OK;
    fprintf(stderr, "tenon: the page '%s' could not be written: %s\n", args->html,
        strerror(error));
    return EXIT_RUN;
}

/* Nobody's nodes are a mismatch: the model does not run as it was asked to. */
static int answer(const struct cli_args *args, const struct tn_session *session) {
    struct cli_text json = {0};
    struct tn_diag diag = {0};
    tn_status status = tn_session_report(
        session, TN_REPORT_PLACEMENT, TN_FORMAT_JSON, cli_keep, &json, &diag);
    if (status == TN_OK && !args->json)
        status = tn_session_report(
            session, TN_REPORT_PLACEMENT, TN_FORMAT_TEXT, cli_write, stdout, &diag);
    int code = status == TN_OK ? EXIT_OK : cli_fail(args, EXIT_LOAD, &diag);
    if (code == EXIT_OK && args->json) fputs(json.data, stdout);
    if (code == EXIT_OK && args->html) code = write_page(args, json.data);
    if (code == EXIT_OK && strstr(json.data, "\"provider\": \"none\""))
        code = EXIT_MISMATCH;
    free(json.data);
    return code;
}

int cmd_assign(const struct cli_args *args) {
    static struct cli_args own; /* large; one a process */
    struct tn_runtime *runtime = NULL;
    struct tn_session *session = NULL;
    if (args->models.n != 1) return cli_usage(args, "give one model");
    own = *args;
    if (own.settings.n + 2 > CLI_MOST) return cli_usage(args, "too many settings");
    own.settings.items[own.settings.n++] = (struct cli_pair){"dry_run", "1"};
    own.settings.items[own.settings.n++] = (struct cli_pair){"placement.show", "0"};
    if (!own.placement && own.provider) own.placement = "auto";
    int code = cli_runtime(&own, &runtime);
    if (code == EXIT_OK)
        code = cli_session(&own, runtime, own.models.items[0].text, &session);
    if (code == EXIT_OK) code = answer(args, session);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    return code;
}
