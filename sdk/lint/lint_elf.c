/* Rules that the ELF file alone decides. */
#include "lint_impl.h"

#include <dlfcn.h>
#include <string.h>

/* What a plugin must not ask of the process that it is a guest in (docs/abi.md). */
/* clang-format off */
static const struct {
    const char *name;
    const char *why;
} forbidden[] = {
    {"exit", "return a status"}, {"_exit", "return a status"}, {"_Exit", "return a status"},
    {"quick_exit", "return a status"}, {"atexit", "use shutdown"}, {"on_exit", "use shutdown"},
    {"longjmp", "return a status"}, {"_longjmp", "return a status"},
    {"siglongjmp", "return a status"}, {"__longjmp_chk", "return a status"},
    {"signal", "leave signals to the program"}, {"sigaction", "leave signals to the program"},
    {"setlocale", "use newlocale and the functions that end in _l"},
    {"setenv", "use the plugin's section of the settings"},
    {"putenv", "use the plugin's section of the settings"},
    {"unsetenv", "use the plugin's section of the settings"},
    {"chdir", "use absolute paths"}, {"fchdir", "use absolute paths"},
    {"umask", "set the mode when the file is opened"},
    {"printf", "use host->log"}, {"puts", "use host->log"}, {"putchar", "use host->log"},
    {"vprintf", "use host->log"}, {"stdout", "use host->log"}, {"__printf_chk", "use host->log"},
    {"__vprintf_chk", "use host->log"},
    {"fork", "leave processes to the program"}, {"vfork", "leave processes to the program"},
    {"system", "leave processes to the program"},
};
/* tolerated with a reason that the author should know */
static const struct {
    const char *name;
    const char *advice;
} questionable[] = {
    {"pthread_create", "the host's pool is parallel_for: threads of its own oversubscribe the machine"},
    {"abort", "a failed assertion ends the program: return a status in what is shipped"},
    {"__assert_fail", "a failed assertion ends the program: build what is shipped with NDEBUG"},
    {"dlopen", "name the library in DT_NEEDED, or say in the documentation why it is opened late"},
    {"getenv", "use the plugin's section of the settings"},
    {"__cxa_throw", "no exception may leave a function of the plugin"},
};
/* clang-format on */
#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool starts_with(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
}

void lint_entry(struct lint *lint) {
    struct elf_symbol symbol;
    bool found = false;
    if (lint->elf.symbols.sh_size == 0) {
        lint_error(lint, "has no table of dynamic symbols that could be judged");
        return;
    }
    for (uint64_t i = 1; elf_view_symbol(&lint->elf, i, &symbol); i++) {
        if (!symbol.defined || symbol.bind == STB_LOCAL || symbol.type == STT_SECTION)
            continue;
        if (strcmp(symbol.name, TN_PLUGIN_ENTRY_NAME) == 0)
            found = true;
        else if (starts_with(symbol.name, "tn_plugin_query_v"))
            continue; /* one file may serve several majors */
        else
            lint_error(lint,
                "exports '%.200s', which can hide or be hidden by a symbol of the "
                "program; build with -fvisibility=hidden and link with the SDK's "
                "plugin.map",
                symbol.name);
    }
    if (!found)
        lint_error(lint,
            "does not export " TN_PLUGIN_ENTRY_NAME ", the entry of ABI %u; use "
            "TN_DEFINE_PLUGIN and link with the SDK's plugin.map",
            TN_ABI_MAJOR);
}

void lint_note(struct lint *lint) {
    const struct tn_plugin_note *note = &lint->note;
    if (!lint->has_note) {
        lint_error(lint, "has no note of a Tenon plugin; use TN_DEFINE_PLUGIN");
        return;
    }
    if (note->abi_major != TN_ABI_MAJOR)
        lint_error(lint, "is built for ABI major %u, this SDK has %u; rebuild it",
            note->abi_major, TN_ABI_MAJOR);
    if (note->host_minor_min > note->abi_minor)
        lint_error(lint, "wants a host of minor %u but was built against minor %u",
            note->host_minor_min, note->abi_minor);
    if (note->abi_major == TN_ABI_MAJOR && note->host_minor_min > TN_ABI_MINOR)
        lint_warn(lint, "wants a host of ABI %u.%u, newer than this SDK's %u.%u",
            note->abi_major, note->host_minor_min, TN_ABI_MAJOR, TN_ABI_MINOR);
    if (note->id[0] == '\0' || note->id[strspn(note->id, "abcdefghijklmnopqrstuvwxyz"
                                                         "0123456789.-_")] != '\0')
        lint_error(lint,
            "has the id '%s', expected reverse-DNS of a-z, 0-9, '.', '-' and '_'",
            note->id);
}

static void judge_undefined(struct lint *lint, const char *name) {
    for (size_t i = 0; i < COUNT(forbidden); i++)
        if (strcmp(forbidden[i].name, name) == 0)
            lint_error(lint, "calls '%s', which changes the whole process; %s", name,
                forbidden[i].why);
    for (size_t i = 0; i < COUNT(questionable); i++)
        if (strcmp(questionable[i].name, name) == 0)
            lint_warn(lint, "uses '%s': %s", name, questionable[i].advice);
    if (starts_with(name, "tn_") || starts_with(name, "tenon_"))
        lint_error(lint,
            "wants the symbol '%.200s' of the host; a plugin links nothing of Tenon, "
            "everything comes through the tables of tenon/plugin.h",
            name);
}

void lint_undefined(struct lint *lint) {
    struct elf_symbol symbol;
    for (uint64_t i = 1; elf_view_symbol(&lint->elf, i, &symbol); i++)
        if (!symbol.defined) judge_undefined(lint, symbol.name);
}

void lint_sanitizer(struct lint *lint) {
    static const struct {
        const char *prefix;
        uint32_t kind;
        const char *name;
    } kinds[] = {{"__asan_", TN_SANITIZER_ADDRESS, "AddressSanitizer"},
        {"__tsan_", TN_SANITIZER_THREAD, "ThreadSanitizer"},
        {"__msan_", TN_SANITIZER_MEMORY, "MemorySanitizer"}};
    struct elf_symbol symbol;
    uint32_t found = COUNT(kinds);
    for (uint64_t i = 1; elf_view_symbol(&lint->elf, i, &symbol); i++)
        for (uint32_t k = 0; k < COUNT(kinds); k++)
            if (!symbol.defined && starts_with(symbol.name, kinds[k].prefix)) found = k;
    if (found == COUNT(kinds)) {
        if (lint->has_note && lint->note.sanitizer != TN_SANITIZER_NONE)
            lint_error(lint, "names sanitizer %u in its note but was built without one",
                lint->note.sanitizer);
    } else if (lint->has_note && lint->note.sanitizer != kinds[found].kind) {
        lint_error(lint, "is built with %s but its note names sanitizer %u; rebuild it",
            kinds[found].name, lint->note.sanitizer);
    } else {
        lint_warn(lint, "is built with %s: only a host built so can load it",
            kinds[found].name);
    }
}

void lint_unique(struct lint *lint) {
    struct elf_symbol symbol;
    for (uint64_t i = 1; elf_view_symbol(&lint->elf, i, &symbol); i++)
        if (symbol.bind == STB_GNU_UNIQUE)
            lint_error(lint,
                "has the unique symbol '%.200s', of which the process keeps one for all "
                "libraries; compile with -fno-gnu-unique",
                symbol.name);
}

/* Compilers put one entry, of no effect here, into each array. */
static void judge_array(struct lint *lint, int64_t size_tag, const char *what) {
    uint64_t size = 0;
    if (!elf_view_tag(&lint->elf, size_tag, &size) || size <= sizeof(uint64_t)) return;
    if (lint->has_note && lint->note.sanitizer != TN_SANITIZER_NONE) return;
    lint_error(lint,
        "has %u %s; a plugin does its work in init and shutdown, no global "
        "constructors or destructors",
        (unsigned)(size / sizeof(uint64_t) - 1), what);
}

void lint_constructors(struct lint *lint) {
    uint64_t size = 0;
    judge_array(lint, DT_INIT_ARRAYSZ, "functions that run when it is opened");
    judge_array(lint, DT_FINI_ARRAYSZ, "functions that run when the process ends");
    if (elf_view_tag(&lint->elf, DT_PREINIT_ARRAYSZ, &size) && size > 0)
        lint_error(lint, "has functions that run before the program's");
}

void lint_text_relocations(struct lint *lint) {
    uint64_t flags = 0, unused;
    (void)elf_view_tag(&lint->elf, DT_FLAGS, &flags);
    if (elf_view_tag(&lint->elf, DT_TEXTREL, &unused) || (flags & DF_TEXTREL))
        lint_error(lint, "has relocations in its code; compile with -fPIC");
}

void lint_binding(struct lint *lint) {
    uint64_t flags = 0, flags_1 = 0, unused;
    Elf64_Phdr segment;
    bool relro = false;
    (void)elf_view_tag(&lint->elf, DT_FLAGS, &flags);
    (void)elf_view_tag(&lint->elf, DT_FLAGS_1, &flags_1);
    if (!(flags & DF_BIND_NOW) && !(flags_1 & DF_1_NOW) &&
        !elf_view_tag(&lint->elf, DT_BIND_NOW, &unused))
        lint_error(lint, "binds symbols when they are first called; link with -z now");
    for (uint32_t i = 0; elf_view_segment(&lint->elf, i, &segment); i++)
        relro |= segment.p_type == PT_GNU_RELRO;
    if (!relro) lint_error(lint, "leaves its tables writable; link with -z relro -z now");
}

static void judge_run_path(struct lint *lint, const char *path) {
    while (*path) {
        size_t n = strcspn(path, ":");
        bool own = n >= 7 && starts_with(path, "$ORIGIN") && (n == 7 || path[7] == '/');
        if (!own)
            lint_error(lint,
                "has the run path '%.*s', which somebody else may fill; use $ORIGIN",
                (int)n, path);
        path += n + (path[n] == ':');
    }
}

void lint_run_path(struct lint *lint) {
    Elf64_Dyn entry;
    for (uint64_t i = 0; elf_view_dynamic(&lint->elf, i, &entry); i++) {
        if (entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
        const char *path = elf_view_string(&lint->elf, entry.d_un.d_val);
        judge_run_path(lint, path ? path : "?");
    }
}

/* Whether the machine that lints could run the file. */
static bool is_native(const struct lint *lint) {
#if defined(__x86_64__)
    return lint->elf.header.e_machine == EM_X86_64;
#elif defined(__aarch64__)
    return lint->elf.header.e_machine == EM_AARCH64;
#else
    (void)lint;
    return false;
#endif
}

void lint_needed(struct lint *lint) {
    Elf64_Dyn entry;
    uint64_t unused;
    bool own = elf_view_tag(&lint->elf, DT_RUNPATH, &unused);
    for (uint64_t i = 0; elf_view_dynamic(&lint->elf, i, &entry); i++) {
        if (entry.d_tag != DT_NEEDED) continue;
        const char *name = elf_view_string(&lint->elf, entry.d_un.d_val);
        if (!name)
            lint_error(lint, "needs a library whose name lies outside the file");
        else if (starts_with(name, "libtenon"))
            lint_error(lint,
                "is linked with %s; a plugin links nothing of Tenon, so that one file "
                "serves every host of its ABI",
                name);
        else if (is_native(lint) && !own) {
            void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
            if (!handle)
                lint_warn(lint, "needs %.200s, which this system does not find", name);
            else
                dlclose(handle);
        }
    }
}

void lint_segments(struct lint *lint) {
    Elf64_Phdr segment;
    bool stack = false;
    for (uint32_t i = 0; elf_view_segment(&lint->elf, i, &segment); i++) {
        if (segment.p_type == PT_GNU_STACK) {
            stack = true;
            if (segment.p_flags & PF_X)
                lint_error(lint, "wants an executable stack; link with -z noexecstack");
        }
        if (segment.p_type != PT_LOAD) continue;
        if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
            lint_error(lint, "has memory that is both written and run");
        if (segment.p_align < 16384)
            lint_error(lint,
                "is aligned for pages of %llu bytes, phones have 16384; link with "
                "-z max-page-size=16384",
                (unsigned long long)segment.p_align);
    }
    if (!stack)
        lint_error(lint, "does not say that its stack is not run; link with "
                         "-z noexecstack");
}

void lint_static_tls(struct lint *lint) {
    uint64_t flags = 0;
    if (elf_view_tag(&lint->elf, DT_FLAGS, &flags) && (flags & DF_STATIC_TLS))
        lint_warn(lint,
            "uses static thread-local storage, of which a process that opens it late may "
            "have none left; compile with -ftls-model=global-dynamic");
}
