/* Settings: the one place that reads ini files. Layers, later wins: built-in defaults,
 * the system file, the user file, a file named by TENON_CONFIG, the environment
 * (TENON_<KEY> with dots as underscores), the options given to the runtime, the options
 * given to the session. Every key is a row of conf_keys.inc, from which docs/config.md is
 * generated too. */
#ifndef TENON_CONF_H
#define TENON_CONF_H

#include "core/base/diag.h"
#include "core/base/text.h"
#include "tenon/tenon.h"

#include <stdbool.h>

struct tn__conf;

/* Reads files and environment, then applies options. An unknown key, or a value that does
 * not parse, is TN_INVALID_ARGUMENT naming file, line (or "option", "environment") and
 * the nearest key. Keys of ONNX Runtime's sessions are accepted as aliases. */
tn_status tn__conf_create(const struct tn_option *options, uint64_t n,
    struct tn__conf **out, struct tn_diag *diag);
/* A child layer for a session; borrows the parent. */
tn_status tn__conf_derive(const struct tn__conf *parent, const struct tn_option *options,
    uint64_t n, struct tn__conf **out, struct tn_diag *diag);
void tn__conf_destroy(struct tn__conf *conf);

/* Value of a key (always a key of the table; asserted). Text values are never NULL. */
const char *tn__conf_text(const struct tn__conf *conf, const char *key);
int64_t tn__conf_int(
    const struct tn__conf *conf, const char *key); /* sizes take K, M, G */
bool tn__conf_bool(const struct tn__conf *conf, const char *key);
/* Value of `key` in section [plugin:<id>] or [provider:<id>], NULL when unset. */
const char *tn__conf_section(
    const struct tn__conf *conf, const char *section, const char *key);
/* i-th {key, value} of a section; false when there is none. */
bool tn__conf_section_at(const struct tn__conf *conf, const char *section, uint32_t i,
    const char **out_key, const char **out_value);
/* Every setting, its value and where it came from. */
void tn__conf_report(const struct tn__conf *conf, uint32_t format, struct tn_text *out);

#endif
