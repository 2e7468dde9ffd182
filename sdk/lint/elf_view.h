/* Reading an ELF shared library without loading it. The file may be hostile: every offset is
 * held against its size. Little-endian, 64 bit; any machine. */
#ifndef TENON_ELF_VIEW_H
#define TENON_ELF_VIEW_H

#include "tenon/plugin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_view {
    const unsigned char *data;
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Shdr symbols; /* the section .dynsym; sh_size 0 when there is none */
    uint64_t strings;   /* file offset of its names */
    uint64_t strings_size;
};

/* A symbol of the dynamic table. */
struct elf_symbol {
    const char *name;
    uint32_t bind, type; /* STB_*, STT_* */
    bool defined;
};

/* False when the bytes are no 64-bit little-endian shared library. data is borrowed. */
bool elf_view_open(struct elf_view *view, const void *data, uint64_t size);
/* "x86-64" …; "another machine" for what has no name here. */
const char *elf_view_machine(const struct elf_view *view);
/* i-th program header; false at the end. */
bool elf_view_segment(const struct elf_view *view, uint32_t i, Elf64_Phdr *out);
/* i-th entry of the dynamic section; false at its end. */
bool elf_view_dynamic(const struct elf_view *view, uint64_t i, Elf64_Dyn *out);
/* Value of the first dynamic entry with this tag; false when there is none. */
bool elf_view_tag(const struct elf_view *view, int64_t tag, uint64_t *out_value);
/* The string that a dynamic entry names, NULL when it lies outside the table. */
const char *elf_view_string(const struct elf_view *view, uint64_t offset);
/* i-th symbol of the dynamic table; false at its end. */
bool elf_view_symbol(const struct elf_view *view, uint64_t i, struct elf_symbol *out);
/* The note of a plugin; false when there is none. */
bool elf_view_note(const struct elf_view *view, struct tn_plugin_note *out);

#endif
