/* Static checks of a plugin's file: what the loader would refuse, what would break its host
 * (docs/abi.md), and what a store or a packager would send back. No code of the plugin runs,
 * except that its tables are held against its manifest in a child process. */
#ifndef TENON_LINT_H
#define TENON_LINT_H

#include <stdint.h>

enum { TN_LINT_ERROR = 0, TN_LINT_WARNING = 1 };

struct tn_lint_finding {
    const char *rule; /* "entry": a word of the list that lint_rules() gives */
    uint32_t level;   /* TN_LINT_* */
    uint32_t reserved;
    const char *text; /* one sentence: found, expected, remedy */
};
typedef void (*tn_lint_fn)(void *arg, const struct tn_lint_finding *finding);

struct tn_lint_rule {
    const char *name;
    const char *what; /* one line */
};

/* The rules, in the order in which they are checked. */
const struct tn_lint_rule *tn_lint_rules(uint32_t *out_n);

/* Checks one file; findings are borrowed during the call. Returns how many errors there
 * were; 0 means that every rule holds. */
uint32_t tn_lint_file(const char *path, tn_lint_fn emit, void *arg);

#endif
