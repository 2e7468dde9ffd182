/* The table of settings, and what a value of each type looks like. */
#ifndef TENON_CONF_VALUE_H
#define TENON_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tn__key_type {
    TN_KEY_TEXT,
    TN_KEY_LIST,
    TN_KEY_INT,
    TN_KEY_SIZE,
    TN_KEY_BOOL,
    TN_KEY_CHOICE
};
enum tn__key_scope { TN_SCOPE_RUNTIME, TN_SCOPE_SESSION };

struct tn__conf_key {
    const char *key;
    enum tn__key_type type;
    const char *value; /* default */
    const char *detail;
    enum tn__key_scope scope;
    const char *doc;
};

enum tn__alias_map {
    TN_MAP_SAME,
    TN_MAP_INVERT,
    TN_MAP_STRICT,
    TN_MAP_SPIN,
    TN_MAP_NONE
};

struct tn__conf_alias {
    const char *name;
    const char *key; /* with TN_MAP_NONE: why it has no effect */
    enum tn__alias_map map;
};

/* clang-format off */
enum {
    TN_KEY_COUNT = 0
#define TN_KEY(key, type, value, detail, scope, doc) +1
#include "core/conf/conf_keys.inc"
#undef TN_KEY
    ,
    TN_ALIAS_COUNT = 0
#define TN_ALIAS(name, key, map) +1
#include "core/conf/conf_aliases.inc"
#undef TN_ALIAS
};
/* clang-format on */

extern const struct tn__conf_key tn__conf_keys[TN_KEY_COUNT];
extern const struct tn__conf_alias tn__conf_aliases[TN_ALIAS_COUNT];

/* Row of a key, UINT32_MAX when there is none. */
uint32_t tn__conf_find(const char *key);
const struct tn__conf_alias *tn__conf_find_alias(const char *name); /* or NULL */
/* The value in our terms, NULL when the alias has no effect. */
const char *tn__conf_map_alias(const struct tn__conf_alias *alias, const char *value);
/* The key with the smallest edit distance, NULL when none is near. */
const char *tn__conf_nearest(const char *key);
bool tn__conf_valid(const struct tn__conf_key *key, const char *value);
/* "a number from 0 to 1024", … */
void tn__conf_wanted(const struct tn__conf_key *key, char *buf, size_t size);
/* Decimal with an optional K, M, G or T (powers of 1024). */
bool tn__conf_parse_int(const char *text, int64_t *out);
bool tn__conf_parse_bool(const char *text, bool *out);

#endif
