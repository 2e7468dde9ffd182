/* The verbs behind `tenon plugin`: one row each. */
#include "cli.h"

/* clang-format off */
const struct cli_verb cli_plugin_verbs[] = {
    {"new", "plugin new KIND [DOMAIN.]NAME", "write a plugin to start from: op, pass, provider", 64, cmd_plugin_new},
    {"lint", "plugin lint FILE…", "static checks of any plugin's file", 256, cmd_plugin_lint},
    {"probe", "plugin probe FILE… [--op NAME]", "run every kernel on inputs nobody thought of", 512, cmd_plugin_probe},
    {"bench", "plugin bench FILE… [--op NAME]", "time every kernel beside its reference", 512, cmd_plugin_bench},
    {"doctor", "plugin doctor [PROVIDER|FILE]…", "why a plugin or a provider is not available", 1024, cmd_plugin_doctor},
};
/* clang-format on */
const unsigned cli_n_plugin_verbs = sizeof cli_plugin_verbs / sizeof *cli_plugin_verbs;
