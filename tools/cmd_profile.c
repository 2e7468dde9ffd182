/* tenon profile: where the time goes, node by node. */
#include "job.h"

#include <errno.h>
#include <string.h>

static int write_trace(const struct cli_args *args, const struct job *job) {
    struct tn_diag diag = {0};
    FILE *file = fopen(args->trace, "w");
    if (!file)
        return cli_usage(args, "cannot write '%s': %s", args->trace, strerror(errno));
    tn_status status = tn_context_report(
        job->context, TN_REPORT_TRACE, TN_FORMAT_JSON, cli_write, file, &diag);
    if (fclose(file) != 0 && status == TN_OK)
        return cli_usage(args, "cannot write '%s'", args->trace);
    return status == TN_OK ? EXIT_OK : cli_fail(args, EXIT_RUN, &diag);
}

int cmd_profile(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    struct job job = {0};
    long warmup = args->warmup < 0 ? 3 : args->warmup,
         runs = args->runs ? args->runs : 20;
    if (args->models.n != 1)
        return cli_usage(args, "give one model, not %u", args->models.n);
    int code = cli_runtime(args, &runtime);
    if (code == EXIT_OK) code = job_open(args, runtime, args->models.items[0].text, &job);
    for (long i = 0; i < warmup + runs && code == EXIT_OK; i++)
        code = job_run(args, &job, i >= warmup, NULL);
    if (code == EXIT_OK && tn_context_report(job.context, TN_REPORT_PROFILE,
                               args->json ? TN_FORMAT_JSON : TN_FORMAT_TEXT, cli_write,
                               stdout, &diag) != TN_OK)
        code = cli_fail(args, EXIT_RUN, &diag);
    if (code == EXIT_OK && args->trace) code = write_trace(args, &job);
    job_close(&job);
    tn_runtime_destroy(runtime);
    return code;
}
