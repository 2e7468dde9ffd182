/* Judging a shared library without loading it: what machine it is for, and the note by
 * which a plugin says what it was built against. The file may be hostile. */
#ifndef TENON_ELF_NOTE_H
#define TENON_ELF_NOTE_H

#include "core/base/diag.h"
#include "core/base/text.h"

#include <stdint.h>

struct tn__elf_note {
    uint32_t abi_major, abi_minor, host_minor_min, sanitizer;
    char id[64]; /* NUL-terminated */
};

/* Reads the note of a library. TN_PLUGIN says why the file cannot be a plugin of this
 * host: not a library, another machine, no note. */
tn_status tn__elf_read_note(
    const char *path, struct tn__elf_note *out, struct tn_diag *diag);
/* The same of bytes in memory; `path` is for messages. */
tn_status tn__elf_parse_note(const void *data, uint64_t size, const char *path,
    struct tn__elf_note *out, struct tn_diag *diag);
/* Appends the libraries that the file needs and the system cannot find, separated by
 * commas. Nothing when the file cannot be read. */
void tn__elf_missing(const char *path, struct tn_text *out);

#endif
