/* Whether what a caller binds fits the model, in one sentence that says what to do. */
#include "core/base/checked.h"
#include "core/objects.h"

#include <stdio.h>
#include <string.h>

/* "float[8,3,224,224]" of a tensor. */
static const char *tensor_text(const struct tn_tensor *t, char *buf, size_t size) {
    int at = snprintf(buf, size, "%s[", tn_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank && at > 0 && (size_t)at + 32 < size; i++)
        at += snprintf(
            buf + at, size - (size_t)at, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    if (at > 0 && (size_t)at + 2 < size) snprintf(buf + at, size - (size_t)at, "]");
    return buf;
}

static tn_status bad_input(const struct tn_io *io, const struct tn_tensor *got,
    const char *remedy, struct tn_diag *diag) {
    char found[128], wanted[128];
    if (diag) tn__diag_name(diag, diag->tensor, io->name);
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "input '%s' got %s, but the model wants %s: %s", io->name,
        tensor_text(got, found, sizeof found), tn__io_text(io, wanted, sizeof wanted),
        remedy);
}

static tn_status bad_memory(
    const struct tn_io *io, const char *what, struct tn_diag *diag) {
    if (diag) tn__diag_name(diag, diag->tensor, io->name);
    return tn_fail(diag, TN_INVALID_ARGUMENT, "input '%s' %s", io->name, what);
}

static tn_status check_shape(
    const struct tn_io *io, const struct tn_tensor *t, struct tn_diag *diag) {
    char remedy[160];
    if (io->type.rank < 0) return TN_OK;
    if (t->rank != (uint32_t)io->type.rank) {
        snprintf(remedy, sizeof remedy,
            "reshape it to %d dimensions (it has %u; a missing batch dimension is 1)",
            (int)io->type.rank, (unsigned)t->rank);
        return bad_input(io, t, remedy, diag);
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        if (io->type.dims[i] < 0 || io->type.dims[i] == t->dims[i]) continue;
        snprintf(remedy, sizeof remedy,
            "dimension %u is fixed at %lld in the model; pass that size, or re-export "
            "the model with a dynamic axis there",
            (unsigned)i, (long long)io->type.dims[i]);
        return bad_input(io, t, remedy, diag);
    }
    return TN_OK;
}

static tn_status check_memory(
    const struct tn_io *io, const struct tn_tensor *t, struct tn_diag *diag) {
    uint64_t bytes, item = tn_dtype_bits(t->dtype) / 8;
    if (t->strides)
        return bad_memory(io, "is strided; make a dense, row-major copy", diag);
    if (t->space != 0 || t->layout != 0)
        return bad_memory(
            io, "is not a plain tensor in host memory; copy it there", diag);
    if (!tn_tensor_bytes(t->dtype, t->dims, t->rank, &bytes))
        return bad_memory(
            io, "has a negative dimension, or an element count that overflows", diag);
    if (t->size < bytes || (bytes && !t->data)) {
        char text[128];
        snprintf(text, sizeof text, "has %llu bytes of data, but its shape needs %llu",
            (unsigned long long)(t->data ? t->size : 0), (unsigned long long)bytes);
        return bad_memory(io, text, diag);
    }
    if (item > 8) item = 8;
    if (item > 1 && (uintptr_t)t->data % item != 0)
        return bad_memory(io,
            "lies at an address that its element type cannot; copy it to aligned memory",
            diag);
    return TN_OK;
}

static tn_status bad_part(
    const struct tn_io *io, const char *what, struct tn_diag *diag) {
    char text[160], wanted[128];
    snprintf(text, sizeof text, "holds %s, but the model wants %s", what,
        tn__io_text(io, wanted, sizeof wanted));
    return bad_memory(io, text, diag);
}

/* A tensor inside another value: its type is the input's, its shape is free. */
static tn_status check_part(const struct tn_io *io, const struct tn_tensor *t,
    int32_t dtype, struct tn_diag *diag) {
    if (!t || (t->rank && !t->dims) || tn_dtype_bits(t->dtype) == 0)
        return bad_part(io, "something that is no tensor", diag);
    if (dtype != TN_UNDEFINED && t->dtype != dtype) {
        char found[128], what[160];
        snprintf(what, sizeof what, "a %s", tensor_text(t, found, sizeof found));
        return bad_part(io, what, diag);
    }
    return check_memory(io, t, diag);
}

static tn_status check_map(
    const struct tn_io *io, const struct tn_map *map, struct tn_diag *diag) {
    TN_TRY(check_part(io, &map->keys, io->type.key_dtype, diag));
    TN_TRY(check_part(io, &map->values, io->type.dtype, diag));
    if (map->keys.rank != 1 || map->values.rank < 1 ||
        map->keys.dims[0] != map->values.dims[0])
        return bad_part(io, "a map with not one value for each key", diag);
    return TN_OK;
}

static tn_status check_table(const struct tn_io *io, const struct tn_sequence *sequence,
    uint32_t elem_kind, struct tn_diag *diag) {
    const struct tn_map *table = sequence->table;
    if (elem_kind && elem_kind != TN_KIND_MAP)
        return bad_part(io, "a sequence with an element of another kind", diag);
    TN_TRY(check_part(io, &table->keys, io->type.key_dtype, diag));
    TN_TRY(check_part(io, &table->values, io->type.dtype, diag));
    if (table->keys.rank != 1 || table->values.rank < 2 ||
        (uint64_t)table->values.dims[0] != sequence->count ||
        table->values.dims[1] != table->keys.dims[0])
        return bad_part(io, "a table of maps with not one value for each key", diag);
    return TN_OK;
}

static tn_status check_sequence(const struct tn_io *io,
    const struct tn_sequence *sequence, uint32_t elem_kind, struct tn_diag *diag) {
    if (tn_sequence_table(sequence)) return check_table(io, sequence, elem_kind, diag);
    if (sequence->count && !sequence->items)
        return bad_part(io, "a sequence without its elements", diag);
    for (uint64_t i = 0; i < sequence->count; i++) {
        const struct tn_value_ref *item = &sequence->items[i];
        if ((elem_kind && item->kind != elem_kind) || !item->as.ptr)
            return bad_part(io, "a sequence with an element of another kind", diag);
        if (item->kind == TN_KIND_TENSOR)
            TN_TRY(check_part(io, item->as.tensor, io->type.dtype, diag));
        else if (item->kind == TN_KIND_MAP)
            TN_TRY(check_map(io, item->as.map, diag));
        else
            return bad_part(io, "a sequence with an element of another kind", diag);
    }
    return TN_OK;
}

static tn_status check_optional(
    const struct tn_io *io, const struct tn_optional *optional, struct tn_diag *diag) {
    const struct tn_value_ref *value = &optional->value;
    if (value->kind == TN_KIND_ABSENT) return TN_OK;
    if ((io->type.elem_kind && value->kind != io->type.elem_kind) || !value->as.ptr)
        return bad_part(io, "an optional of another kind", diag);
    if (value->kind == TN_KIND_TENSOR)
        return check_part(io, value->as.tensor, io->type.dtype, diag);
    if (value->kind == TN_KIND_SEQUENCE)
        return check_sequence(io, value->as.sequence, TN_KIND_TENSOR, diag);
    return bad_part(io, "an optional of another kind", diag);
}

static tn_status check_tensor(
    const struct tn_io *io, const struct tn_tensor *t, struct tn_diag *diag) {
    if (t->rank && !t->dims) return bad_memory(io, "has a rank but no dims", diag);
    if (tn_dtype_bits(t->dtype) == 0)
        return bad_memory(io, "has an unknown element type", diag);
    if (io->type.dtype != TN_UNDEFINED && io->type.dtype != t->dtype) {
        char remedy[80];
        snprintf(remedy, sizeof remedy, "cast it to %s before the call",
            tn_dtype_name(io->type.dtype));
        return bad_input(io, t, remedy, diag);
    }
    TN_TRY(check_shape(io, t, diag));
    return check_memory(io, t, diag);
}

tn_status tn__input_check(
    const struct tn_io *io, const struct tn_value_ref *value, struct tn_diag *diag) {
    char wanted[128];
    if (!value->as.ptr) return bad_memory(io, "got a value without content", diag);
    if (io->type.kind != TN_KIND_ABSENT && io->type.kind != value->kind) {
        if (diag) tn__diag_name(diag, diag->tensor, io->name);
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input '%s' got a value of kind %u, but the model wants %s", io->name,
            (unsigned)value->kind, tn__io_text(io, wanted, sizeof wanted));
    }
    switch (value->kind) {
    case TN_KIND_TENSOR: return check_tensor(io, value->as.tensor, diag);
    case TN_KIND_SEQUENCE:
        return check_sequence(io, value->as.sequence, io->type.elem_kind, diag);
    case TN_KIND_MAP: return check_map(io, value->as.map, diag);
    case TN_KIND_OPTIONAL: return check_optional(io, value->as.optional, diag);
    default: return bad_memory(io, "got a value of a kind that cannot be bound", diag);
    }
}

/* ---- all inputs together -------------------------------------------------------------- */

static const struct tn_io *input_io(const struct tn_context *context, uint32_t i) {
    uint32_t n = context->session->io[TN_INPUT].n;
    return i < n ? &context->session->io[TN_INPUT].items[i]
                 : &context->session->io[TN_OVERRIDABLE].items[i - n];
}

/* The first input before `i` that has the symbol, with its size. */
static const struct tn_io *first_with(
    const struct tn_context *context, uint32_t i, int64_t symbol, int64_t *out_size) {
    for (uint32_t k = 0; k < i; k++) {
        const struct tn_io *io = input_io(context, k);
        if (context->inputs[k].ref.kind != TN_KIND_TENSOR) continue;
        for (int32_t d = 0; d < io->type.rank; d++) {
            if (io->type.dims[d] != symbol) continue;
            *out_size = context->inputs[k].tensor.dims[d];
            return io;
        }
    }
    return NULL;
}

static tn_status check_symbols(
    const struct tn_context *context, uint32_t i, struct tn_diag *diag) {
    const struct tn_io *io = input_io(context, i);
    for (int32_t d = 0; d < io->type.rank; d++) {
        int64_t symbol = io->type.dims[d], size = 0,
                own = context->inputs[i].tensor.dims[d];
        if (symbol >= 0) continue;
        const struct tn_io *other = io;
        for (int32_t e = 0; e < d; e++) {
            if (io->type.dims[e] != symbol) continue;
            size = context->inputs[i].tensor.dims[e];
            if (size != own) goto differs;
        }
        other = first_with(context, i, symbol, &size);
        if (!other || size == own) continue;
    differs:
        if (diag) tn__diag_name(diag, diag->tensor, io->name);
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "dimension '%s' is %lld in input '%s' and %lld in input '%s'; one run has "
            "one size for it",
            io->dim_names[d] ? io->dim_names[d] : "?", (long long)size, other->name,
            (long long)own, io->name);
    }
    return TN_OK;
}

tn_status tn__inputs_check(const struct tn_context *context, struct tn_diag *diag) {
    char wanted[128];
    for (uint32_t i = 0; i < context->n_inputs; i++) {
        const struct tn_io *io = input_io(context, i);
        const struct tn__bound *input = &context->inputs[i];
        if (input->ref.kind == TN_KIND_ABSENT && !io->optional) {
            if (diag) tn__diag_name(diag, diag->tensor, io->name);
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "input '%s' is not set; the run needs %s", io->name,
                tn__io_text(io, wanted, sizeof wanted));
        }
        if (input->ref.kind == TN_KIND_TENSOR) TN_TRY(check_symbols(context, i, diag));
    }
    return TN_OK;
}
