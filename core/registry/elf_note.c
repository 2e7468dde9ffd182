/* Reading ELF files: see elf_note.h. Every offset is checked against the file's size. */
#include "core/registry/elf_note.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/os/dl.h"
#include "core/os/file.h"
#include "tenon/plugin.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#elif defined(__riscv)
#define HOST_MACHINE EM_RISCV
#else
#define HOST_MACHINE EM_NONE
#endif

struct image {
    const unsigned char *data;
    uint64_t size;
};

/* Copies n bytes at an offset; false when they are not all in the file. */
static bool get(const struct image *image, uint64_t at, void *out, uint64_t n) {
    if (at > image->size || n > image->size - at) return false;
    memcpy(out, image->data + at, n);
    return true;
}

static const char *machine_name(uint32_t machine) {
    static const struct {
        uint32_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_386, "x86 (32 bit)"},
        {EM_ARM, "ARM (32 bit)"}, {EM_RISCV, "RISC-V"}, {EM_PPC64, "POWER"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].machine == machine) return names[i].name;
    }
    return "another machine";
}

static tn_status check_header(const struct image *image, const char *path,
    Elf64_Ehdr *header, struct tn_diag *diag) {
    if (!get(image, 0, header, sizeof *header) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return tn_fail(diag, TN_PLUGIN, "'%s' is not a shared library", path);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != HOST_MACHINE)
        return tn_fail(diag, TN_PLUGIN,
            "'%s' is built for %s, this host is %s; take the plugin's build for this "
            "machine",
            path, machine_name(header->e_machine), machine_name(HOST_MACHINE));
    if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN)
        return tn_fail(
            diag, TN_PLUGIN, "'%s' is an ELF file but not a shared library", path);
    return TN_OK;
}

/* i-th program header; false at the end or when it lies outside the file. */
static bool program_header(
    const struct image *image, const Elf64_Ehdr *header, uint32_t i, Elf64_Phdr *out) {
    uint64_t at;
    return i < header->e_phnum && header->e_phentsize >= sizeof *out &&
           tn_add_size(header->e_phoff, (uint64_t)i * header->e_phentsize, &at) &&
           get(image, at, out, sizeof *out);
}

/* ---- notes ----------------------------------------------------------------------- */

/* Looks for our note in [at, end). */
static bool scan_notes(const struct image *image, uint64_t at, uint64_t end,
    uint64_t align, struct tn_plugin_note *out) {
    Elf64_Nhdr note;
    while (at < end && get(image, at, &note, sizeof note)) {
        uint64_t name = at + sizeof note, desc, next;
        if (!tn_add_size(name, note.n_namesz, &desc) ||
            !tn_align_size(desc, align, &desc) ||
            !tn_add_size(desc, note.n_descsz, &next) ||
            !tn_align_size(next, align, &next) || next > end)
            return false;
        const uint64_t least = sizeof *out - offsetof(struct tn_plugin_note, abi_major);
        if (note.n_type == TN_NOTE_ABI && note.n_namesz == sizeof TN_NOTE_OWNER &&
            note.n_descsz >= least && get(image, name, out->owner, note.n_namesz) &&
            memcmp(out->owner, TN_NOTE_OWNER, sizeof TN_NOTE_OWNER) == 0)
            return get(image, desc, &out->abi_major, least);
        at = next;
    }
    return false;
}

tn_status tn__elf_parse_note(const void *data, uint64_t size, const char *path,
    struct tn__elf_note *out, struct tn_diag *diag) {
    const struct image image = {data, size};
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    struct tn_plugin_note note;
    bool found = false;
    TN_TRY(check_header(&image, path, &header, diag));
    for (uint32_t i = 0; !found && program_header(&image, &header, i, &segment); i++) {
        uint64_t end;
        if (segment.p_type == PT_NOTE &&
            tn_add_size(segment.p_offset, segment.p_filesz, &end))
            found = scan_notes(&image, segment.p_offset, end < size ? end : size,
                segment.p_align == 8 ? 8 : 4, &note);
    }
    if (!found)
        return tn_fail(diag, TN_PLUGIN,
            "'%s' has no note of a Tenon plugin: it is another library, or was built "
            "without TN_DEFINE_PLUGIN",
            path);
    if (!memchr(note.id, '\0', sizeof note.id))
        return tn_fail(
            diag, TN_PLUGIN, "'%s' has a plugin note without an end of its id", path);
    *out = (struct tn__elf_note){
        note.abi_major, note.abi_minor, note.host_minor_min, note.sanitizer, {0}};
    memcpy(out->id, note.id, sizeof out->id);
    return TN_OK;
}

tn_status tn__elf_read_note(
    const char *path, struct tn__elf_note *out, struct tn_diag *diag) {
    struct tn__mapping mapping;
    TN_TRY(tn__file_map(path, &mapping, diag));
    tn_status status = tn__elf_parse_note(mapping.data, mapping.size, path, out, diag);
    tn__file_unmap(&mapping);
    return status;
}

/* ---- needed libraries ------------------------------------------------------------ */

/* File offset of a virtual address, UINT64_MAX when no segment holds it. */
static uint64_t offset_of(
    const struct image *image, const Elf64_Ehdr *header, uint64_t address) {
    Elf64_Phdr segment;
    for (uint32_t i = 0; program_header(image, header, i, &segment); i++) {
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return UINT64_MAX;
}

/* The string at an offset, NULL when it does not end in the file. */
static const char *string_at(const struct image *image, uint64_t at) {
    if (at >= image->size || !memchr(image->data + at, '\0', image->size - at))
        return NULL;
    return (const char *)image->data + at;
}

/* i-th entry of the dynamic section; false at its end. */
static bool dynamic_entry(
    const struct image *image, const Elf64_Phdr *dynamic, uint64_t i, Elf64_Dyn *out) {
    uint64_t at;
    return i < dynamic->p_filesz / sizeof *out &&
           tn_add_size(dynamic->p_offset, i * sizeof *out, &at) &&
           get(image, at, out, sizeof *out) && out->d_tag != DT_NULL;
}

/* Dependencies beside the plugin are found through its $ORIGIN run path. */
static bool lies_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    struct tn_diag diag = {0};
    char *beside = tn__alloc(n + strlen(name) + 2, 0), *real = NULL;
    if (!beside) return false;
    memcpy(beside, path, n);
    beside[n] = '/';
    memcpy(beside + n + 1, name, strlen(name) + 1);
    bool found = tn__path_real(beside, &real, &diag) == TN_OK;
    tn__free(real);
    tn__free(beside);
    return found;
}

static void list_missing(const struct image *image, const Elf64_Ehdr *header,
    const Elf64_Phdr *dynamic, const char *path, struct tn_text *out) {
    Elf64_Dyn entry;
    uint64_t strings = UINT64_MAX;
    bool run_path = false;
    for (uint64_t i = 0; dynamic_entry(image, dynamic, i, &entry); i++) {
        if (entry.d_tag == DT_STRTAB)
            strings = offset_of(image, header, entry.d_un.d_ptr);
        run_path |= entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH;
    }
    for (uint64_t i = 0; dynamic_entry(image, dynamic, i, &entry); i++) {
        uint64_t at;
        if (entry.d_tag != DT_NEEDED || !tn_add_size(strings, entry.d_un.d_val, &at))
            continue;
        const char *name = string_at(image, at);
        if (!name || tn__dl_can_find(name) || (run_path && lies_beside(path, name)))
            continue;
        tn__text_printf(out, "%s%.100s", out->size ? ", " : "", name);
    }
}

void tn__elf_missing(const char *path, struct tn_text *out) {
    struct tn__mapping mapping;
    struct tn_diag diag = {0};
    if (tn__file_map(path, &mapping, &diag) != TN_OK) return;
    const struct image image = {mapping.data, mapping.size};
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    if (check_header(&image, path, &header, &diag) == TN_OK) {
        for (uint32_t i = 0; program_header(&image, &header, i, &segment); i++) {
            if (segment.p_type == PT_DYNAMIC)
                list_missing(&image, &header, &segment, path, out);
        }
    }
    tn__file_unmap(&mapping);
}
