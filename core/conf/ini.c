/* Ini files: see ini.h. The text is scanned first, so that iniparser (fixed line buffers,
 * linear key search, messages on stderr) only ever sees what it takes without complaint;
 * then iniparser gives the values. */
#include "core/conf/ini.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <iniparser/iniparser.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20, MAX_LINE = 1000, MAX_KEYS = 4096 };

struct tn__ini {
    struct tn_arena *arena;
    const char *path;
    struct tn__ini_entry *entries;
    uint32_t n, cap;
    struct tn_str_map names; /* "section:key" → index */
};

/* ---- scanning ------------------------------------------------------------------------
 */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* A piece of the text. */
struct span {
    const char *data;
    size_t n;
};

static struct span trim(const char *data, size_t n) {
    while (n && is_space(data[0])) {
        data++;
        n--;
    }
    while (n && is_space(data[n - 1]))
        n--;
    return (struct span){data, n};
}

static char *lower_copy(struct tn_arena *arena, struct span s) {
    char *copy = tn__arena_string(arena, s.data, s.n);
    for (size_t i = 0; copy && i < s.n; i++) {
        if (copy[i] >= 'A' && copy[i] <= 'Z') copy[i] = (char)(copy[i] - 'A' + 'a');
    }
    return copy;
}

static tn_status fail_line(
    const struct tn__ini *ini, uint32_t line, const char *what, struct tn_diag *diag) {
    return tn_fail(diag, TN_INVALID_ARGUMENT, "%s:%u: %s", ini->path, line, what);
}

static tn_status add_key(struct tn__ini *ini, const char *section, struct span name,
    uint32_t line, struct tn_diag *diag) {
    if (ini->n == MAX_KEYS) return fail_line(ini, line, "more than 4096 keys", diag);
    char *key = lower_copy(ini->arena, name);
    char *full = key ? tn__arena_format(ini->arena, "%s:%s", section, key) : NULL;
    if (!full || !tn__arena_grow(ini->arena, (void **)&ini->entries, &ini->cap,
                     ini->n + 1, sizeof *ini->entries))
        return tn__fail_memory(diag, "a configuration file", ini->n);
    uint32_t before = tn__map_get(&ini->names, full);
    if (before != UINT32_MAX)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%s:%u: key '%s' is already set in line %u; keep one of them", ini->path,
            line, key, ini->entries[before].line);
    if (!tn__map_put(&ini->names, full, ini->n))
        return tn__fail_memory(diag, "a configuration file", ini->n);
    ini->entries[ini->n++] = (struct tn__ini_entry){section, key, full, line};
    return TN_OK;
}

static tn_status scan_section(const struct tn__ini *ini, struct span s, uint32_t line,
    const char **section, struct tn_diag *diag) {
    if (s.data[s.n - 1] != ']')
        return fail_line(ini, line, "a section must end with ']'", diag);
    struct span name = trim(s.data + 1, s.n - 2);
    if (name.n == 0 || memchr(name.data, ']', name.n))
        return fail_line(ini, line, "a section needs a name without ']'", diag);
    *section = lower_copy(ini->arena, name);
    return *section ? TN_OK : tn__fail_memory(diag, "a section name", name.n);
}

static tn_status scan_line(struct tn__ini *ini, const char *data, size_t n, uint32_t line,
    const char **section, struct tn_diag *diag) {
    if (n > MAX_LINE) return fail_line(ini, line, "a line over 1000 bytes", diag);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)data[i] < 0x20 && !is_space(data[i]))
            return fail_line(ini, line, "a control character", diag);
    }
    struct span s = trim(data, n);
    if (s.n && s.data[s.n - 1] == '\\')
        return fail_line(ini, line, "a line cannot continue on the next", diag);
    if (s.n == 0 || s.data[0] == ';' || s.data[0] == '#') return TN_OK;
    if (s.data[0] == '[') return scan_section(ini, s, line, section, diag);
    const char *equal = memchr(s.data, '=', s.n);
    struct span key = trim(s.data, equal ? (size_t)(equal - s.data) : 0);
    if (key.n == 0)
        return fail_line(ini, line, "expected 'key = value' or '[section]'", diag);
    if (memchr(key.data, ':', key.n))
        return fail_line(ini, line, "a key cannot hold ':'", diag);
    return add_key(ini, *section, key, line, diag);
}

static tn_status scan(
    struct tn__ini *ini, const char *text, uint64_t size, struct tn_diag *diag) {
    const char *section = "";
    uint32_t line = 1;
    for (uint64_t at = 0; at < size; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        uint64_t n = end ? (uint64_t)(end - text) - at : size - at;
        TN_TRY(scan_line(ini, text + at, n, line, &section, diag));
        at += n + 1;
    }
    return TN_OK;
}

/* ---- values --------------------------------------------------------------------------
 */

static bool write_all(int fd, const char *data, uint64_t n) {
    while (n) {
        ssize_t done = write(fd, data, n);
        if (done <= 0) return false;
        data += done;
        n -= (uint64_t)done;
    }
    return true;
}

/* iniparser reads paths only: what was scanned is put into a file without a name, so that
 * both see the same bytes. */
static dictionary *parse_scanned(const char *text, uint64_t size) {
    int fd = memfd_create("tenon-ini", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    dictionary *dict = write_all(fd, text, size) ? iniparser_load(path) : NULL;
    close(fd);
    return dict;
}

static tn_status take_values(
    struct tn__ini *ini, const char *text, uint64_t size, struct tn_diag *diag) {
    dictionary *dict = parse_scanned(text, size);
    if (!dict)
        return tn_fail(diag, TN_IO,
            "cannot parse '%s': iniparser failed (is /proc mounted?)", ini->path);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < ini->n && status == TN_OK; i++) {
        struct tn__ini_entry *entry = &ini->entries[i];
        const char *value = iniparser_getstring(dict, entry->value, NULL);
        if (!value) {
            status = fail_line(ini, entry->line, "iniparser does not see this key", diag);
            break;
        }
        entry->value = tn__arena_string(ini->arena, value, strlen(value));
        if (!entry->value) status = tn__fail_memory(diag, "a setting", strlen(value));
    }
    iniparser_freedict(dict);
    return status;
}

tn_status tn__ini_parse(const char *path, const char *text, uint64_t size,
    struct tn__ini **out, struct tn_diag *diag) {
    if (size > MAX_FILE)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "'%s' is larger than 1 MiB, too large to be an ini file", path);
    struct tn_arena *arena = tn__arena_create();
    struct tn__ini *ini = arena ? tn__arena_alloc(arena, sizeof *ini) : NULL;
    if (!ini) {
        tn__arena_destroy(arena);
        return tn__fail_memory(diag, "a configuration file", size);
    }
    ini->arena = arena;
    ini->path = tn__arena_string(arena, path, strlen(path));
    tn_status status = ini->path ? scan(ini, text, size, diag)
                                 : tn__fail_memory(diag, "a path", strlen(path));
    if (status == TN_OK && ini->n) status = take_values(ini, text, size, diag);
    if (status != TN_OK) {
        tn__ini_free(ini);
        return status;
    }
    *out = ini;
    return TN_OK;
}

/* Reads a regular file of at most MAX_FILE bytes. */
static tn_status read_file(
    const char *path, char **out, uint64_t *out_size, struct tn_diag *diag) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tn_fail(diag, errno == ENOENT || errno == ENOTDIR ? TN_NOT_FOUND : TN_IO,
            "cannot open '%s': %s", path, strerror(errno));
    struct stat st;
    char *data = NULL;
    uint64_t n = 0;
    tn_status status = TN_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = tn_fail(diag, TN_IO, "'%s' is not a regular file", path);
    else if (!(data = tn__alloc(MAX_FILE + 1, 0)))
        status = tn__fail_memory(diag, "a configuration file", MAX_FILE);
    while (status == TN_OK && n <= MAX_FILE) {
        ssize_t got = read(fd, data + n, MAX_FILE + 1 - n);
        if (got < 0)
            status = tn_fail(diag, TN_IO, "cannot read '%s': %s", path, strerror(errno));
        if (got <= 0) break;
        n += (uint64_t)got;
    }
    close(fd);
    if (status != TN_OK) {
        tn__free(data);
        return status;
    }
    *out = data;
    *out_size = n;
    return TN_OK;
}

tn_status tn__ini_load(const char *path, struct tn__ini **out, struct tn_diag *diag) {
    char *text = NULL;
    uint64_t size = 0;
    TN_TRY(read_file(path, &text, &size, diag));
    tn_status status = tn__ini_parse(path, text, size, out, diag);
    tn__free(text);
    return status;
}

void tn__ini_free(struct tn__ini *ini) {
    if (!ini) return;
    tn__map_clear(&ini->names);
    tn__arena_destroy(ini->arena);
}

uint32_t tn__ini_count(const struct tn__ini *ini) {
    return ini->n;
}

const struct tn__ini_entry *tn__ini_at(const struct tn__ini *ini, uint32_t i) {
    return &ini->entries[i];
}

const char *tn__ini_get(const struct tn__ini *ini, const char *section, const char *key) {
    char full[2 * MAX_LINE + 2];
    int n = snprintf(full, sizeof full, "%s:%s", section, key);
    if (n < 0 || (size_t)n >= sizeof full) return NULL;
    uint32_t i = tn__map_get(&ini->names, full);
    return i == UINT32_MAX ? NULL : ini->entries[i].value;
}

const char *tn__ini_path(const struct tn__ini *ini) {
    return ini->path;
}
