/* Prints docs/config.md from the table of settings. A test compares it with the committed
 * page: after a change of the table run `meson compile config-md`. */
#include "core/conf/conf_value.h"

#include <stdio.h>

static const char head[] =
    "# Settings\n\n"
    "Generated from `core/conf/conf_keys.inc`, the table that the code reads. Do not "
    "edit.\n\n"
    "Later layers win: built-in default, `/etc/tenon/tenon.ini`,\n"
    "`$XDG_CONFIG_HOME/tenon/tenon.ini` (or `~/.config/tenon/tenon.ini`), the file named "
    "by\n"
    "`TENON_CONFIG`, the environment, the options given to the runtime, the options "
    "given to\n"
    "the session (each may name a file by `config`, read before its other settings).\n\n"
    "In a file, `limits.nodes` is the key `nodes` of the section `[limits]`, or "
    "`limits.nodes`\n"
    "before any section. In the environment it is `TENON_LIMITS_NODES`. A setting of "
    "one\n"
    "plugin or provider stands in the section `[plugin:<id>]` or `[provider:<id>]`, and "
    "is\n"
    "written `provider:<id>/<key>` as an option. An unknown key is an error that names "
    "the\n"
    "file, the line and the nearest key. A set-user-id program reads no environment.\n\n"
    "| key | value | default | where | meaning |\n|---|---|---|---|---|\n";

int main(void) {
    char wanted[128];
    fputs(head, stdout);
    for (uint32_t k = 0; k < TN_KEY_COUNT; k++) {
        const struct tn__conf_key *row = &tn__conf_keys[k];
        tn__conf_wanted(row, wanted, sizeof wanted);
        printf("| `%s` | ", row->key);
        for (const char *c = wanted; *c; c++)
            printf(*c == '|' ? "\\|" : "%c", *c);
        printf(" | %s%s%s | %s | %s |\n", *row->value ? "`" : "", row->value,
            *row->value ? "`" : "",
            row->scope == TN_SCOPE_RUNTIME ? "runtime" : "session", row->doc);
    }
    puts("\n## Names of ONNX Runtime\n\nThese session keys are accepted:\n\n"
         "| key | here |\n|---|---|");
    for (uint32_t a = 0; a < TN_ALIAS_COUNT; a++) {
        const struct tn__conf_alias *alias = &tn__conf_aliases[a];
        bool none = alias->map == TN_MAP_NONE;
        printf("| `%s` | %s%s%s |\n", alias->name, none ? "no effect: " : "`", alias->key,
            none ? "" : "`");
    }
    return 0;
}
