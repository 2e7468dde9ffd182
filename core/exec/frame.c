/* Frames: creation, and the shape sets they keep. */
#include "core/exec/exec.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/infer/infer.h"

#include <string.h>

enum { MISSES_OF_SUBGRAPH = 16 };

static bool sharing = true;

void tn__exec_set_sharing(bool share) {
    sharing = share;
}

/* ---- sets ----------------------------------------------------------------------------- */

static void destroy_set(struct tn__frame *frame, struct tn__set *set) {
    if (!set) return;
    for (uint32_t i = 0; i < set->n_dynamic; i++)
        tn__block_put(&frame->exec->recycler, set->blocks[set->dynamic[i]]);
    for (uint32_t v = 0; set->devices && v < frame->program->n_values; v++) {
        if (set->devices[v].data)
            tn__region_free(
                frame->program->plan, tn__region_of(frame->program, v), &set->devices[v]);
    }
    tn__free(set->state);
    tn__arena_destroy(set->memory);
}

static tn_status alloc_set(
    struct tn__frame *frame, struct tn__set **out, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    struct tn_arena *memory = tn__arena_create();
    struct tn__set *set = memory ? tn__arena_alloc(memory, sizeof *set) : NULL;
    if (!set) {
        tn__arena_destroy(memory);
        return tn__fail_memory(diag, "a shape set", sizeof *set);
    }
    *out = set;
    uint64_t n = program->n_values;
    set->memory = memory;
    set->region_bytes =
        tn__arena_array(memory, program->plan->n_regions, sizeof *set->region_bytes);
    if (program->n_shadows) {
        set->devices = tn__arena_array(memory, n, sizeof *set->devices);
        if (!set->devices) return tn__fail_memory(diag, "a shape set", n * 16);
    }
    set->types = tn__arena_array(memory, n, sizeof *set->types);
    set->tensors = tn__arena_array(memory, n, sizeof *set->tensors);
    set->refs = tn__arena_array(memory, n, sizeof *set->refs);
    set->places = tn__arena_array(memory, n, sizeof *set->places);
    set->blocks = tn__arena_array(memory, n, sizeof *set->blocks);
    set->dims_values = tn__arena_array(memory, n, sizeof *set->dims_values);
    set->n_dims_values = tn__arena_array(memory, n, sizeof *set->n_dims_values);
    set->dynamic_units = tn__arena_alloc(memory, program->n_units);
    set->infer_scratch_size = tn__infer_scratch_size(program->graph);
    set->infer_scratch = tn__arena_alloc(memory, set->infer_scratch_size);
    set->key = tn__arena_copy(memory, frame->key, frame->key_words * sizeof *set->key);
    set->key_words = frame->key_words;
    if (!set->types || !set->tensors || !set->refs || !set->places || !set->blocks ||
        !set->dims_values || !set->n_dims_values || !set->dynamic_units || !set->key ||
        !set->infer_scratch || !set->region_bytes)
        return tn__fail_memory(diag, "a shape set", n * 256);
    return TN_OK;
}

static tn_status resolve_set(
    struct tn__frame *frame, struct tn__set **out, struct tn_diag *diag) {
    struct tn__set *set = NULL;
    tn_status status = alloc_set(frame, &set, diag);
    if (status == TN_OK) status = tn__set_infer(frame, set, diag);
    if (status == TN_OK) status = tn__set_layout(frame, set, sharing, diag);
    if (status == TN_OK) status = tn__set_steps(frame, set, diag);
    if (status != TN_OK) {
        destroy_set(frame, set);
        return status;
    }
    *out = set;
    return TN_OK;
}

/* ---- keys ----------------------------------------------------------------------------- */

static tn_status build_key(struct tn__frame *frame, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    uint64_t words = 1;
    for (uint32_t i = 0; i < program->n_externals; i++) {
        const struct tn_value_ref *ref = &frame->externals[i];
        words += ref->kind == TN_KIND_TENSOR ? 1 + (uint64_t)ref->as.tensor->rank : 1;
    }
    if (words > frame->cap_key) {
        if (words > UINT32_MAX / 2)
            return tn__fail_memory(diag, "a shape set", words * 8);
        int64_t *key = tn__alloc(2 * words * sizeof *key, 0);
        if (!key) return tn__fail_memory(diag, "a shape set", 2 * words * sizeof *key);
        tn__free(frame->key);
        frame->key = key;
        frame->cap_key = (uint32_t)(2 * words);
    }
    uint32_t n = 0;
    frame->key[n++] = frame->generic;
    for (uint32_t i = 0; i < program->n_externals; i++) {
        const struct tn_value_ref *ref = &frame->externals[i];
        if (ref->kind != TN_KIND_TENSOR) {
            frame->key[n++] = -(int64_t)ref->kind - 1;
            continue;
        }
        const struct tn_tensor *t = ref->as.tensor;
        frame->key[n++] =
            frame->generic ? (int64_t)t->dtype : ((int64_t)t->rank << 8 | t->dtype);
        for (uint32_t d = 0; d < t->rank && !frame->generic; d++)
            frame->key[n++] = t->dims[d];
    }
    frame->key_words = n;
    return TN_OK;
}

static bool has_key(const struct tn__set *set, const struct tn__frame *frame) {
    return set->key_words == frame->key_words &&
           memcmp(set->key, frame->key, set->key_words * sizeof *set->key) == 0;
}

/* Room for one more set: the least recently used one goes when the cache is full. */
static tn_status make_room(struct tn__frame *frame, struct tn_diag *diag) {
    uint32_t most = frame->exec->limits.shape_sets ? frame->exec->limits.shape_sets : 1;
    if (!frame->sets) {
        frame->sets = tn__alloc_zero(most * sizeof *frame->sets, 0);
        if (!frame->sets) return tn__fail_memory(diag, "shape sets", most * 8);
        frame->cap_sets = most;
    }
    if (frame->n_sets < frame->cap_sets) return TN_OK;
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < frame->n_sets; i++) {
        if (frame->sets[i]->stamp < frame->sets[oldest]->stamp) oldest = i;
    }
    if (frame->set == frame->sets[oldest]) frame->set = NULL;
    destroy_set(frame, frame->sets[oldest]);
    frame->sets[oldest] = frame->sets[--frame->n_sets];
    return TN_OK;
}

static tn_status find_set(struct tn__frame *frame, struct tn_diag *diag) {
    TN_TRY(build_key(frame, diag));
    if (frame->set && has_key(frame->set, frame)) return TN_OK;
    tn__frame_release(frame);
    for (uint32_t i = 0; i < frame->n_sets; i++) {
        if (!has_key(frame->sets[i], frame)) continue;
        frame->set = frame->sets[i];
        return TN_OK;
    }
    frame->set = NULL;
    /* a loop that carries ever new shapes is better served without fixed ones */
    if (frame->parent && !frame->generic && ++frame->n_misses > MISSES_OF_SUBGRAPH) {
        frame->generic = true;
        return find_set(frame, diag);
    }
    TN_TRY(make_room(frame, diag));
    struct tn__set *set;
    TN_TRY(resolve_set(frame, &set, diag));
    frame->sets[frame->n_sets++] = set;
    frame->set = set;
    return TN_OK;
}

tn_status tn__frame_select(struct tn__frame *frame, struct tn_diag *diag) {
    TN_TRY(find_set(frame, diag));
    frame->set->stamp = ++frame->clock;
    tn_status status = tn__frame_bind(frame, diag);
    if (status != TN_OK) frame->set->bound = 0;
    return status;
}

void tn__frame_release(struct tn__frame *frame) {
    struct tn__set *set = frame->set;
    for (uint32_t i = 0; set && i < set->n_dynamic; i++) {
        tn__block_put(&frame->exec->recycler, set->blocks[set->dynamic[i]]);
        set->blocks[set->dynamic[i]] = NULL;
    }
}

/* ---- life ----------------------------------------------------------------------------- */

static uint32_t count_outs(const struct tn__frame *frame) {
    return frame->program->graph->n_outputs * (frame->parent ? 2 : 1);
}

static tn_status fill_frame(struct tn__frame *frame, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    const struct tn__plan *plan = program->plan;
    uint64_t n_subs = 0;
    for (uint32_t u = 0; u < program->n_units; u++)
        n_subs += program->units[u].n_subs;
    frame->first_sub = tn__alloc_zero(program->n_units * sizeof *frame->first_sub, 0);
    frame->subs = tn__alloc_zero(n_subs * sizeof *frame->subs, 0);
    frame->externals = tn__alloc_zero(program->n_externals * sizeof *frame->externals, 0);
    frame->runs = tn__alloc_zero(plan->n_plugins * sizeof *frame->runs, 0);
    frame->outs = tn__alloc_zero(count_outs(frame) * sizeof *frame->outs, 0);
    frame->arenas = tn__alloc_zero(plan->n_regions * sizeof *frame->arenas, 0);
    frame->epoch = 1;
    if (!frame->first_sub || !frame->subs || !frame->externals || !frame->runs ||
        !frame->outs || !frame->arenas)
        return tn__fail_memory(diag, "a context", n_subs * 8);
    uint32_t at = 0;
    for (uint32_t u = 0; u < program->n_units; u++) {
        frame->first_sub[u] = at;
        at += program->units[u].n_subs;
    }
    for (uint32_t p = 0; p < plan->n_plugins; p++)
        tn__run_fill(frame, &frame->runs[p], plan->plugins[p]->host);
    return TN_OK;
}

tn_status tn__frame_create(struct tn__exec *exec, const struct tn__program *program,
    struct tn__frame *parent, struct tn__frame **out, struct tn_diag *diag) {
    struct tn__frame *frame = tn__alloc_zero(sizeof *frame, 0);
    if (!frame) return tn__fail_memory(diag, "a context", sizeof *frame);
    frame->exec = exec;
    frame->program = program;
    frame->parent = parent;
    tn_status status = fill_frame(frame, diag);
    if (status != TN_OK) {
        tn__frame_destroy(frame);
        return status;
    }
    *out = frame;
    return TN_OK;
}

void tn__frame_shrink(struct tn__frame *frame) {
    uint64_t n_subs = 0;
    for (uint32_t u = 0; u < frame->program->n_units; u++)
        n_subs += frame->program->units[u].n_subs;
    for (uint64_t i = 0; frame->subs && i < n_subs; i++) {
        tn__frame_destroy(frame->subs[i]);
        frame->subs[i] = NULL;
    }
    for (uint32_t i = 0; i < frame->n_sets; i++)
        destroy_set(frame, frame->sets[i]);
    frame->n_sets = 0;
    frame->set = NULL;
    for (uint32_t k = 0; frame->outs && k < count_outs(frame); k++) {
        tn__block_put(&frame->exec->recycler, frame->outs[k].block);
        frame->outs[k].block = NULL;
        frame->outs[k].ref = (struct tn_value_ref){0};
    }
    if (frame->arenas) frame->exec->arena_bytes -= frame->arenas[0].size;
    for (uint32_t r = 0; frame->arenas && r < frame->program->plan->n_regions; r++)
        tn__region_free(frame->program->plan, r, &frame->arenas[r]);
    frame->epoch++;
}

void tn__frame_destroy(struct tn__frame *frame) {
    if (!frame) return;
    tn__frame_shrink(frame);
    for (uint32_t k = 0; frame->outs && k < count_outs(frame); k++)
        tn__free(frame->outs[k].dims);
    tn__free(frame->sets);
    tn__free(frame->first_sub);
    tn__free(frame->subs);
    tn__free(frame->externals);
    tn__free(frame->runs);
    tn__free(frame->outs);
    tn__free(frame->arenas);
    tn__free(frame->key);
    tn__free(frame);
}
