/* The table of rules, and how a file goes through it. */
#include "lint_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
static const struct {
    struct tn_lint_rule rule;
    void (*check)(struct lint *lint);
} rules[] = {
    {{"permissions", "a regular file in a folder that not everybody can write"}, lint_permissions},
    {{"entry", "exports " TN_PLUGIN_ENTRY_NAME " and nothing else"}, lint_entry},
    {{"note", "the note by which it is judged before it is opened"}, lint_note},
    {{"undefined", "asks the process for nothing that a plugin must not do"}, lint_undefined},
    {{"sanitizer", "the sanitizer of its code is the one its note names"}, lint_sanitizer},
    {{"unique", "no symbol that the process shares by name"}, lint_unique},
    {{"constructors", "no code that runs before its entry is called"}, lint_constructors},
    {{"textrel", "no relocations in code"}, lint_text_relocations},
    {{"binding", "bound before it runs, relocations read-only afterwards"}, lint_binding},
    {{"run-path", "no run path but its own folder"}, lint_run_path},
    {{"needed", "needs no library of the host, and finds the others"}, lint_needed},
    {{"segments", "pages of 16 KiB, no memory both written and run, no executable stack"}, lint_segments},
    {{"static-tls", "thread-local storage that can be had late"}, lint_static_tls},
    {{"manifest", "a manifest beside it that says what its tables say"}, lint_manifest},
};
/* clang-format on */
enum { N_RULES = sizeof rules / sizeof rules[0] };

const struct tn_lint_rule *tn_lint_rules(uint32_t *out_n) {
    static struct tn_lint_rule list[N_RULES];
    for (uint32_t i = 0; i < N_RULES; i++)
        list[i] = rules[i].rule;
    *out_n = N_RULES;
    return list;
}

static void tell(
    const struct lint *lint, uint32_t level, const char *format, va_list args) {
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    const struct tn_lint_finding finding = {lint->rule, level, 0, text};
    lint->emit(lint->arg, &finding);
}

void lint_error(struct lint *lint, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(lint, TN_LINT_ERROR, format, args);
    va_end(args);
    lint->errors++;
}

void lint_warn(struct lint *lint, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(lint, TN_LINT_WARNING, format, args);
    va_end(args);
}

static void check_all(struct lint *lint, const void *data, uint64_t size) {
    if (!elf_view_open(&lint->elf, data, size)) {
        lint_error(lint, "is no 64-bit little-endian shared library");
        return;
    }
    lint->has_note = elf_view_note(&lint->elf, &lint->note);
    for (uint32_t i = 0; i < N_RULES; i++) {
        lint->rule = rules[i].rule.name;
        rules[i].check(lint);
    }
}

uint32_t tn_lint_file(const char *path, tn_lint_fn emit, void *arg) {
    struct lint lint = {.path = path, .rule = "file", .emit = emit, .arg = arg};
    struct stat st;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        lint_error(&lint, "cannot be read: %s",
            file < 0 ? strerror(errno) : "it is empty or no regular file");
    } else {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data == MAP_FAILED) {
            lint_error(&lint, "cannot be mapped: %s", strerror(errno));
        } else {
            check_all(&lint, data, (uint64_t)st.st_size);
            munmap(data, (size_t)st.st_size);
        }
    }
    if (file >= 0) close(file);
    return lint.errors;
}
