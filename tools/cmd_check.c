/* tenon check: loads models all the way and says what is wrong with each. */
#include "cli.h"

int cmd_check(const struct cli_args *args) {
    struct tn_runtime *runtime = NULL;
    int worst = cli_runtime(args, &runtime);
    if (worst == EXIT_OK && args->models.n == 0) worst = cli_usage(args, "give a model");
    for (unsigned i = 0; worst != EXIT_USAGE && runtime && i < args->models.n; i++) {
        struct tn_session *session = NULL;
        const char *path = args->models.items[i].text;
        int code = cli_session(args, runtime, path, &session);
        tn_session_destroy(session);
        worst = code > worst ? code : worst;
        if (code != EXIT_OK || args->quiet) continue;
        if (args->json) {
            fputs("{\"ok\":", stdout);
            cli_json_string(stdout, path);
            puts("}");
        } else {
            printf("%s: ok\n", path);
        }
    }
    tn_runtime_destroy(runtime);
    return worst;
}
