/* Tokenizer (com.microsoft): cuts each text into tokens along a new last axis, by the
 * matches of an expression, at the matches of separators, or character by character.
 *
 * Tokens share the bytes of their texts. Texts that are not UTF-8 are refused. */
#include "regex.h"
#include "text.h"
#include "utf8.h"

/* clang-format off */
#define TOKENIZER_ATTRS(X, S)                                                            \
    X(S, INT_REQUIRED, mark, )                                                           \
    X(S, INT_REQUIRED, mincharnum, )                                                     \
    X(S, STRING_REQUIRED, pad_value, )                                                   \
    X(S, STRINGS, separators, )                                                          \
    X(S, STRING, tokenexp, "")
/* clang-format on */
TN_ATTR_TABLE(tokenizer, TOKENIZER_ATTRS)

enum mode { CHARACTERS, SEPARATORS, EXPRESSION };

struct tokenizer {
    struct tn_kernel_head base;
    enum mode mode;
    bool mark;
    uint64_t least; /* characters of a token */
    struct tn_string pad;
    struct tn__regex *patterns;
    uint32_t n_patterns;
    uint64_t scratch; /* of the pattern that needs most */
};

/* ---- creation ---------------------------------------------------------------------------- */

static tn_status infer_tokenizer(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[3];
    if (!x || x->rank < 0) return tn_infer_set(infer, 0, TN_STRING, -1, NULL);
    if (x->rank != 1 && x->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL, "X has rank %d, expected 1 or 2",
            (int)x->rank);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = TN_DIM_UNKNOWN;
    /* without texts there is no axis of tokens either */
    for (int32_t i = 0; i < x->rank; i++)
        if (dims[i] <= 0) return tn_infer_set(infer, 0, TN_STRING, -1, NULL);
    return tn_infer_set(infer, 0, TN_STRING, x->rank + 1, dims);
}

static void destroy_tokenizer(void *kernel) {
    struct tokenizer *k = kernel;
    if (!k) return;
    for (uint32_t i = 0; i < k->n_patterns; i++)
        tn__regex_free(&k->patterns[i]);
    if (k->patterns) k->base.host->free(k->base.host->self, k->patterns);
    tn_kernel_destroy(k);
}

static enum mode choose_mode(const struct tokenizer_attrs *a) {
    if (a->separators.present)
        return a->separators.n == 1 && a->separators.v[0].size == 0 ? CHARACTERS
                                                                    : SEPARATORS;
    return tn_string_is(a->tokenexp, ".") ? CHARACTERS : EXPRESSION;
}

static tn_status check_attrs(
    const struct tokenizer_attrs *a, enum mode mode, struct tn_diag *diag) {
    if (a->mincharnum < 1 || (mode == CHARACTERS && a->mincharnum > 1))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'mincharnum' is %lld, expected %s", (long long)a->mincharnum,
            mode == CHARACTERS ? "1 for tokens of one character" : "at least 1");
    if (mode == SEPARATORS && a->separators.n == 0)
        return tn_fail(
            diag, TN_INVALID_MODEL, "attribute 'separators' is empty; give at least one");
    if (mode == EXPRESSION && a->tokenexp.size == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "expected one of the attributes 'separators' and 'tokenexp'");
    return TN_OK;
}

static tn_status setup(const struct tn_kernel_ctx *ctx, struct tokenizer *k) {
    const struct tn_host *host = ctx->host;
    struct tokenizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(tokenizer, ctx->node, &attrs, ctx->diag));
    k->mode = choose_mode(&attrs);
    TN_TRY(check_attrs(&attrs, k->mode, ctx->diag));
    k->mark = attrs.mark != 0;
    k->least = (uint64_t)attrs.mincharnum;
    k->pad = attrs.pad_value;
    if (k->mode == CHARACTERS) return TN_OK;
    const struct tn_string *patterns =
        k->mode == SEPARATORS ? attrs.separators.v : &attrs.tokenexp;
    uint32_t n = k->mode == SEPARATORS ? attrs.separators.n : 1;
    k->patterns = host->alloc(host->self, n * sizeof *k->patterns, 0, "tokenizer");
    if (!k->patterns)
        return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for %u patterns", n);
    for (; k->n_patterns < n; k->n_patterns++) {
        struct tn__regex *regex = &k->patterns[k->n_patterns];
        TN_TRY(tn__regex_compile(regex, host, patterns[k->n_patterns], ctx->diag));
        if (regex->scratch > k->scratch) k->scratch = regex->scratch;
    }
    return TN_OK;
}

static tn_status create_tokenizer(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct tokenizer), out));
    tn_status status = setup(ctx, *out);
    if (status != TN_OK) {
        destroy_tokenizer(*out);
        *out = NULL;
    }
    return status;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)args;
    out->scratch = ((struct tokenizer *)kernel)->scratch;
    out->state = sizeof(struct tn__matcher);
    return TN_OK;
}

static tn_status prepare(void *kernel, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    (void)kernel;
    (void)fn;
    return tn__matcher_init(args->state, diag);
}

/* ---- tokens ------------------------------------------------------------------------------ */

/* A list of texts that grows in the run's memory. */
struct list {
    struct tn_string *v;
    int64_t n, room;
};

struct job {
    const struct tokenizer *kernel;
    const struct tn_run_args *args;
    struct list tokens;    /* of all texts */
    struct list pieces[2]; /* of one text, before and after a separator */
    int64_t text;          /* its number */
};

static tn_status append(
    struct job *job, struct list *list, const char *data, uint64_t size) {
    const struct tn_run *run = job->args->run;
    if (list->n == list->room) {
        int64_t room = list->room ? 2 * list->room : 256;
        struct tn_string *v = run->alloc(run, (uint64_t)room * sizeof *v, sizeof(void *));
        if (!v)
            return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for %lld tokens",
                (long long)room);
        if (list->n) memcpy(v, list->v, (size_t)list->n * sizeof *v);
        list->v = v;
        list->room = room;
    }
    list->v[list->n++] = (struct tn_string){data, size};
    return TN_OK;
}

/* Bytes of the character at `at`, 1 at the end. */
static uint64_t step(struct tn_string text, uint64_t at) {
    size_t n = 1;
    if (at < text.size) (void)tn__utf8_decode(text.data + at, text.size - at, &n);
    return n;
}

static bool long_enough(const struct job *job, const char *data, uint64_t size) {
    uint64_t least = job->kernel->least;
    return size >= least && (least == 1 || tn__utf8_count(data, size) >= least);
}

static tn_status cut_characters(struct job *job, struct tn_string text) {
    for (uint64_t at = 0, n; at < text.size; at += n) {
        n = step(text, at);
        TN_TRY(append(job, &job->tokens, text.data + at, n));
    }
    return TN_OK;
}

/* The matches of the expression. One that is too short is passed over by one character, a
 * run as a whole: what is left of it is shorter still. */
static tn_status cut_matches(struct job *job, struct tn_string text) {
    const struct tokenizer *k = job->kernel;
    const struct tn_run_args *args = job->args;
    for (uint64_t at = 0, begin, end; at <= text.size;) {
        int found = tn__regex_search(
            k->patterns, args->state, text, at, args->workspace, &begin, &end);
        if (found == TN_REGEX_NO) return TN_OK;
        if (found != TN_REGEX_YES) return tn__regex_fail(args->run, found, job->text);
        if (long_enough(job, text.data + begin, end - begin)) {
            TN_TRY(append(job, &job->tokens, text.data + begin, end - begin));
            at = end;
        } else {
            at = k->patterns->is_run ? end : begin + step(text, begin);
        }
    }
    return TN_OK;
}

/* What lies between the matches of one separator. An empty match takes the character that
 * it stands before. */
static tn_status cut_piece(struct job *job, const struct tn__regex *separator,
    struct tn_string text, struct list *out) {
    const struct tn_run_args *args = job->args;
    uint64_t at = 0, begin, end;
    while (at <= text.size) {
        int found = tn__regex_search(
            separator, args->state, text, at, args->workspace, &begin, &end);
        if (found > TN_REGEX_YES) return tn__regex_fail(args->run, found, job->text);
        if (found == TN_REGEX_NO) begin = text.size;
        if (begin > at && long_enough(job, text.data + at, begin - at))
            TN_TRY(append(job, out, text.data + at, begin - at));
        if (found == TN_REGEX_NO) break;
        at = end > begin ? end : begin + step(text, begin);
    }
    return TN_OK;
}

static tn_status cut_separated(struct job *job, struct tn_string text) {
    const struct tokenizer *k = job->kernel;
    struct list *from = &job->pieces[0], *to = &job->pieces[1];
    from->n = 0;
    TN_TRY(append(job, from, text.data, text.size));
    for (uint32_t p = 0; p < k->n_patterns; p++) {
        TN_TRY(job->args->run->interrupted(job->args->run));
        bool last = p + 1 == k->n_patterns;
        struct list *out = last ? &job->tokens : to;
        to->n = 0;
        for (int64_t i = 0; i < from->n; i++)
            TN_TRY(cut_piece(job, &k->patterns[p], from->v[i], out));
        to = from;
        from = out;
    }
    return TN_OK;
}

static tn_status cut(struct job *job, struct tn_string text) {
    static tn_status (*const cutters[])(struct job *, struct tn_string) = {
        [CHARACTERS] = cut_characters,
        [SEPARATORS] = cut_separated,
        [EXPRESSION] = cut_matches,
    };
    const struct tn_run *run = job->args->run;
    if (text.size == 0) return TN_OK;
    if (tn__utf8_count(text.data, text.size) == SIZE_MAX)
        return tn_fail(run->diag, TN_INVALID_ARGUMENT, "text %lld of X is not UTF-8",
            (long long)job->text);
    tn__matcher_begin(job->args->state, run, text);
    return cutters[job->kernel->mode](job, text);
}

/* ---- run --------------------------------------------------------------------------------- */

/* One text's tokens between marks, and padding up to `width`. */
static void write_row(const struct tokenizer *k, const struct tn_string *tokens,
    int64_t n, struct tn_string *row, int64_t width) {
    static const char start_of_text[] = "\x02", end_of_text[] = "\x03";
    int64_t at = 0;
    if (k->mark) row[at++] = (struct tn_string){start_of_text, 1};
    if (n) memcpy(row + at, tokens, (size_t)n * sizeof *row);
    at += n;
    if (k->mark) row[at++] = (struct tn_string){end_of_text, 1};
    while (at < width)
        row[at++] = k->pad;
}

/* Shape of the output: none without texts, no tokens and no marks when no text has any. */
static uint32_t shape(const struct tokenizer *k, const struct tn_tensor *x, int64_t n,
    int64_t most, int64_t *dims) {
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (n == 0) {
        dims[x->rank - 1] = 0;
        return x->rank;
    }
    dims[x->rank] = most ? most + (k->mark ? 2 : 0) : 0;
    return x->rank + 1;
}

static tn_status compute_tokenizer(void *kernel, const struct tn_run_args *args) {
    const struct tokenizer *k = kernel;
    const struct tn_run *run = args->run;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_string *texts = x->data;
    int64_t n = tn_tensor_count(x), most = 0, dims[3] = {0}, count;
    struct job job = {.kernel = k, .args = args};
    struct tn_tensor *y;
    if (x->rank != 1 && x->rank != 2)
        return tn_fail(
            run->diag, TN_INVALID_ARGUMENT, "X has rank %u, expected 1 or 2", x->rank);
    int64_t *ends = run->alloc(run, (uint64_t)(n + 1) * sizeof *ends, sizeof *ends);
    if (!ends)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "no memory for %lld texts", (long long)n);
    ends[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        TN_TRY(run->interrupted(run));
        job.text = i;
        TN_TRY(cut(&job, texts[i]));
        ends[i + 1] = job.tokens.n;
        if (ends[i + 1] - ends[i] > most) most = ends[i + 1] - ends[i];
    }
    uint32_t rank = shape(k, x, n, most, dims);
    if (!tn_shape_count(dims, rank, &count))
        return tn_fail(run->diag, TN_LIMIT_EXCEEDED, "too many tokens");
    TN_TRY(tn_out_shaped(args, 0, TN_STRING, dims, rank, &y));
    for (int64_t i = 0; count && i < n; i++)
        write_row(k, job.tokens.v + ends[i], ends[i + 1] - ends[i],
            (struct tn_string *)y->data + i * dims[rank - 1], dims[rank - 1]);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_CONTRIB_DOMAIN, "Tokenizer"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_BIT(STRING)}), TN_ATTRS(tokenizer),
        .infer = infer_tokenizer},
};

static const struct tn_kernel_def kernels[] = {
    {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = TN_CONTRIB_DOMAIN,
        .op_type = "Tokenizer", .since = 1, .create = create_tokenizer,
        .destroy = destroy_tokenizer, .workspace = workspace, .prepare = prepare,
        .compute = compute_tokenizer},
};
/* clang-format on */

TN_FAMILY(tokenizer);
