/* StringNormalizer: drops stop words and changes case.
 *
 * Letters are mapped one by one as Unicode says, by the C library's UTF-8 locale that knows
 * no language: the process's locale and the attribute `locale` have no say. */
#define _POSIX_C_SOURCE 200809L
#include "ops/ops.h"
#include "ops/utf8.h"

#include <locale.h>
#include <stdlib.h>
#include <wctype.h>

/* clang-format off */
#define NORMALIZER_ATTRS(X, S)                                                           \
    X(S, STRING, case_change_action, "NONE")                                             \
    X(S, INT, is_case_sensitive, 0)                                                      \
    X(S, STRING, locale, "")                                                             \
    X(S, STRINGS, stopwords, )
/* clang-format on */
TN_ATTR_TABLE(normalizer, NORMALIZER_ATTRS)

enum change { KEEP, LOWER, UPPER };

struct normalizer {
    struct tn__kernel base;
    enum change change;
    bool folds; /* stop words are compared without case */
    locale_t letters;
    struct tn_string *stops; /* sorted, lower case when folds */
    size_t n_stops;
    char *bytes;
};

static tn_status infer_normalizer(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[2] = {1, TN_DIM_UNKNOWN};
    if (!x || x->rank < 0) return tn_infer_set(infer, 0, TN_STRING, -1, NULL);
    if (x->rank != 1 && (x->rank != 2 || (x->dims[0] >= 0 && x->dims[0] != 1)))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "X of rank %d has not the shape [C] or [1, C]", (int)x->rank);
    return tn_infer_set(infer, 0, TN_STRING, x->rank, x->rank == 1 ? dims + 1 : dims);
}

static int compare(const void *a, const void *b) {
    const struct tn_string *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->size ? memcmp(x->data, y->data, x->size) : 0;
}

/* Changes the case of a text into out, which holds twice its bytes: no letter grows more. */
static struct tn_string change_case(
    const struct normalizer *k, enum change change, struct tn_string text, char *out) {
    size_t used = 0;
    for (size_t at = 0, n; at < text.size; at += n) {
        uint32_t c = tn__utf8_decode(text.data + at, text.size - at, &n);
        if (c < 0x80) {
            bool other = change == LOWER ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
            out[used++] = (char)(other ? c ^ 0x20 : c);
            continue;
        }
        if (c != TN_UTF8_INVALID && k->letters) {
            uint32_t mapped =
                (uint32_t)(change == LOWER ? towlower_l((wint_t)c, k->letters)
                                           : towupper_l((wint_t)c, k->letters));
            char code[4];
            size_t size = tn__utf8_encode(mapped, code);
            if (size <= 2 * n) {
                memcpy(out + used, code, size);
                used += size;
                continue;
            }
        }
        memcpy(out + used, text.data + at, n);
        used += n;
    }
    return (struct tn_string){out, used};
}

static tn_status find_letters(struct normalizer *k, struct tn_diag *diag) {
    static const char *const names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
    if (k->change == KEEP && !(k->folds && k->n_stops)) return TN_OK;
    for (size_t i = 0; i < TN_COUNT(names) && !k->letters; i++)
        k->letters = newlocale(LC_CTYPE_MASK, names[i], NULL);
    if (k->letters) return TN_OK;
    return tn_fail(diag, TN_UNSUPPORTED,
        "this system has no locale C.UTF-8, which knows the case of letters: install it");
}

static tn_status setup(const struct tn_kernel_ctx *ctx, struct normalizer *k,
    const struct normalizer_attrs *attrs) {
    static const char *const names[] = {"NONE", "LOWER", "UPPER"};
    const struct tn_host *host = ctx->host;
    size_t bytes = 1, used = 0, action = 0;
    while (action < TN_COUNT(names) &&
           !tn_string_is(attrs->case_change_action, names[action]))
        action++;
    if (action == TN_COUNT(names))
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'case_change_action' is none of NONE, LOWER, UPPER");
    k->change = (enum change)action;
    k->folds = attrs->is_case_sensitive == 0;
    k->n_stops = attrs->stopwords.n;
    TN_TRY(find_letters(k, ctx->diag));
    for (size_t i = 0; i < k->n_stops; i++)
        bytes += 2 * attrs->stopwords.v[i].size;
    k->bytes = host->alloc(host->self, bytes, 0, "stop words");
    k->stops =
        host->alloc(host->self, (k->n_stops + 1) * sizeof *k->stops, 0, "stop words");
    if (!k->bytes || !k->stops)
        return tn_fail(
            ctx->diag, TN_OUT_OF_MEMORY, "no memory for %zu stop words", k->n_stops);
    for (size_t i = 0; i < k->n_stops; i++) {
        k->stops[i] = attrs->stopwords.v[i];
        if (k->folds) k->stops[i] = change_case(k, LOWER, k->stops[i], k->bytes + used);
        used += 2 * attrs->stopwords.v[i].size;
    }
    qsort(k->stops, k->n_stops, sizeof *k->stops, compare);
    return TN_OK;
}

static void destroy_normalizer(void *kernel) {
    struct normalizer *k = kernel;
    if (!k) return;
    const struct tn_host *host = k->base.host;
    if (k->letters) freelocale(k->letters);
    if (k->stops) host->free(host->self, k->stops);
    if (k->bytes) host->free(host->self, k->bytes);
    tn_kernel_destroy(k);
}

static tn_status create_normalizer(const struct tn_kernel_ctx *ctx, void **out) {
    struct normalizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(normalizer, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct normalizer), out));
    tn_status status = setup(ctx, *out, &attrs);
    if (status != TN_OK) {
        destroy_normalizer(*out);
        *out = NULL;
    }
    return status;
}

static bool is_stop(const struct normalizer *k, struct tn_string text, char *room) {
    if (k->n_stops == 0) return false;
    if (k->folds) text = change_case(k, LOWER, text, room);
    return bsearch(&text, k->stops, k->n_stops, sizeof text, compare) != NULL;
}

static tn_status compute_normalizer(void *object, const struct tn_run_args *args) {
    const struct normalizer *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_run *run = args->run;
    const struct tn_string *texts = x->data;
    int64_t n = tn_tensor_count(x), kept = 0;
    struct tn_tensor *y;
    if (x->rank != 1 && (x->rank != 2 || x->dims[0] != 1))
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "X of rank %u has not the shape [C] or [1, C]", x->rank);
    uint64_t bytes = 1;
    for (int64_t i = 0; i < n; i++)
        bytes += 2 * texts[i].size;
    char *room = run->alloc(run, bytes, 1);
    struct tn_string *words =
        run->alloc(run, (uint64_t)(n + 1) * sizeof *words, sizeof(void *));
    if (!room || !words)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "no memory for %lld words", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (is_stop(k, texts[i], room)) continue;
        words[kept] = texts[i];
        if (k->change != KEEP) words[kept] = change_case(k, k->change, texts[i], room);
        room += 2 * texts[i].size;
        kept++;
    }
    if (kept == 0) words[kept++] = (struct tn_string){NULL, 0};
    const int64_t dims[2] = {1, kept};
    TN_TRY(tn_out_shaped(args, 0, TN_STRING, dims + 2 - x->rank, x->rank, &y));
    memcpy(y->data, words, (size_t)kept * sizeof *words);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "StringNormalizer"), TN_VERSIONS({10}),
        TN_INPUTS({"X", NULL, TN_BIT(STRING)}), TN_OUTPUTS({"Y", NULL, TN_BIT(STRING)}),
        TN_ATTRS(normalizer), .infer = infer_normalizer},
};

static const struct tn_kernel_def kernels[] = {
    {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = "",
        .op_type = "StringNormalizer", .since = 10, .create = create_normalizer,
        .destroy = destroy_normalizer, .compute = compute_normalizer},
};
/* clang-format on */

TN_FAMILY(string_normalizer);
