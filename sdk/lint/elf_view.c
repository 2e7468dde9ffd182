#include "elf_view.h"

#include <string.h>

/* Copies n bytes at an offset; false when they are not all in the file. */
static bool get(const struct elf_view *view, uint64_t at, void *out, uint64_t n) {
    if (at > view->size || n > view->size - at) return false;
    memcpy(out, view->data + at, n);
    return true;
}

/* i-th record of a table of `n` records of `size` bytes, of which the first `want` are read. */
static bool get_record(const struct elf_view *view, uint64_t table, uint64_t i,
    uint64_t n, uint64_t size, void *out, uint64_t want) {
    if (i >= n || size < want || i > view->size / size) return false;
    uint64_t at = i * size;
    return at <= UINT64_MAX - table && get(view, table + at, out, want);
}

static bool section(const struct elf_view *view, uint32_t i, Elf64_Shdr *out) {
    return get_record(view, view->header.e_shoff, i, view->header.e_shnum,
        view->header.e_shentsize, out, sizeof *out);
}

static void find_symbols(struct elf_view *view) {
    Elf64_Shdr names;
    for (uint32_t i = 0; section(view, i, &view->symbols); i++) {
        if (view->symbols.sh_type != SHT_DYNSYM) continue;
        if (section(view, view->symbols.sh_link, &names) &&
            names.sh_offset <= view->size &&
            names.sh_size <= view->size - names.sh_offset) {
            view->strings = names.sh_offset;
            view->strings_size = names.sh_size;
            return;
        }
    }
    memset(&view->symbols, 0, sizeof view->symbols);
}

bool elf_view_open(struct elf_view *view, const void *data, uint64_t size) {
    memset(view, 0, sizeof *view);
    view->data = data;
    view->size = size;
    if (!get(view, 0, &view->header, sizeof view->header) ||
        memcmp(view->header.e_ident, ELFMAG, SELFMAG) != 0 ||
        view->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        view->header.e_ident[EI_DATA] != ELFDATA2LSB || view->header.e_type != ET_DYN)
        return false;
    find_symbols(view);
    return true;
}

const char *elf_view_machine(const struct elf_view *view) {
    static const struct {
        uint32_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "RISC-V"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].machine == view->header.e_machine) return names[i].name;
    return "another machine";
}

bool elf_view_segment(const struct elf_view *view, uint32_t i, Elf64_Phdr *out) {
    return get_record(view, view->header.e_phoff, i, view->header.e_phnum,
        view->header.e_phentsize, out, sizeof *out);
}

bool elf_view_dynamic(const struct elf_view *view, uint64_t i, Elf64_Dyn *out) {
    Elf64_Phdr segment;
    for (uint32_t s = 0; elf_view_segment(view, s, &segment); s++) {
        if (segment.p_type != PT_DYNAMIC) continue;
        return get_record(view, segment.p_offset, i, segment.p_filesz / sizeof *out,
                   sizeof *out, out, sizeof *out) &&
               out->d_tag != DT_NULL;
    }
    return false;
}

bool elf_view_tag(const struct elf_view *view, int64_t tag, uint64_t *out_value) {
    Elf64_Dyn entry;
    for (uint64_t i = 0; elf_view_dynamic(view, i, &entry); i++) {
        if (entry.d_tag != tag) continue;
        *out_value = entry.d_un.d_val;
        return true;
    }
    return false;
}

const char *elf_view_string(const struct elf_view *view, uint64_t offset) {
    if (offset >= view->strings_size) return NULL;
    const unsigned char *text = view->data + view->strings + offset;
    return memchr(text, '\0', view->strings_size - offset) ? (const char *)text : NULL;
}

bool elf_view_symbol(const struct elf_view *view, uint64_t i, struct elf_symbol *out) {
    Elf64_Sym symbol;
    if (!get_record(view, view->symbols.sh_offset, i,
            view->symbols.sh_size / sizeof symbol, sizeof symbol, &symbol, sizeof symbol))
        return false;
    const char *name = elf_view_string(view, symbol.st_name);
    out->name = name ? name : "";
    out->bind = ELF64_ST_BIND(symbol.st_info);
    out->type = ELF64_ST_TYPE(symbol.st_info);
    out->defined = symbol.st_shndx != SHN_UNDEF;
    return true;
}

/* ---- the plugin's note ------------------------------------------------------------- */

static uint64_t padded(uint64_t n, uint64_t align) {
    return (n + align - 1) & ~(align - 1);
}

/* Looks for our note in [at, end); sizes are 32 bits wide, so that sums cannot wrap. */
static bool scan_notes(const struct elf_view *view, uint64_t at, uint64_t end,
    uint64_t align, struct tn_plugin_note *out) {
    const uint64_t least = sizeof *out - offsetof(struct tn_plugin_note, abi_major);
    Elf64_Nhdr note;
    while (at < end && get(view, at, &note, sizeof note)) {
        uint64_t name = at + sizeof note;
        uint64_t desc = padded(name + note.n_namesz, align);
        if (note.n_type == TN_NOTE_ABI && note.n_namesz == sizeof TN_NOTE_OWNER &&
            note.n_descsz >= least && get(view, name, out->owner, note.n_namesz) &&
            memcmp(out->owner, TN_NOTE_OWNER, sizeof TN_NOTE_OWNER) == 0)
            return get(view, desc, &out->abi_major, least);
        at = padded(desc + note.n_descsz, align);
    }
    return false;
}

bool elf_view_note(const struct elf_view *view, struct tn_plugin_note *out) {
    Elf64_Phdr segment;
    for (uint32_t i = 0; elf_view_segment(view, i, &segment); i++) {
        if (segment.p_type != PT_NOTE || segment.p_offset > view->size) continue;
        uint64_t left = view->size - segment.p_offset;
        uint64_t end =
            segment.p_offset + (segment.p_filesz < left ? segment.p_filesz : left);
        if (scan_notes(view, segment.p_offset, end, segment.p_align == 8 ? 8 : 4, out))
            return memchr(out->id, '\0', sizeof out->id) != NULL;
    }
    return false;
}
