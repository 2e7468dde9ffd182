/* tenon plugins: every candidate, what it brings, and why others were refused. */
#include "cli.h"

int cmd_plugins(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    if (args->models.n) return cli_usage(args, "'plugins' takes no arguments");
    int code = cli_runtime(args, &runtime);
    uint32_t report = args->support ? TN_REPORT_SUPPORT : TN_REPORT_PLUGINS;
    if (code == EXIT_OK &&
        tn_runtime_report(runtime, report, args->json ? TN_FORMAT_JSON : TN_FORMAT_TEXT,
            cli_write, stdout, &diag) != TN_OK)
        code = cli_fail(args, EXIT_LOAD, &diag);
    tn_runtime_destroy(runtime);
    return code;
}
