/* What the rules share: the file, its note, and how a finding is told. */
#ifndef TENON_LINT_IMPL_H
#define TENON_LINT_IMPL_H

#include "elf_view.h"
#include "lint.h"

struct lint {
    const char *path;
    struct elf_view elf;
    struct tn_plugin_note note;
    bool has_note;
    const char *rule; /* the one being checked */
    uint32_t errors;
    tn_lint_fn emit;
    void *arg;
};

__attribute__((format(printf, 2, 3))) void lint_error(
    struct lint *lint, const char *format, ...);
__attribute__((format(printf, 2, 3))) void lint_warn(
    struct lint *lint, const char *format, ...);

/* Rules of the ELF file (lint_elf.c). */
void lint_entry(struct lint *lint);
void lint_note(struct lint *lint);
void lint_undefined(struct lint *lint);
void lint_sanitizer(struct lint *lint);
void lint_unique(struct lint *lint);
void lint_constructors(struct lint *lint);
void lint_text_relocations(struct lint *lint);
void lint_binding(struct lint *lint);
void lint_run_path(struct lint *lint);
void lint_needed(struct lint *lint);
void lint_segments(struct lint *lint);
void lint_static_tls(struct lint *lint);
/* Rules of the file and its manifest (lint_file.c, lint_manifest.c). */
void lint_permissions(struct lint *lint);
void lint_manifest(struct lint *lint);

#endif
