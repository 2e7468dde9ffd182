/* The table of settings and its values: see conf_value.h. */
#include "core/conf/conf_value.h"

#include "core/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct tn__conf_key tn__conf_keys[TN_KEY_COUNT] = {
#define TN_KEY(key, type, value, detail, scope, doc)                                     \
    {key, TN_KEY_##type, value, detail, TN_SCOPE_##scope, doc},
#include "core/conf/conf_keys.inc"
#undef TN_KEY
};

const struct tn__conf_alias tn__conf_aliases[TN_ALIAS_COUNT] = {
#define TN_ALIAS(name, key, map) {name, key, TN_MAP_##map},
#include "core/conf/conf_aliases.inc"
#undef TN_ALIAS
};

uint32_t tn__conf_find(const char *key) {
    for (uint32_t k = 0; k < TN_KEY_COUNT; k++) {
        if (strcmp(tn__conf_keys[k].key, key) == 0) return k;
    }
    return UINT32_MAX;
}

const struct tn__conf_alias *tn__conf_find_alias(const char *name) {
    for (uint32_t a = 0; a < TN_ALIAS_COUNT; a++) {
        if (strcmp(tn__conf_aliases[a].name, name) == 0) return &tn__conf_aliases[a];
    }
    return NULL;
}

const char *tn__conf_map_alias(const struct tn__conf_alias *alias, const char *value) {
    bool on = false;
    if (alias->map == TN_MAP_NONE) return NULL;
    if (alias->map == TN_MAP_SAME || !tn__conf_parse_bool(value, &on))
        return value; /* a value that is no truth is refused as the key's own would be */
    switch (alias->map) {
    case TN_MAP_INVERT: return on ? "0" : "1";
    case TN_MAP_STRICT: return on ? "strict" : "auto";
    default: return on ? "30" : "0"; /* TN_MAP_SPIN */
    }
}

const char *tn__conf_nearest(const char *key) {
    struct tn__nearest nearest = tn__nearest_start(key);
    for (uint32_t k = 0; k < TN_KEY_COUNT; k++)
        tn__nearest_offer(&nearest, tn__conf_keys[k].key);
    return tn__nearest_get(&nearest);
}

bool tn__conf_parse_int(const char *text, int64_t *out) {
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || errno || text[0] == ' ') return false;
    if (*end != '\0') {
        const char *suffix = strchr(suffixes, *end >= 'a' ? *end - 32 : *end);
        if (!suffix || end[1] != '\0') return false;
        for (const char *s = suffixes; s <= suffix; s++) {
            if (__builtin_mul_overflow(value, 1024, &value)) return false;
        }
    }
    *out = value;
    return true;
}

bool tn__conf_parse_bool(const char *text, bool *out) {
    static const char *const words[2][4] = {
        {"0", "false", "no", "off"}, {"1", "true", "yes", "on"}};
    for (unsigned truth = 0; truth < 2; truth++) {
        for (unsigned i = 0; i < 4; i++) {
            if (strcasecmp(text, words[truth][i]) == 0) {
                *out = truth;
                return true;
            }
        }
    }
    return false;
}

static bool in_range(const char *range, int64_t value) {
    int64_t least, most;
    char low[32];
    const char *dots = strstr(range, "..");
    snprintf(low, sizeof low, "%.*s", (int)(dots - range), range);
    return tn__conf_parse_int(low, &least) && tn__conf_parse_int(dots + 2, &most) &&
           value >= least && value <= most;
}

static bool in_choices(const char *choices, const char *value) {
    size_t n = strcspn(value, "|");
    if (value[n] != '\0') return false;
    for (const char *c = choices; c; c = strchr(c, '|')) {
        c += *c == '|';
        if (strncmp(c, value, n) == 0 && (c[n] == '|' || c[n] == '\0')) return n > 0;
    }
    return false;
}

bool tn__conf_valid(const struct tn__conf_key *key, const char *value) {
    int64_t number;
    bool truth;
    switch (key->type) {
    case TN_KEY_INT:
    case TN_KEY_SIZE:
        return tn__conf_parse_int(value, &number) && in_range(key->detail, number);
    case TN_KEY_BOOL: return tn__conf_parse_bool(value, &truth);
    case TN_KEY_CHOICE: return in_choices(key->detail, value);
    default: return true;
    }
}

void tn__conf_wanted(const struct tn__conf_key *key, char *buf, size_t size) {
    switch (key->type) {
    case TN_KEY_INT: snprintf(buf, size, "a number in %s", key->detail); break;
    case TN_KEY_SIZE: snprintf(buf, size, "bytes in %s (K, M, G, T)", key->detail); break;
    case TN_KEY_BOOL: snprintf(buf, size, "0 or 1"); break;
    case TN_KEY_CHOICE: snprintf(buf, size, "one of %s", key->detail); break;
    default: snprintf(buf, size, "text"); break;
    }
}
