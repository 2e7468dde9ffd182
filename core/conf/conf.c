/* Settings in layers: see conf.h. A layer holds what it sets itself; reading walks up. */
#include "core/conf/conf.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/conf/conf_value.h"
#include "core/conf/ini.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

struct setting {
    const char *text; /* NULL: not set in this layer */
    const char *origin;
};

struct section_entry {
    const char *section, *key, *value;
};

struct tn__conf {
    const struct tn__conf *parent;
    struct tn_arena *arena;
    struct setting settings[TN_KEY_COUNT];
    struct section_entry *entries; /* of free sections */
    uint32_t n_entries, cap_entries;
    bool is_session;
};

/* Where a setting comes from, for messages and the report. */
struct origin {
    const char *text; /* "/etc/tenon/tenon.ini:12", "environment", "option" */
    bool is_session;
};

/* ---- setting -------------------------------------------------------------------------- */

static tn_status unknown_key(
    const struct origin *origin, const char *key, struct tn_diag *diag) {
    const char *near = tn__conf_nearest(key);
    return tn_fail(diag, TN_INVALID_ARGUMENT, "%s: unknown setting '%s'%s%s%s",
        origin->text, key, near ? "; did you mean '" : "", near ? near : "",
        near ? "'?" : "");
}

static tn_status store(struct tn__conf *conf, uint32_t index, const char *value,
    const struct origin *origin, struct tn_diag *diag) {
    const struct tn__conf_key *row = &tn__conf_keys[index];
    if (origin->is_session && row->scope == TN_SCOPE_RUNTIME)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%s: '%s' is a setting of the runtime, not of a session", origin->text,
            row->key);
    if (!tn__conf_valid(row, value)) {
        char wanted[128];
        tn__conf_wanted(row, wanted, sizeof wanted);
        return tn_fail(diag, TN_INVALID_ARGUMENT, "%s: '%s' is '%s', expected %s",
            origin->text, row->key, value, wanted);
    }
    struct setting setting = {tn__arena_string(conf->arena, value, strlen(value)),
        tn__arena_string(conf->arena, origin->text, strlen(origin->text))};
    if (!setting.text || !setting.origin)
        return tn__fail_memory(diag, "settings", strlen(value));
    conf->settings[index] = setting;
    return TN_OK;
}

static tn_status store_entry(struct tn__conf *conf, const char *section, const char *key,
    const char *value, struct tn_diag *diag) {
    struct section_entry entry = {tn__arena_string(conf->arena, section, strlen(section)),
        tn__arena_string(conf->arena, key, strlen(key)),
        tn__arena_string(conf->arena, value, strlen(value))};
    if (!entry.section || !entry.key || !entry.value ||
        !tn__arena_grow(conf->arena, (void **)&conf->entries, &conf->cap_entries,
            conf->n_entries + 1, sizeof entry))
        return tn__fail_memory(diag, "settings", strlen(value));
    conf->entries[conf->n_entries++] = entry;
    return TN_OK;
}

static bool is_free_section(const char *section) {
    return strncmp(section, "plugin:", 7) == 0 || strncmp(section, "provider:", 9) == 0;
}

/* "plugin:org.tenon.cpu/isa" as an option names a key of a free section. */
static const char *free_separator(const char *key) {
    return is_free_section(key) ? strrchr(key, '/') : NULL;
}

static tn_status set(struct tn__conf *conf, const char *key, const char *value,
    const struct origin *origin, struct tn_diag *diag) {
    const char *slash = free_separator(key);
    if (slash) {
        char *section = tn__arena_string(conf->arena, key, (uint64_t)(slash - key));
        return section ? store_entry(conf, section, slash + 1, value, diag)
                       : tn__fail_memory(diag, "settings", strlen(key));
    }
    uint32_t index = tn__conf_find(key);
    if (index != UINT32_MAX) return store(conf, index, value, origin, diag);
    const struct tn__conf_alias *alias = tn__conf_find_alias(key);
    if (!alias) return unknown_key(origin, key, diag);
    const char *mapped = tn__conf_map_alias(alias, value);
    return mapped ? store(conf, tn__conf_find(alias->key), mapped, origin, diag) : TN_OK;
}

/* ---- layers --------------------------------------------------------------------------- */

static tn_status set_entry(struct tn__conf *conf, const struct tn__ini *ini,
    const struct tn__ini_entry *entry, bool is_session, struct tn_diag *diag) {
    char origin_text[512], key[512];
    struct origin origin = {origin_text, is_session};
    snprintf(
        origin_text, sizeof origin_text, "%.480s:%u", tn__ini_path(ini), entry->line);
    if (is_free_section(entry->section))
        return store_entry(conf, entry->section, entry->key, entry->value, diag);
    bool plain = entry->section[0] == '\0' || strcmp(entry->section, "tenon") == 0;
    snprintf(key, sizeof key, "%s%s%s", plain ? "" : entry->section, plain ? "" : ".",
        entry->key);
    if (strcmp(key, "config") == 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%s: a configuration file cannot name another", origin.text);
    return set(conf, key, entry->value, &origin, diag);
}

static tn_status read_file(struct tn__conf *conf, const char *path, bool must_exist,
    bool is_session, struct tn_diag *diag) {
    struct tn__ini *ini;
    struct tn_diag own = {0};
    tn_status status = tn__ini_load(path, &ini, &own);
    if (status == TN_NOT_FOUND && !must_exist) return TN_OK;
    if (status != TN_OK) return tn_fail(diag, status, "%s", own.message);
    for (uint32_t i = 0; status == TN_OK && i < tn__ini_count(ini); i++)
        status = set_entry(conf, ini, tn__ini_at(ini, i), is_session, diag);
    tn__ini_free(ini);
    return status;
}

static tn_status read_files(struct tn__conf *conf, struct tn_diag *diag) {
    char path[4096];
    TN_TRY(read_file(conf, "/etc/tenon/tenon.ini", false, false, diag));
    const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    if (config && config[0] == '/')
        snprintf(path, sizeof path, "%s/tenon/tenon.ini", config);
    else if (home && home[0] == '/')
        snprintf(path, sizeof path, "%s/.config/tenon/tenon.ini", home);
    else
        path[0] = '\0';
    if (path[0] != '\0') TN_TRY(read_file(conf, path, false, false, diag));
    const char *named = secure_getenv("TENON_CONFIG");
    return named && *named ? read_file(conf, named, true, false, diag) : TN_OK;
}

/* Variables of ours that are not settings. */
static bool is_reserved_variable(const char *name) {
    static const char *const reserved[] = {
        "CONFIG", "DEBUG", "ONNX_DATA", "ONNX_SCHEMAS", "TEST_"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t n = strlen(reserved[i]);
        if (strncmp(name, reserved[i], n) == 0) return true;
    }
    return false;
}

/* "PLUGIN_PATH" is "plugin.path"; a key that has an underscore itself matches too. */
static uint32_t find_variable(const char *name, size_t n) {
    for (uint32_t k = 0; k < TN_KEY_COUNT; k++) {
        const char *key = tn__conf_keys[k].key;
        size_t i = 0;
        while (i < n && key[i] &&
               (key[i] == '.' ? '_' : toupper((unsigned char)key[i])) == name[i])
            i++;
        if (i == n && key[i] == '\0') return k;
    }
    return UINT32_MAX;
}

static tn_status read_environment(struct tn__conf *conf, struct tn_diag *diag) {
    static const char prefix[] = "TENON_";
    struct origin origin = {"environment", false};
    if (!secure_getenv("PATH") && getenv("PATH"))
        return TN_OK; /* elevated: nothing of the environment counts */
    for (char **v = environ; v && *v; v++) {
        const char *equals = strchr(*v, '=');
        if (strncmp(*v, prefix, sizeof prefix - 1) != 0 || !equals) continue;
        const char *name = *v + sizeof prefix - 1;
        if (is_reserved_variable(name)) continue;
        uint32_t index = find_variable(name, (size_t)(equals - name));
        if (index == UINT32_MAX) {
            char shown[128];
            snprintf(shown, sizeof shown, "%.*s", (int)(equals - *v), *v);
            return unknown_key(&origin, shown, diag);
        }
        TN_TRY(store(conf, index, equals + 1, &origin, diag));
    }
    return TN_OK;
}

static tn_status apply_options(struct tn__conf *conf, const struct tn_option *options,
    uint64_t n, struct tn_diag *diag) {
    struct origin origin = {"option", conf->is_session};
    for (uint64_t i = 0; i < n; i++) {
        if (!options[i].key || !options[i].value)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "option %llu has no key or no value", (unsigned long long)i);
        if (strcmp(options[i].key, "config") == 0)
            TN_TRY(read_file(conf, options[i].value, true, conf->is_session, diag));
    }
    for (uint64_t i = 0; i < n; i++)
        TN_TRY(set(conf, options[i].key, options[i].value, &origin, diag));
    return TN_OK;
}

static struct tn__conf *new_layer(const struct tn__conf *parent) {
    struct tn_arena *arena = tn__arena_create();
    struct tn__conf *conf = arena ? tn__arena_alloc(arena, sizeof *conf) : NULL;
    if (!conf) {
        tn__arena_destroy(arena);
        return NULL;
    }
    conf->arena = arena;
    conf->parent = parent;
    conf->is_session = parent != NULL;
    return conf;
}

static tn_status fill_layer(struct tn__conf *conf, const struct tn_option *options,
    uint64_t n, struct tn_diag *diag) {
    if (!conf->is_session) {
        TN_TRY(read_files(conf, diag));
        TN_TRY(read_environment(conf, diag));
    }
    return apply_options(conf, options, n, diag);
}

tn_status tn__conf_derive(const struct tn__conf *parent, const struct tn_option *options,
    uint64_t n, struct tn__conf **out, struct tn_diag *diag) {
    struct tn__conf *conf = new_layer(parent);
    if (!conf) return tn__fail_memory(diag, "settings", sizeof *conf);
    tn_status status = fill_layer(conf, options, n, diag);
    if (status == TN_OK)
        *out = conf;
    else
        tn__conf_destroy(conf);
    return status;
}

tn_status tn__conf_create(const struct tn_option *options, uint64_t n,
    struct tn__conf **out, struct tn_diag *diag) {
    return tn__conf_derive(NULL, options, n, out, diag);
}

void tn__conf_destroy(struct tn__conf *conf) {
    if (conf) tn__arena_destroy(conf->arena);
}

/* ---- reading -------------------------------------------------------------------------- */

static struct setting lookup(const struct tn__conf *conf, uint32_t index) {
    for (; conf; conf = conf->parent) {
        if (conf->settings[index].text) return conf->settings[index];
    }
    return (struct setting){tn__conf_keys[index].value, "default"};
}

const char *tn__conf_text(const struct tn__conf *conf, const char *key) {
    return lookup(conf, tn__conf_find(key)).text;
}

int64_t tn__conf_int(const struct tn__conf *conf, const char *key) {
    int64_t value = 0;
    (void)tn__conf_parse_int(tn__conf_text(conf, key), &value);
    return value;
}

bool tn__conf_bool(const struct tn__conf *conf, const char *key) {
    bool value = false;
    (void)tn__conf_parse_bool(tn__conf_text(conf, key), &value);
    return value;
}

bool tn__conf_section_at(const struct tn__conf *conf, const char *section, uint32_t i,
    const char **out_key, const char **out_value) {
    for (; conf; conf = conf->parent) {
        for (uint32_t e = 0; e < conf->n_entries; e++) {
            if (strcasecmp(conf->entries[e].section, section) != 0 || i-- > 0) continue;
            *out_key = conf->entries[e].key;
            *out_value = conf->entries[e].value;
            return true;
        }
    }
    return false;
}

const char *tn__conf_section(
    const struct tn__conf *conf, const char *section, const char *key) {
    for (; conf; conf = conf->parent) {
        for (uint32_t e = conf->n_entries; e-- > 0;) {
            if (strcasecmp(conf->entries[e].section, section) == 0 &&
                strcasecmp(conf->entries[e].key, key) == 0)
                return conf->entries[e].value;
        }
    }
    return NULL;
}

void tn__conf_report(const struct tn__conf *conf, uint32_t format, struct tn_text *out) {
    bool json = format == TN_FORMAT_JSON;
    tn__text_puts(out, json ? "[" : "");
    for (uint32_t k = 0; k < TN_KEY_COUNT; k++) {
        struct setting setting = lookup(conf, k);
        if (!json) {
            tn__text_printf(out, "%-22s %-14s %s\n", tn__conf_keys[k].key,
                *setting.text ? setting.text : "-", setting.origin);
            continue;
        }
        tn__text_puts(out, k ? ",{\"key\":" : "{\"key\":");
        tn__text_json(out, tn__conf_keys[k].key);
        tn__text_puts(out, ",\"value\":");
        tn__text_json(out, setting.text);
        tn__text_puts(out, ",\"origin\":");
        tn__text_json(out, setting.origin);
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, json ? "]\n" : "");
}
