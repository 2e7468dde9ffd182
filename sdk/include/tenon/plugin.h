/* What a plugin exports and what the host gives it.
 *
 * A plugin is a shared library with exactly one exported symbol, TN_PLUGIN_ENTRY, which
 * returns a constant descriptor. The symbol's name carries the ABI major, so that a
 * library built for another major is recognised by its absence. Everything else travels
 * through the two tables below.
 *
 * Evolution: every growable struct begins with `struct_size` (the end of the last field
 * its builder knew) and `flags` (low 16 bits critical: an unknown one is refused; high 16
 * bits advisory). Fields are appended, never moved. Read foreign fields through TN_HAS.
 *
 * Thread tags: [any] any thread at any time; [setup] serialised per object, the thread
 * may differ from call to call; [run] concurrent across contexts; [worker] inside
 * parallel_for.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include "tenon/status.h"
#include "tenon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_ABI_MAJOR 0u
#define TN_ABI_MINOR 1u
#define TN_ABI_MINOR_OLDEST 1u /* whose plugins every host of this major takes */
#define TN_PLUGIN_ENTRY tn_plugin_query_v0
#define TN_PLUGIN_ENTRY_NAME "tn_plugin_query_v0"

#define TN_CRITICAL_FLAGS 0x0000ffffu

/* Sanitizer kinds: a plugin and its host must agree. */
enum {
    TN_SANITIZER_NONE = 0,
    TN_SANITIZER_ADDRESS = 1,
    TN_SANITIZER_THREAD = 2,
    TN_SANITIZER_MEMORY = 3
};

/* CPU feature bits: what the processor has, the operating system enables, and the
 * configuration leaves unmasked. */
#define TN_CPU_AVX2 (UINT64_C(1) << 0)   /* AVX2, FMA, F16C and BMI2 together */
#define TN_CPU_AVX512 (UINT64_C(1) << 1) /* AVX-512 F, BW, DQ and VL together */
#define TN_CPU_AVX512_VNNI (UINT64_C(1) << 2)
#define TN_CPU_AVX512_BF16 (UINT64_C(1) << 3)
#define TN_CPU_AVX_VNNI (UINT64_C(1) << 4)
#define TN_CPU_NEON (UINT64_C(1) << 16)
#define TN_CPU_DOTPROD (UINT64_C(1) << 17)
#define TN_CPU_FP16 (UINT64_C(1) << 18)
#define TN_CPU_I8MM (UINT64_C(1) << 19)
#define TN_CPU_BF16 (UINT64_C(1) << 20)

struct tn_op_def;
struct tn_kernel_def;
struct tn_provider_def;

enum { TN_LOG_ERROR = 0, TN_LOG_WARNING = 1, TN_LOG_INFO = 2, TN_LOG_DEBUG = 3 };

/* Who asks: passed to the entry, which must not keep it. */
struct tn_host_info {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t abi_major;
    uint32_t abi_minor_min; /* oldest and newest minor the host speaks */
    uint32_t abi_minor_max;
    uint32_t sanitizer; /* TN_SANITIZER_* */
    uint64_t cpu_features;
    const char *product_version; /* "0.1.0" */
    const char *triple;          /* "x86_64-linux-gnu" */
};
#define TN_HOST_INFO_SIZE ((uint32_t)TN_END_OF(struct tn_host_info, triple))

/* Body of a parallel loop: items [begin, end), on worker `worker` < worker_count.
 * [worker]: it may call nothing of the host. */
typedef void (*tn_parallel_fn)(void *arg, int64_t begin, int64_t end, uint32_t worker);

/* Services of the host: given to init, valid until after shutdown. */
struct tn_host {
    uint32_t struct_size;
    uint32_t flags;
    void *self; /* pass it back as the first argument */
    uint64_t cpu_features;
    uint64_t cache_l1d, cache_l2, cache_l3; /* bytes, per core where private; 0 unknown */

    /* [any] Memory aligned to `align` (a power of two ≤ 2 MiB; 0 = 64), uninitialised;
     * NULL when there is none. `tag` names the owner in memory reports; a literal. */
    void *(*alloc)(void *self, uint64_t size, uint64_t align, const char *tag);
    /* [any] NULL is fine. */
    void (*free)(void *self, void *ptr);
    /* [any] One line, no newline. */
    void (*log)(void *self, uint32_t level, const char *message);
    /* [any] The value of `key` in this plugin's configuration section, NULL when unset;
     * lives as long as the host table. */
    const char *(*config)(void *self, const char *key);
    /* [any] Monotonic nanoseconds. */
    uint64_t (*clock_ns)(void *self);
    /* [run] Calls fn over [0, n) in pieces whose bounds are multiples of `grain` (the
     * last may be short) on the shared pool; the caller takes part. The pieces depend on
     * n and grain only through those bounds, so a body that treats items independently
     * gives the same bits for any number of threads. Returns when all are done. No
     * nesting: inside a body it runs in place. */
    void (*parallel_for)(
        void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg);
    /* [any] Upper bound of `worker` + 1. */
    uint32_t (*worker_count)(void *self);
    /* [setup] Optional interface "tenon.<name>/<rev>": the host's own, or a service that
     * another plugin publishes, which is opened when its manifest says so. NULL when there
     * is none. The answer lives as long as the host table. Not from shutdown. */
    const void *(*get_extension)(void *self, const char *id);
};
#define TN_HOST_SIZE ((uint32_t)TN_END_OF(struct tn_host, get_extension))

/* Capability bits of a plugin. */
#define TN_PLUGIN_HAS_OPS 1u
#define TN_PLUGIN_HAS_KERNELS 2u
#define TN_PLUGIN_HAS_PROVIDERS 4u

/* The descriptor: constant, pure data and functions. Strings are NUL-terminated UTF-8. */
struct tn_plugin {
    uint32_t struct_size; /* TN_PLUGIN_SIZE */
    uint32_t flags;
    uint32_t abi_minor;      /* TN_ABI_MINOR it was built against */
    uint32_t host_minor_min; /* oldest host minor it works with */
    const char *id;          /* reverse-DNS, e.g. "org.tenon.cpu" */
    const char *name;        /* for people */
    const char *version;     /* semantic version */
    const char *vendor;
    const char *licence;  /* SPDX */
    const char *build_id; /* may be NULL */
    uint32_t sanitizer;   /* TN_SANITIZER_CURRENT */
    uint32_t capabilities;

    /* [setup] Called once before anything below; *out_state may stay NULL. On failure
     * fills diag, leaves *out_state, and shutdown is not called. May be NULL. */
    tn_status (*init)(const struct tn_host *host, void **out_state, struct tn_diag *diag);
    /* [setup] After the last call. May be NULL. */
    void (*shutdown)(void *state);
    /* [setup] Tables of pointers to constant records that live as long as the plugin.
     * NULL when the plugin has none. */
    tn_status (*ops)(
        void *state, const struct tn_op_def *const **out_table, uint32_t *out_count);
    tn_status (*kernels)(
        void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count);
    tn_status (*providers)(void *state, const struct tn_provider_def *const **out_table,
        uint32_t *out_count);
    /* [any] Optional interface of the plugin ("tenon.draft.pass/1"), NULL when unknown.
     * May be NULL. */
    const void *(*get_extension)(void *state, const char *id);
    /* Ids that get_extension answers for other plugins to use, NULL at the end: services.
     * They stand in the manifest. May be NULL. */
    const char *const *services;
};
#define TN_PLUGIN_SIZE ((uint32_t)TN_END_OF(struct tn_plugin, services))

/* The entry. [any], pure, no allocation, callable many times. Returns TN_OK and a
 * descriptor, or a code when the plugin itself declines this host. */
typedef tn_status (*tn_plugin_query_fn)(
    const struct tn_host_info *host, const struct tn_plugin **out);

#if defined(__SANITIZE_ADDRESS__)
#define TN_SANITIZER_CURRENT TN_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define TN_SANITIZER_CURRENT TN_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_SANITIZER_CURRENT TN_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define TN_SANITIZER_CURRENT TN_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define TN_SANITIZER_CURRENT TN_SANITIZER_MEMORY
#endif
#endif
#ifndef TN_SANITIZER_CURRENT
#define TN_SANITIZER_CURRENT TN_SANITIZER_NONE
#endif

#ifdef __cplusplus
#define TN_EXTERN_C extern "C"
#else
#define TN_EXTERN_C
#endif

/* ELF note by which a file is judged without loading it: owner "TENON", type 1. */
#define TN_NOTE_OWNER "TENON"
#define TN_NOTE_ABI 1u
struct tn_plugin_note {
    uint32_t owner_size, desc_size, type;
    char owner[8];
    uint32_t abi_major, abi_minor, host_minor_min, sanitizer;
    char id[64];
};

/* Defines the entry and the note: TN_DEFINE_PLUGIN(descriptor, "org.example.mine").
 * TN_DEFINE_PLUGIN_FOR also takes the oldest host minor that has all the plugin uses (the
 * descriptor's host_minor_min), so that a plugin built with a newer SDK runs on older hosts
 * too. With TN_STATIC_PLUGIN defined to a symbol name, the entry gets that name instead and
 * there is no note: the host registers it by table. */
#ifdef TN_STATIC_PLUGIN
#define TN_DEFINE_PLUGIN_FOR(descriptor, id_text, host_minor)                            \
    TN_EXTERN_C tn_status TN_STATIC_PLUGIN(                                              \
        const struct tn_host_info *host, const struct tn_plugin **out);                  \
    TN_EXTERN_C tn_status TN_STATIC_PLUGIN(                                              \
        const struct tn_host_info *host, const struct tn_plugin **out) {                 \
        (void)host;                                                                      \
        *out = &(descriptor);                                                            \
        return TN_OK;                                                                    \
    }                                                                                    \
    TN_STATIC_ASSERT(sizeof(id_text) <= 64, "plugin id too long")
#else
#define TN_DEFINE_PLUGIN_FOR(descriptor, id_text, host_minor)                            \
    __attribute__((section(".note.tenon"), used,                                         \
        aligned(4))) static const struct tn_plugin_note tn_plugin_note_ = {              \
        sizeof(TN_NOTE_OWNER),                                                           \
        (uint32_t)(sizeof(struct tn_plugin_note) -                                       \
                   offsetof(struct tn_plugin_note, abi_major)),                          \
        TN_NOTE_ABI, TN_NOTE_OWNER, TN_ABI_MAJOR, TN_ABI_MINOR, host_minor,              \
        TN_SANITIZER_CURRENT, id_text};                                                  \
    TN_EXTERN_C __attribute__((visibility("default"))) tn_status TN_PLUGIN_ENTRY(        \
        const struct tn_host_info *host, const struct tn_plugin **out);                  \
    TN_EXTERN_C __attribute__((visibility("default"))) tn_status TN_PLUGIN_ENTRY(        \
        const struct tn_host_info *host, const struct tn_plugin **out) {                 \
        (void)host;                                                                      \
        *out = &(descriptor);                                                            \
        return TN_OK;                                                                    \
    }                                                                                    \
    TN_STATIC_ASSERT(sizeof(id_text) <= 64, "plugin id too long")
#endif
#define TN_DEFINE_PLUGIN(descriptor, id_text)                                            \
    TN_DEFINE_PLUGIN_FOR(descriptor, id_text, TN_ABI_MINOR)

#ifdef __cplusplus
}
#endif
#endif
