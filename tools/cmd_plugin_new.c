/* tenon plugin new: a folder with the smallest plugin of a kind, ready to build, from the
 * templates of sdk/template with the names put in. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_NAME = 40, MAX_DOMAIN = 60, MAX_PATH = 512 };

static const struct template_file {
    const char *kind; /* folder of sdk/template */
    const char *path;
    const char *text;
} files[] = {
#include "plugin_templates.inc"
};
enum { N_FILES = sizeof files / sizeof *files };

/* What every kind gets: the rules by which its meson.build is one line a plugin. */
static const char shared_kind[] = "tenon";

/* The names that stand in the templates, and what takes their place. */
struct names {
    char name[MAX_NAME];     /* my_op */
    char camel[MAX_NAME];    /* MyOp */
    char domain[MAX_DOMAIN]; /* com.example */
};

struct word {
    const char *from, *to;
};

/* ---- names ---------------------------------------------------------------------------- */

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

/* Lower-case letters and digits, and of `extra`; a letter first and behind every dot. */
static bool is_word(const char *text, size_t n, const char *extra) {
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool begins = i == 0 || text[i - 1] == '.';
        if (!is_lower(c) && (begins || !((c >= '0' && c <= '9') || strchr(extra, c))))
            return false;
    }
    return n > 0 && text[n - 1] != '.';
}

static void make_camel(const char *name, char *out) {
    bool upper = true;
    for (; *name; name++) {
        if (*name != '_') *out++ = upper ? (char)toupper((unsigned char)*name) : *name;
        upper = *name == '_';
    }
    *out = '\0';
}

/* "org.acme.fast_gelu" is fast_gelu of the domain org.acme; without a dot the domain is
 * com.example. */
static bool read_names(const char *text, struct names *out) {
    const char *dot = strrchr(text, '.'), *name = dot ? dot + 1 : text;
    const char *domain = dot ? text : "com.example";
    size_t n_domain = dot ? (size_t)(dot - text) : strlen(domain), n = strlen(name);
    if (n >= MAX_NAME || n_domain >= MAX_DOMAIN || !is_word(name, n, "_") ||
        !is_word(domain, n_domain, ".-_") || n_domain + n > 60)
        return false;
    memcpy(out->domain, domain, n_domain);
    out->domain[n_domain] = '\0';
    memcpy(out->name, name, n + 1);
    make_camel(name, out->camel);
    return true;
}

/* ---- writing -------------------------------------------------------------------------- */

/* Copies text, every word of the table replaced. */
static void write_text(
    FILE *to, const char *text, const struct word *words, unsigned n_words) {
    while (*text) {
        unsigned w = 0;
        while (w < n_words && strncmp(text, words[w].from, strlen(words[w].from)) != 0)
            w++;
        if (w < n_words) {
            fputs(words[w].to, to);
            text += strlen(words[w].from);
        } else {
            fputc(*text++, to);
        }
    }
}

static bool make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) return false;
    }
    return true;
}

static int write_file(const struct cli_args *args, const struct template_file *file,
    const struct names *names) {
    const struct word words[] = {
        {"myop", names->name}, {"MyOp", names->camel}, {"com.example", names->domain}};
    char path[MAX_PATH], name[MAX_PATH] = "";
    FILE *memory = fmemopen(name, sizeof name - 1, "w");
    if (!memory) return cli_usage(args, "not enough memory");
    write_text(memory, file->path, words, 3);
    fclose(memory);
    bool shared = strcmp(file->kind, shared_kind) == 0;
    snprintf(path, sizeof path, "%s/%s%s", names->name, shared ? "tenon/" : "", name);
    FILE *to = make_parents(path) ? fopen(path, "wx") : NULL;
    if (!to) return cli_usage(args, "cannot write '%s': %s", path, strerror(errno));
    write_text(to, file->text, words, 3);
    bool failed = ferror(to) != 0;
    if (fclose(to) != 0 || failed)
        return cli_usage(args, "cannot write '%s': %s", path, strerror(errno));
    if (!args->quiet) printf("wrote %s\n", path);
    return EXIT_OK;
}

/* Whether there are templates of the kind; *list gets the names of all kinds. */
static bool is_kind(const char *kind, char *list, size_t size) {
    bool found = false;
    list[0] = '\0';
    for (unsigned i = 0; i < N_FILES; i++) {
        size_t n = strlen(list);
        if (strcmp(files[i].kind, shared_kind) == 0) continue;
        if (i > 0 && strcmp(files[i].kind, files[i - 1].kind) == 0) continue;
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", files[i].kind);
        found |= strcmp(files[i].kind, kind) == 0;
    }
    return found;
}

int cmd_plugin_new(const struct cli_args *args) {
    struct names names;
    struct stat info;
    char kinds[128];
    if (args->models.n != 2)
        return cli_usage(args, "give a kind (such as op) and a name");
    const char *kind = args->models.items[0].text, *name = args->models.items[1].text;
    if (!is_kind(kind, kinds, sizeof kinds))
        return cli_usage(args, "there is no template '%s', but: %s", kind, kinds);
    if (!read_names(name, &names))
        return cli_usage(args,
            "'%s' is no name: lower-case letters, digits and _, after an optional domain "
            "like org.acme.",
            name);
    if (stat(names.name, &info) == 0)
        return cli_usage(args, "'%s' exists already; nothing was written", names.name);
    for (unsigned i = 0; i < N_FILES; i++) {
        if (strcmp(files[i].kind, kind) != 0 && strcmp(files[i].kind, shared_kind) != 0)
            continue;
        int code = write_file(args, &files[i], &names);
        if (code != EXIT_OK) return code;
    }
    if (!args->quiet)
        printf("next: cd %s && meson setup build && meson test -C build\n"
               "then: tenon run MODEL --plugin build/tenon/%s.%s.so\n",
            names.name, names.domain, names.name);
    return EXIT_OK;
}
