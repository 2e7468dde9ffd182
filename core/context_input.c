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
            "the "
            "model with a dynamic axis there",
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
    if (value->kind != TN_KIND_TENSOR) return TN_OK;
    const struct tn_tensor *t = value->as.tensor;
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
            "one "
            "size for it",
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
