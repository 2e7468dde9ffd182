/* tenon plugin doctor [PROVIDER|FILE]…: why a plugin or a provider is not available. Without
 * arguments, all that was found; with them, these are tried too: a file is loaded, of a provider
 * an instance is created. Exit code 0 when all is well, 1 when something is not. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static bool is_file(const char *text) {
    return strchr(text, '/') || strstr(text, ".so") || strstr(text, ".plugin.ini");
}

/* Opens a session without nodes on it: nothing can be declined, only the instance can fail. */
static tn_status try_provider(
    struct tn_runtime *runtime, const char *id, struct tn_diag *diag) {
    static const char nothing[] = "<ir_version: 10, opset_import: [\"\" : 21]>\n"
                                  "g (float[1] x) => (float[1] x) { }";
    const struct tn_option options[] = {{"provider", id}, {"placement.show", "0"}};
    const struct tn_session_options setup = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = 2};
    const struct tn_model model = {.data = nothing, .size = sizeof nothing - 1};
    struct tn_session *session = NULL;
    tn_status status = tn_session_create(runtime, &model, &setup, &session, diag);
    tn_session_destroy(session);
    return status;
}

static void tell(const struct cli_args *args, const char *what, tn_status status,
    const struct tn_diag *diag) {
    static unsigned n;
    if (!args->json) {
        printf("%s: %s\n", what, status == TN_OK ? "works" : diag->message);
        return;
    }
    printf("%s\n  {\"asked\": ", n++ ? "," : "");
    cli_json_string(stdout, what);
    printf(", \"works\": %s, \"reason\": ", status == TN_OK ? "true" : "false");
    cli_json_string(stdout, status == TN_OK ? "" : diag->message);
    printf("}");
}

/* Tries what was asked for; the number of failures. */
static unsigned try_all(const struct cli_args *args, struct tn_runtime *runtime) {
    unsigned failures = 0;
    for (unsigned i = 0; i < args->models.n; i++) {
        const char *what = args->models.items[i].text;
        struct tn_diag diag = {0};
        tn_status status = is_file(what) ? tn_runtime_load_plugin(runtime, what, &diag)
                                         : try_provider(runtime, what, &diag);
        tell(args, what, status, &diag);
        failures += status != TN_OK;
    }
    return failures;
}

int cmd_plugin_doctor(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    struct cli_text report = {NULL, 0};
    int code = cli_runtime(args, &runtime);
    if (code != EXIT_OK) return code;
    if (args->json) printf("{\"asked\": [");
    unsigned failures = try_all(args, runtime);
    if (args->json) printf("],\n\"report\": ");
    uint32_t format = args->json ? TN_FORMAT_JSON : TN_FORMAT_TEXT;
    if (tn_runtime_report(runtime, TN_REPORT_DOCTOR, format, cli_keep, &report, &diag) !=
        TN_OK)
        code = cli_fail(args, EXIT_LOAD, &diag);
    else
        fputs(report.data, stdout);
    if (args->json) printf("}\n");
    bool well = report.data && (strstr(report.data, "no problems\n") ||
                                   strstr(report.data, "\"problems\":0}"));
    if (code == EXIT_OK && (failures || (args->models.n == 0 && !well)))
        code = EXIT_MISMATCH;
    free(report.data);
    tn_runtime_destroy(runtime);
    return code;
}
