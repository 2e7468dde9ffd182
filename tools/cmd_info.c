/* tenon info: what a model takes and gives, what it is made of, and who provides it. */
#include "cli.h"

#include <string.h>

static void print_io(
    const struct cli_args *args, const struct tn_session *session, uint32_t which) {
    static const char *const titles[] = {"input", "output", "overridable"};
    static const char *const keys[] = {"inputs", "outputs", "overridable"};
    char type[512];
    uint32_t n = tn_session_io_count(session, which);
    if (args->json) printf(",\"%s\":[", keys[which]);
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_io *io = tn_session_io(session, which, i);
        cli_type_text(io, type, sizeof type);
        if (!args->json) {
            printf("%-12s %s: %s%s\n", titles[which], io->name, type,
                io->optional ? " (optional)" : "");
            continue;
        }
        fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
        cli_json_string(stdout, io->name);
        fputs(",\"type\":", stdout);
        cli_json_string(stdout, type);
        printf(",\"optional\":%s}", io->optional ? "true" : "false");
    }
    if (args->json) putchar(']');
}

static void print_head(
    const struct cli_args *args, const char *path, const struct tn_session *session) {
    struct tn_model_info info;
    const char *domain;
    int64_t version;
    tn_session_info(session, &info);
    if (args->json) {
        fputs("{\"model\":", stdout);
        cli_json_string(stdout, path);
        fputs(",\"producer\":", stdout);
        cli_json_string(stdout, info.producer_name);
        printf(",\"ir_version\":%lld,\"nodes\":%llu,\"parameters\":%llu,\"weight_bytes\":"
               "%llu,\"opsets\":{",
            (long long)info.ir_version, (unsigned long long)info.n_nodes,
            (unsigned long long)info.n_parameters, (unsigned long long)info.weight_bytes);
    } else {
        printf("%-12s %s\n%-12s %s %s\n", "model", path, "producer",
            *info.producer_name ? info.producer_name : "unknown", info.producer_version);
        printf("%-12s IR %lld", "format", (long long)info.ir_version);
    }
    for (uint32_t i = 0; tn_session_opset(session, i, &domain, &version); i++) {
        const char *shown = *domain ? domain : "ai.onnx";
        if (args->json)
            printf("%s\"%s\":%lld", i ? "," : "", shown, (long long)version);
        else
            printf(", %s %lld", shown, (long long)version);
    }
    if (args->json)
        putchar('}');
    else
        printf("\n%-12s %llu nodes, %llu parameters, %.2f MB of weights\n", "size",
            (unsigned long long)info.n_nodes, (unsigned long long)info.n_parameters,
            (double)info.weight_bytes / 1e6);
}

static tn_status print_report(const struct cli_args *args,
    const struct tn_session *session, uint32_t report, const char *key,
    struct tn_diag *diag) {
    if (args->json) printf(",\"%s\":", key);
    return tn_session_report(session, report,
        args->json ? TN_FORMAT_JSON : TN_FORMAT_TEXT, cli_write, stdout, diag);
}

static int describe(const struct cli_args *args, struct tn_session *session) {
    struct tn_diag diag = {0};
    print_head(args, args->models.items[0].text, session);
    for (uint32_t which = TN_INPUT; which <= TN_OVERRIDABLE; which++)
        print_io(args, session, which);
    const char *key, *value;
    for (uint32_t i = 0; !args->json && tn_session_metadata(session, i, &key, &value);
         i++)
        printf("%-12s %s = %.120s\n", "metadata", key, value);
    tn_status status =
        print_report(args, session, TN_REPORT_OPERATORS, "operators", &diag);
    if (status == TN_OK && args->placement_report)
        status = print_report(args, session, TN_REPORT_PLACEMENT, "placement", &diag);
    if (status == TN_OK && args->graph && !args->json)
        status = print_report(args, session, TN_REPORT_GRAPH, "graph", &diag);
    if (args->json) puts("}");
    return status == TN_OK ? EXIT_OK : cli_fail(args, EXIT_LOAD, &diag);
}

int cmd_info(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    struct tn_session *session = NULL;
    struct tn_diag diag = {0};
    if (args->models.n != (args->support ? 0 : 1))
        return cli_usage(
            args, args->support ? "--support takes no model" : "give one model");
    int code = cli_runtime(args, &runtime);
    if (code == EXIT_OK && args->support) {
        if (tn_runtime_report(runtime, TN_REPORT_SUPPORT,
                args->json ? TN_FORMAT_JSON : TN_FORMAT_TEXT, cli_write, stdout, &diag))
            code = cli_fail(args, EXIT_LOAD, &diag);
    } else if (code == EXIT_OK) {
        /* the file's own operators, unless the compiled graph is asked for */
        static struct cli_args own;
        own = *args;
        if (!own.level && !own.placement_report && !own.graph) own.level = "none";
        code = cli_session(&own, runtime, args->models.items[0].text, &session);
        if (code == EXIT_OK) code = describe(args, session);
    }
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    return code;
}
