/* The verbs behind `tenon plugin`: one row each. */
#include "cli.h"

/* clang-format off */
const struct cli_verb cli_plugin_verbs[] = {
    {"new", "plugin new KIND [DOMAIN.]NAME", "write a plugin to start from: op, pass, provider", 64, cmd_plugin_new},
};
/* clang-format on */
const unsigned cli_n_plugin_verbs = sizeof cli_plugin_verbs / sizeof *cli_plugin_verbs;
