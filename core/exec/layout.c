/* Where each value of a shape set lies: views of other values, outputs that overwrite a
 * dying input, and offsets in the arena for the rest.
 *
 * Values that share memory form a group, led by the value that was first. A group lives
 * from its first definition to the last use of any member. Inputs of a run and constants
 * are never written; memory of a graph output is the output's own. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/exec/exec.h"

#include <string.h>

/* A group, at the index of its leader. */
struct group {
    uint32_t kind;   /* TN_PLACE_* */
    uint32_t output; /* OUTPUT, EXTERNAL: index; ARENA: region */
    uint32_t first, last;
    uint64_t size, offset;
    uint32_t extent; /* index while placed */
};

struct layout {
    const struct tn__program *program;
    struct tn__set *set;
    struct tn_diag *diag;
    bool share;
    struct group *groups;   /* by value */
    tn_value_id *leaders;   /* by value */
    uint32_t *output_index; /* by value: first graph output, UINT32_MAX none */
    struct tn__extent *extents;
    uint32_t n_extents;
};

static uint64_t bytes_of(const struct layout *l, tn_value_id v) {
    const struct tn_type *type = &l->set->types[v];
    uint64_t bytes = 0;
    (void)tn_tensor_bytes(type->dtype, type->dims, (uint32_t)type->rank, &bytes);
    return bytes;
}

static uint32_t last_use_of(const struct layout *l, tn_value_id v, uint32_t unit) {
    uint32_t last = l->program->last_use[v];
    return last == UINT32_MAX ? unit : last;
}

static void join(struct layout *l, tn_value_id v, tn_value_id leader, uint32_t unit) {
    l->leaders[v] = leader;
    struct group *group = &l->groups[leader];
    uint32_t last = last_use_of(l, v, unit);
    if (last > group->last) group->last = last;
    if (l->output_index[v] != UINT32_MAX) {
        group->kind = TN_PLACE_OUTPUT;
        group->output = l->output_index[v];
    }
}

static void lead(struct layout *l, tn_value_id v, uint32_t unit) {
    struct group *group = &l->groups[v];
    l->leaders[v] = v;
    *group = (struct group){.kind = TN_PLACE_ARENA,
        .output = tn__region_of(l->program, v),
        .first = unit,
        .last = last_use_of(l, v, unit),
        .size = bytes_of(l, v)};
    if (l->output_index[v] == UINT32_MAX) return;
    group->kind = TN_PLACE_OUTPUT;
    group->output = l->output_index[v];
}

/* Whether output v may be the memory of input `from` seen with another shape. */
static bool can_view(const struct layout *l, const struct tn__unit *unit, tn_value_id v,
    tn_value_id from) {
    if (unit->n_outputs != 1 || bytes_of(l, v) != bytes_of(l, from)) return false;
    const struct group *group = &l->groups[l->leaders[from]];
    if (l->output_index[v] != UINT32_MAX) return group->kind == TN_PLACE_ARENA;
    return group->kind != TN_PLACE_DYNAMIC && group->kind != TN_PLACE_NONE;
}

/* Whether output v of unit u may be written over input `input`: nothing else reads that
 * memory from u on, nor does u itself through another input. */
static bool can_overwrite(
    const struct layout *l, uint32_t u, tn_value_id v, uint32_t input, uint32_t output) {
    const struct tn__unit *unit = &l->program->units[u];
    tn_value_id from = unit->inputs[input], leader = l->leaders[from];
    const struct group *group = &l->groups[leader];
    if (group->kind != TN_PLACE_ARENA || group->last != u) return false;
    if (bytes_of(l, v) != bytes_of(l, from) ||
        tn_dtype_bits(l->set->types[v].dtype) != tn_dtype_bits(l->set->types[from].dtype))
        return false;
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        if (i != input && unit->inputs[i] != TN_NO_ID &&
            l->leaders[unit->inputs[i]] == leader)
            return false;
    }
    for (uint32_t i = 0; i < unit->n_captures; i++) {
        if (l->leaders[unit->captures[i]] == leader) return false;
    }
    for (uint32_t o = 0; o < output; o++) {
        if (unit->outputs[o] != TN_NO_ID && l->leaders[unit->outputs[o]] == leader)
            return false;
    }
    return true;
}

/* Tries the sharings that the kernel offers for output o; sets *out_view. */
static bool share_output(struct layout *l, uint32_t u, uint32_t o, bool *out_view) {
    const struct tn__unit *unit = &l->program->units[u];
    if (!l->share || !unit->def) return false;
    for (uint32_t k = 0; k < unit->def->n_inplace; k++) {
        const struct tn_inplace *rule = &unit->def->inplace[k];
        if (rule->output != o || rule->input >= unit->n_inputs ||
            unit->inputs[rule->input] == TN_NO_ID)
            continue;
        tn_value_id v = unit->outputs[o], from = unit->inputs[rule->input];
        bool view = rule->kind == TN_INPLACE_VIEW;
        if (view ? !can_view(l, unit, v, from) : !can_overwrite(l, u, v, rule->input, o))
            continue;
        join(l, v, l->leaders[from], u);
        *out_view = view;
        return true;
    }
    return false;
}

static void lay_unit(struct layout *l, uint32_t u, uint8_t *out_skip) {
    const struct tn__unit *unit = &l->program->units[u];
    *out_skip = 0;
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        tn_value_id v = unit->outputs[o];
        if (v == TN_NO_ID) continue;
        bool view = false;
        if (l->set->dynamic_units[u])
            l->groups[v].kind = TN_PLACE_DYNAMIC;
        else if (!share_output(l, u, o, &view))
            lead(l, v, u);
        if (view) *out_skip = 1;
    }
}

static void lay_fixed(struct layout *l) {
    const struct tn_graph *g = l->program->graph;
    for (uint32_t v = 0; v < l->program->n_values; v++) {
        l->leaders[v] = v;
        l->output_index[v] = UINT32_MAX;
        if (tn__program_constant(l->program, v)) l->groups[v].kind = TN_PLACE_CONSTANT;
    }
    for (uint32_t i = 0; i < l->program->n_externals; i++) {
        struct group *group = &l->groups[l->program->externals[i]];
        group->kind = tn__type_is_concrete(&l->set->types[l->program->externals[i]])
                          ? TN_PLACE_EXTERNAL
                          : TN_PLACE_DYNAMIC;
        group->output = i;
    }
    for (uint32_t k = g->n_outputs; k-- > 0;)
        l->output_index[g->outputs[k]] = k;
}

/* Alignment of a region's tensors. */
static uint64_t align_of(const struct layout *l, uint32_t region) {
    const struct tn_space *space = l->program->plan->regions[region].space;
    return space && space->align > 64 ? space->align : 64;
}

/* Offsets of the groups in the arena of one region. */
static tn_status place_region(struct layout *l, uint32_t region) {
    uint64_t align = align_of(l, region);
    l->n_extents = 0;
    for (uint32_t v = 0; v < l->program->n_values; v++) {
        struct group *group = &l->groups[v];
        if (l->leaders[v] != v || group->kind != TN_PLACE_ARENA ||
            group->output != region)
            continue;
        uint64_t size = group->size;
        if (!tn_align_size(size, align, &size)) size = UINT64_MAX;
        group->extent = l->n_extents;
        l->extents[l->n_extents++] =
            (struct tn__extent){size, group->first, group->last, 0};
    }
    TN_TRY(tn__memory_place(
        l->extents, l->n_extents, &l->set->region_bytes[region], l->diag));
    for (uint32_t v = 0; v < l->program->n_values; v++) {
        struct group *group = &l->groups[v];
        if (l->leaders[v] == v && group->kind == TN_PLACE_ARENA &&
            group->output == region)
            group->offset = l->extents[group->extent].offset;
    }
    return TN_OK;
}

static tn_status place_groups(struct layout *l) {
    for (uint32_t region = 0; region < l->program->plan->n_regions; region++)
        TN_TRY(place_region(l, region));
    return TN_OK;
}

static tn_status list_places(struct layout *l) {
    struct tn__set *set = l->set;
    for (int pass = 0; pass < 2; pass++) {
        set->n_patches = set->n_dynamic = 0;
        for (uint32_t v = 0; v < l->program->n_values; v++) {
            const struct group *group = &l->groups[l->leaders[v]];
            struct tn__place *place = &set->places[v];
            *place = (struct tn__place){group->kind, group->output, 0};
            if (group->kind == TN_PLACE_CONSTANT) place->index = l->leaders[v];
            if (group->kind == TN_PLACE_ARENA) place->offset = group->offset;
            if (group->kind == TN_PLACE_EXTERNAL || group->kind == TN_PLACE_OUTPUT) {
                if (pass) set->patches[set->n_patches] = v;
                set->n_patches++;
            } else if (group->kind == TN_PLACE_DYNAMIC) {
                if (pass) set->dynamic[set->n_dynamic] = v;
                set->n_dynamic++;
            }
        }
        if (pass) break;
        set->patches = tn__arena_array(set->memory, set->n_patches, sizeof *set->patches);
        set->dynamic = tn__arena_array(set->memory, set->n_dynamic, sizeof *set->dynamic);
        if (!set->patches || !set->dynamic)
            return tn__fail_memory(
                l->diag, "places of a shape set", l->program->n_values);
    }
    return TN_OK;
}

/* Outputs that no unit writes in place: inputs, constants, and second names. */
static tn_status list_copies(struct layout *l) {
    const struct tn_graph *g = l->program->graph;
    struct tn__set *set = l->set;
    set->copies = tn__arena_array(set->memory, g->n_outputs, sizeof *set->copies);
    if (!set->copies) return tn__fail_memory(l->diag, "outputs", g->n_outputs);
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        tn_value_id v = g->outputs[k];
        const struct tn__place *place = &set->places[v];
        bool own = l->output_index[v] == k && l->program->def_unit[v] != UINT32_MAX &&
                   (place->kind == TN_PLACE_DYNAMIC ||
                       (place->kind == TN_PLACE_OUTPUT && place->index == k));
        if (!own) set->copies[set->n_copies++] = (struct tn__copy){k, v};
    }
    return TN_OK;
}

static tn_status run_layout(struct layout *l) {
    lay_fixed(l);
    for (uint32_t u = 0; u < l->program->n_units; u++) {
        uint8_t skip;
        lay_unit(l, u, &skip);
        if (skip) l->set->dynamic_units[u] = 2; /* a view: no step */
    }
    TN_TRY(place_groups(l));
    TN_TRY(list_places(l));
    return list_copies(l);
}

tn_status tn__set_layout(
    struct tn__frame *frame, struct tn__set *set, bool share, struct tn_diag *diag) {
    struct layout l = {
        .program = frame->program, .set = set, .diag = diag, .share = share};
    uint64_t n = frame->program->n_values;
    uint64_t item = sizeof *l.groups + sizeof *l.extents + 2 * sizeof(uint32_t);
    char *scratch = tn__alloc_zero(n * item + 64, 0);
    if (!scratch) return tn__fail_memory(diag, "planning memory", n * item);
    l.groups = (struct group *)(void *)scratch;
    l.extents = (struct tn__extent *)(void *)(l.groups + n);
    l.leaders = (tn_value_id *)(void *)(l.extents + n);
    l.output_index = l.leaders + n;
    tn_status status = run_layout(&l);
    tn__free(scratch);
    return status;
}
