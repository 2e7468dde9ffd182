/* Einsum: sums of products over labelled axes.
 *
 * An equation becomes a list of labels and, for each operand, a step along each label.
 * Operands are joined from the left: labels that no later operand and not the output need
 * are summed as soon as they can be. */
#include "ops/ops.h"

#include <stdbool.h>

#define EINSUM_ATTRS(X, S) X(S, STRING_REQUIRED, equation, )
TN_ATTR_TABLE(einsum, EINSUM_ATTRS)

enum { MOST_LABELS = 52 + TN_RANK_MAX, MOST_OPERANDS = 32, ELLIPSIS = 52 };

/* Labels 0..51 are letters, from 52 on the axes that '...' stands for, counted from the
 * right. A term lists the labels of an operand's axes in order. */
struct term {
    uint8_t labels[MOST_LABELS];
    uint32_t n;
    bool dots;
    uint32_t dots_at;
};

struct equation {
    struct term terms[MOST_OPERANDS], out;
    uint32_t n_terms;
    uint32_t n_dots; /* axes that '...' stands for */
    bool explicit_out;
};

static int letter(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    return -1;
}

static tn_status bad(struct tn_string text, struct tn_diag *diag) {
    return tn_fail(diag, TN_INVALID_MODEL, "equation '%.*s' cannot be read",
        (int)(text.size < 80 ? text.size : 80), text.data);
}

/* Letters and at most one '...', up to a comma, an arrow or the end. */
static tn_status parse_term(
    struct tn_string text, size_t *at, struct term *term, struct tn_diag *diag) {
    memset(term, 0, sizeof *term);
    for (; *at < text.size; ++*at) {
        char c = text.data[*at];
        if (c == ' ') continue;
        if (c == ',' || c == '-') break;
        if (c == '.') {
            if (term->dots || *at + 2 >= text.size || text.data[*at + 1] != '.' ||
                text.data[*at + 2] != '.')
                return bad(text, diag);
            term->dots = true;
            term->dots_at = term->n;
            *at += 2;
            continue;
        }
        int label = letter(c);
        if (label < 0 || term->n >= 52) return bad(text, diag);
        term->labels[term->n++] = (uint8_t)label;
    }
    return TN_OK;
}

static tn_status parse(struct equation *e, struct tn_string text, struct tn_diag *diag) {
    size_t at = 0;
    memset(e, 0, sizeof *e);
    for (;;) {
        if (e->n_terms == MOST_OPERANDS) return bad(text, diag);
        TN_TRY(parse_term(text, &at, &e->terms[e->n_terms++], diag));
        if (at < text.size && text.data[at] == ',') {
            at++;
            continue;
        }
        break;
    }
    if (at >= text.size) return TN_OK;
    if (at + 1 >= text.size || text.data[at + 1] != '>') return bad(text, diag);
    at += 2;
    e->explicit_out = true;
    TN_TRY(parse_term(text, &at, &e->out, diag));
    return at == text.size ? TN_OK : bad(text, diag);
}

/* Puts the labels of '...' in place for an operand of this rank. */
static tn_status spread_dots(struct term *term, uint32_t n_dots, struct tn_diag *diag) {
    if (!term->dots) return TN_OK;
    if (term->n + n_dots > MOST_LABELS || n_dots > TN_RANK_MAX)
        return tn_fail(diag, TN_LIMIT_EXCEEDED, "too many axes");
    memmove(term->labels + term->dots_at + n_dots, term->labels + term->dots_at,
        term->n - term->dots_at);
    for (uint32_t i = 0; i < n_dots; i++)
        term->labels[term->dots_at + i] = (uint8_t)(ELLIPSIS + n_dots - 1 - i);
    term->n += n_dots;
    return TN_OK;
}

/* Without an arrow: '...' first, then the letters that occur once, in order. */
static void implicit_out(struct equation *e) {
    uint32_t count[MOST_LABELS] = {0};
    for (uint32_t t = 0; t < e->n_terms; t++)
        for (uint32_t i = 0; i < e->terms[t].n; i++)
            count[e->terms[t].labels[i]]++;
    for (uint32_t i = e->n_dots; i-- > 0;)
        e->out.labels[e->out.n++] = (uint8_t)(ELLIPSIS + i);
    for (int label = 0; label < 52; label++)
        if (count[label] == 1) e->out.labels[e->out.n++] = (uint8_t)label;
}

/* Completes the equation for operands of these ranks. */
static tn_status fit(
    struct equation *e, const int32_t *ranks, uint32_t n, struct tn_diag *diag) {
    if (n != e->n_terms)
        return tn_fail(diag, TN_INVALID_MODEL,
            "the equation has %u terms for %u operands", e->n_terms, n);
    for (uint32_t t = 0; t < n; t++) {
        struct term *term = &e->terms[t];
        int64_t dots = (int64_t)ranks[t] - term->n;
        if (dots < 0 || (dots > 0 && !term->dots) || dots > TN_RANK_MAX)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "operand %u has rank %d, its term has %u labels", t, ranks[t], term->n);
        TN_TRY(spread_dots(term, (uint32_t)dots, diag));
        if ((uint32_t)dots > e->n_dots) e->n_dots = (uint32_t)dots;
    }
    if (!e->explicit_out) {
        implicit_out(e);
        return TN_OK;
    }
    return spread_dots(&e->out, e->n_dots, diag);
}

static tn_status infer_einsum(const struct tn_infer *infer) {
    struct einsum_attrs attrs;
    struct equation e;
    int32_t ranks[MOST_OPERANDS];
    int64_t sizes[MOST_LABELS], dims[TN_RANK_MAX];
    TN_TRY(TN_ATTRS_READ(einsum, infer->node, &attrs, infer->diag));
    TN_TRY(parse(&e, attrs.equation, infer->diag));
    const struct tn_type *first = tn_infer_input(infer, 0);
    if (!first || infer->node->n_inputs > MOST_OPERANDS) return TN_OK;
    for (uint32_t t = 0; t < infer->node->n_inputs; t++) {
        const struct tn_type *x = tn_infer_input(infer, t);
        if (!x || x->rank < 0) return tn_infer_set(infer, 0, first->dtype, -1, NULL);
        ranks[t] = x->rank;
    }
    TN_TRY(fit(&e, ranks, infer->node->n_inputs, infer->diag));
    for (int i = 0; i < MOST_LABELS; i++)
        sizes[i] = 1;
    for (uint32_t t = 0; t < e.n_terms; t++)
        for (uint32_t i = 0; i < e.terms[t].n; i++) {
            int64_t *size = &sizes[e.terms[t].labels[i]];
            TN_TRY(tn_broadcast_dim(*size, infer->inputs[t].dims[i], size, infer->diag));
        }
    if (e.out.n > TN_RANK_MAX)
        return tn_fail(infer->diag, TN_LIMIT_EXCEEDED, "the output has %u axes", e.out.n);
    for (uint32_t i = 0; i < e.out.n; i++)
        dims[i] = sizes[e.out.labels[i]];
    return tn_infer_set(infer, 0, first->dtype, (int32_t)e.out.n, dims);
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct einsum {
    struct tn__kernel base;
    struct equation equation;
};

static tn_status create_einsum(const struct tn_kernel_ctx *ctx, void **out) {
    struct einsum_attrs attrs;
    TN_TRY(TN_ATTRS_READ(einsum, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct einsum), out));
    return tn_kernel_ready(
        parse(&((struct einsum *)*out)->equation, attrs.equation, ctx->diag), out);
}

/* Steps of an operand along the labels, in elements; 0 where it does not move. */
struct operand {
    const double *data;
    int64_t step[MOST_LABELS];
    bool has[MOST_LABELS];
};

static tn_status load_operand(struct operand *o, const struct term *term,
    const struct tn_tensor *t, int64_t *sizes, const struct tn_run_args *args,
    const struct tn__cpu *cpu) {
    size_t n = (size_t)tn_tensor_count(t);
    double *data = args->run->alloc(args->run, (n + 1) * sizeof(double), 64);
    int64_t step = 1;
    if (!data)
        return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory for an operand");
    tn_convert_run(&cpu->convert, TN_DOUBLE, data, t->dtype, t->data, n, NULL);
    memset(o, 0, sizeof *o);
    o->data = data;
    for (uint32_t i = term->n; i-- > 0;) {
        uint8_t label = term->labels[i];
        int64_t *size = &sizes[label], dim = t->dims[i];
        if (*size == 1 && dim != 1) *size = dim;
        if (dim != 1 && dim != *size)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "a label has sizes %lld and %lld", (long long)*size, (long long)dim);
        if (dim != 1) o->step[label] += step; /* a label twice: the diagonal */
        o->has[label] = true;
        step *= dim;
    }
    return TN_OK;
}

/* y over labels `kept` = Σ over labels `summed` of a · b (b may be NULL). */
static tn_status contract(double *y, const struct operand *a, const struct operand *b,
    const uint8_t *kept, uint32_t n_kept, const uint8_t *summed, uint32_t n_summed,
    const int64_t *sizes, const struct tn_run *run) {
    uint8_t order[2 * MOST_LABELS];
    int64_t at[2 * MOST_LABELS] = {0}, off_a = 0, off_b = 0;
    uint32_t n = n_kept + n_summed;
    size_t out = 0, steps = 0;
    memcpy(order, kept, n_kept);
    memcpy(order + n_kept, summed, n_summed);
    for (uint32_t i = 0; i < n; i++)
        if (sizes[order[i]] == 0) { /* sums over nothing are 0 */
            size_t count = 1;
            for (uint32_t j = 0; j < n_kept; j++)
                count *= (size_t)sizes[kept[j]];
            memset(y, 0, count * sizeof *y);
            return TN_OK;
        }
    double sum = 0;
    for (;;) {
        sum += a->data[off_a] * (b ? b->data[off_b] : 1);
        if ((++steps & 0xfffff) == 0) TN_TRY(run->interrupted(run));
        uint32_t i = n;
        while (i > 0) {
            uint8_t label = order[i - 1];
            off_a += a->step[label];
            off_b += b ? b->step[label] : 0;
            if (++at[i - 1] < sizes[label]) break;
            off_a -= sizes[label] * a->step[label];
            off_b -= b ? sizes[label] * b->step[label] : 0;
            at[--i] = 0;
        }
        if (i > n_kept) continue; /* still inside the sum */
        y[out++] = sum;
        sum = 0;
        if (i == 0) return TN_OK;
    }
}

static bool needed_later(const struct equation *e, uint32_t after, uint8_t label) {
    for (uint32_t t = after; t < e->n_terms; t++)
        for (uint32_t i = 0; i < e->terms[t].n; i++)
            if (e->terms[t].labels[i] == label) return true;
    for (uint32_t i = 0; i < e->out.n; i++)
        if (e->out.labels[i] == label) return true;
    return false;
}

/* Joins operand `t` to what there is; the last step has the output's order of axes. */
static tn_status join(struct operand *acc, const struct operand *next,
    const struct equation *e, uint32_t t, const int64_t *sizes,
    const struct tn_run *run) {
    uint8_t kept[MOST_LABELS], summed[MOST_LABELS];
    uint32_t n_kept = 0, n_summed = 0;
    bool last = t + 1 == e->n_terms;
    for (uint32_t i = 0; last && i < e->out.n; i++)
        kept[n_kept++] = e->out.labels[i];
    for (int label = 0; label < MOST_LABELS; label++) {
        if (!acc->has[label] && !(next && next->has[label])) continue;
        if (!needed_later(e, t + 1, (uint8_t)label))
            summed[n_summed++] = (uint8_t)label;
        else if (!last)
            kept[n_kept++] = (uint8_t)label;
    }
    int64_t count = 1;
    for (uint32_t i = 0; i < n_kept; i++) {
        int64_t size = sizes[kept[i]];
        if (size > 0 && count > (INT64_C(1) << 40) / size)
            return tn_fail(
                run->diag, TN_OUT_OF_MEMORY, "an intermediate product is too large");
        count *= size;
    }
    double *y = run->alloc(run, (uint64_t)(count + 1) * sizeof(double), 64);
    if (!y) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for a product");
    TN_TRY(contract(y, acc, next, kept, n_kept, summed, n_summed, sizes, run));
    memset(acc, 0, sizeof *acc);
    acc->data = y;
    int64_t step = 1;
    for (uint32_t i = n_kept; i-- > 0;) {
        acc->has[kept[i]] = true;
        acc->step[kept[i]] = sizes[kept[i]] == 1 ? 0 : step;
        step *= sizes[kept[i]];
    }
    return TN_OK;
}

static tn_status compute_einsum(void *kernel, const struct tn_run_args *args) {
    const struct einsum *k = kernel;
    const struct tn__cpu *cpu = k->base.cpu;
    struct equation e = k->equation;
    struct operand acc, next;
    int64_t sizes[MOST_LABELS], dims[TN_RANK_MAX];
    int32_t ranks[MOST_OPERANDS];
    if (args->n_inputs > MOST_OPERANDS || args->n_inputs < 1)
        return tn_fail(args->run->diag, TN_UNSUPPORTED, "%u operands", args->n_inputs);
    for (uint32_t t = 0; t < args->n_inputs; t++)
        ranks[t] = (int32_t)args->inputs[t].as.tensor->rank;
    TN_TRY(fit(&e, ranks, args->n_inputs, args->run->diag));
    for (int i = 0; i < MOST_LABELS; i++)
        sizes[i] = 1;
    /* sizes of all labels first: a 1 may grow with a later operand */
    for (uint32_t t = 0; t < e.n_terms; t++)
        for (uint32_t i = 0; i < e.terms[t].n; i++) {
            int64_t dim = args->inputs[t].as.tensor->dims[i];
            if (dim != 1) sizes[e.terms[t].labels[i]] = dim;
        }
    TN_TRY(load_operand(&acc, &e.terms[0], args->inputs[0].as.tensor, sizes, args, cpu));
    if (e.n_terms == 1) TN_TRY(join(&acc, NULL, &e, 0, sizes, args->run));
    for (uint32_t t = 1; t < e.n_terms; t++) {
        TN_TRY(load_operand(
            &next, &e.terms[t], args->inputs[t].as.tensor, sizes, args, cpu));
        TN_TRY(join(&acc, &next, &e, t, sizes, args->run));
    }
    struct tn_tensor *y = NULL;
    if (e.out.n > TN_RANK_MAX)
        return tn_fail(
            args->run->diag, TN_LIMIT_EXCEEDED, "the output has %u axes", e.out.n);
    for (uint32_t i = 0; i < e.out.n; i++)
        dims[i] = sizes[e.out.labels[i]];
    TN_TRY(tn_out_shaped(args, 0, args->inputs[0].as.tensor->dtype, dims, e.out.n, &y));
    tn_convert_run(&cpu->convert, y->dtype, y->data, TN_DOUBLE, acc.data,
        (size_t)tn_tensor_count(y), NULL);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Einsum"), TN_VERSIONS({12}, {28}),
        TN_INPUTS({"Inputs", "T", 0, TN_FORMAL_VARIADIC, 1}), TN_OUTPUTS({"Output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}), TN_ATTRS(einsum),
        .infer = infer_einsum},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Einsum", 12), .create = create_einsum, .compute = compute_einsum},
};
/* clang-format on */

TN_FAMILY(einsum);
