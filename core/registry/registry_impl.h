/* Inside the registry room: what its files share. Everything here runs under the
 * registry's lock unless said otherwise. */
#ifndef TENON_REGISTRY_IMPL_H
#define TENON_REGISTRY_IMPL_H

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/registry/registry.h"

#include <pthread.h>
#include <stdbool.h>

/* Names in tables and manifests are shorter than this. */
enum { TN__NAME_MAX = 128, TN__KEY_MAX = 2 * TN__NAME_MAX + 2 };

struct tn__kernel_row {
    const struct tn_kernel_def *def;
    const struct tn__plugin *plugin;
    struct tn__kernel_row *older; /* rows registered before */
    bool checked; /* its type constraints were held against the schema … */
    bool broken;  /* … and did not fit */
};

/* Everything known of one operator. The definition may be missing while only kernels came.
 */
struct tn__op_entry {
    const char *domain, *op_type;
    const struct tn_op_def *def;
    const struct tn__plugin *def_plugin;
    const struct tn_op_def *pending; /* of the plugin being registered */
    struct tn__kernel_row *rows;     /* newest first */
};

/* The host table of one plugin, and what stands behind it. */
struct tn__host_ctx {
    struct tn_host table;
    struct tn__registry *registry;
    const char *section; /* "plugin:<id>" */
};

/* What an offer is. */
enum {
    TN__OFFER_OP = 1,
    TN__OFFER_KERNEL = 2,
    TN__OFFER_PROVIDER = 4,
    TN__OFFER_SERVICE = 8
};

/* What a manifest lists, or a library has. */
struct tn__offers {
    struct tn_str_map index; /* keys of the functions below → TN__OFFER_* */
    const char **keys;       /* the same in order */
    uint32_t n, cap;
};

enum {
    TN__FOUND = 0, /* by its manifest; not opened yet */
    TN__LOADED = 1,
    TN__REFUSED = 2,
    TN__DISABLED = 3
};

/* A plugin that was seen, and what became of it. */
struct tn__candidate {
    const char *path;     /* of the library; "(built in)" for static ones */
    const char *manifest; /* NULL without one */
    const char *id, *version;
    const char
        *missing; /* what the build lacked to make the library; NULL: it is there */
    uint32_t state;
    tn_status code;     /* of the refusal */
    const char *reason; /* why refused or disabled, "" otherwise */
    const struct tn__plugin *plugin;
    struct tn__offers offers;
    struct tn__domain_offer *domains;
    uint32_t n_domains, cap_domains;
    bool has_passes;
    bool opening; /* its init runs now: it may ask for services, but not for itself */
};

/* There was no memory when it was opened; it may be opened again. */
static inline bool tn__candidate_starved(const struct tn__candidate *candidate) {
    return candidate->state == TN__FOUND && candidate->code == TN_OUT_OF_MEMORY;
}

struct tn__domain_offer {
    const char *domain;
    int32_t newest;
};

struct tn__registry {
    pthread_mutex_t lock; /* recursive: a plugin's init may ask for services */
    struct tn_arena *arena;
    const struct tn__conf *conf; /* may be NULL */
    struct tn__host_services services;
    bool debug;        /* TENON_DEBUG=loader */
    bool watch_bodies; /* TENON_DEBUG=threads: loops that call the host are found */
    struct tn_host_info host_info;
    struct tn__op_entry **entries;
    uint32_t n_entries, cap_entries;
    struct tn_str_map entry_index;
    struct tn__plugin **plugins; /* in the order of loading */
    uint32_t n_plugins, cap_plugins;
    struct tn__candidate **candidates;
    uint32_t n_candidates, cap_candidates;
    struct tn__registered_provider **providers;
    uint32_t n_providers, cap_providers;
    struct tn__registered_pass **passes;
    uint32_t n_passes, cap_passes;
    const char **folders; /* that were searched */
    uint32_t n_folders, cap_folders;
};

/* ---- registry.c ---- */

/* "ai.onnx" and NULL are "". */
const char *tn__domain_name(const char *domain);
/* "ai.onnx" for "". */
const char *tn__domain_label(const char *domain);
/* Key of an operator in maps; false when the names are longer than any in a table. */
bool tn__op_key(char *buf, const char *domain, const char *op_type);
bool tn__provider_key(char *buf, const char *id);
bool tn__service_key(char *buf, const char *id);
struct tn__op_entry *tn__entry_find(
    const struct tn__registry *registry, const char *domain, const char *op_type);
/* The entry, made when it is new; NULL when there is no memory. */
struct tn__op_entry *tn__entry_get(
    struct tn__registry *registry, const char *domain, const char *op_type);
/* The entry after every plugin that offers the operator was opened; NULL when unknown. */
struct tn__op_entry *tn__entry_lookup(
    struct tn__registry *registry, const char *domain, const char *op_type);

/* ---- host.c ---- */

/* Replaces what the services leave out; independent of any lock. */
void tn__host_services_complete(struct tn__host_services *services);
struct tn_host_info tn__host_info_make(uint64_t cpu_features);
/* Host table for a plugin of this id, in the registry's arena. */
const struct tn_host *tn__host_create(
    struct tn__registry *registry, const char *id, struct tn_diag *diag);
void tn__registry_log(const struct tn__registry *registry, uint32_t level,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- publish.c ---- */

/* The service of this id, from the plugins that publish it; NULL when none does. Takes the
 * lock, which the init of a plugin already holds. */
const void *tn__registry_service(struct tn__registry *registry, const char *id);

/* ---- plugin_check.c: `who` is the path or id that messages name ---- */

/* Checks a descriptor and copies what its builder knew into *out, the rest zero. */
tn_status tn__descriptor_check(const struct tn_plugin *desc, const char *who,
    struct tn_plugin *out, struct tn_diag *diag);
/* Whether ABI numbers fit this host; the note's or the descriptor's. */
tn_status tn__abi_check(const char *who, uint32_t major, uint32_t minor,
    uint32_t host_minor_min, uint32_t sanitizer, struct tn_diag *diag);

/* ---- table_check.c: each replaces *def by a copy in the arena when its builder knew
 * fewer fields than we do ---- */

tn_status tn__op_def_check(struct tn_arena *arena, const struct tn_op_def **def,
    const char *who, struct tn_diag *diag);
tn_status tn__kernel_def_check(struct tn_arena *arena, const struct tn_kernel_def **def,
    const char *who, struct tn_diag *diag);
tn_status tn__provider_def_check(struct tn_arena *arena,
    const struct tn_provider_def **def, const char *who, struct tn_diag *diag);
/* Names of type constraints must be the schema's, in-place pairs must be in range. */
tn_status tn__kernel_fits_schema(const struct tn_kernel_def *kernel,
    const struct tn_op_def *op, const char *who, struct tn_diag *diag);
bool tn__op_def_same(const struct tn_op_def *a, const struct tn_op_def *b);

/* ---- register.c ---- */

/* Inits the plugin, holds its tables against the candidate's manifest (NULL: none) and
 * takes them over; nothing is kept when it fails. */
tn_status tn__plugin_register(struct tn__registry *registry, const struct tn_plugin *desc,
    const char *path, const struct tn__candidate *candidate, struct tn__plugin **out,
    struct tn_diag *diag);

/* ---- loader.c ---- */

/* Opens a candidate that was found by its manifest; its state says how it went. */
void tn__candidate_open(struct tn__registry *registry, struct tn__candidate *candidate);
/* Opens all that are still unopened. */
void tn__candidates_open_all(struct tn__registry *registry);
struct tn__candidate *tn__candidate_add(
    struct tn__registry *registry, const char *path, struct tn_diag *diag);

/* ---- static_plugins.c ---- */

/* Entries of the plugins that are linked in, NULL at the end. */
extern const tn_plugin_query_fn tn__static_plugins[];

/* ---- search.c ---- */

/* Reads the manifests of the configured folders. */
tn_status tn__registry_search(struct tn__registry *registry, struct tn_diag *diag);
/* Whether configuration lets a plugin of this id in; else why not. */
bool tn__plugin_enabled(
    const struct tn__registry *registry, const char *id, char *why, size_t why_size);

/* ---- manifest.c ---- */

/* Fills a candidate from a manifest. */
tn_status tn__manifest_read(struct tn__registry *registry, const char *path,
    struct tn__candidate *out, struct tn_diag *diag);
/* Adds a kind of offer under a key (copied). */
tn_status tn__offers_add(struct tn_arena *arena, struct tn__offers *offers,
    const char *key, uint32_t kind, struct tn_diag *diag);
/* Holds what a library has against its manifest: anything that one has and the other
 * lacks is an error. */
tn_status tn__manifest_compare(const struct tn__candidate *candidate,
    const struct tn__offers *have, struct tn_diag *diag);

/* ---- kernel_match.c ---- */

/* "float, float16" of a mask, into buf. */
const char *tn__types_text(uint64_t types, char *buf, size_t size);

/* ---- registry_report.c, doctor.c ---- */

const char *tn__candidate_state(const struct tn__candidate *candidate);
void tn__doctor_text(const struct tn__registry *registry, struct tn_text *out);
void tn__doctor_json(const struct tn__registry *registry, struct tn_text *out);

#endif
