/* TfIdfVectorizer, and Ngram, its name in com.microsoft before ONNX had it: counts the n-grams of a pool in each row of tokens.
 *
 * N-grams lie in one hash table, keyed by the hashes of their tokens; a row's tokens are
 * hashed once. An n-gram grows token by token from each start, so that all its lengths are
 * looked up on one walk. The hashes are seeded: no model can choose n-grams that collide.
 * N-grams that are listed more than once form a chain in the order of the list. */
#include "text.h"

/* clang-format off */
#define TFIDF_ATTRS(X, S)                                                                \
    X(S, INT_REQUIRED, max_gram_length, )                                                \
    X(S, INT_REQUIRED, max_skip_count, )                                                 \
    X(S, INT_REQUIRED, min_gram_length, )                                                \
    X(S, STRING_REQUIRED, mode, )                                                        \
    X(S, INTS_REQUIRED, ngram_counts, )                                                  \
    X(S, INTS_REQUIRED, ngram_indexes, )                                                 \
    X(S, INTS, pool_int64s, )                                                            \
    X(S, STRINGS, pool_strings, )                                                        \
    X(S, FLOATS, weights, )
/* clang-format on */
TN_ATTR_TABLE(tfidf, TFIDF_ATTRS)

enum mode { TF, IDF, TFIDF };

struct gram {
    uint64_t hash;
    uint32_t length;
    float weight;
    uint32_t next; /* of the same tokens, or NO_GRAM */
    uint32_t last; /* of the chain, in its head */
    int64_t first; /* its tokens in the pool */
    int64_t index; /* in the output */
};

struct tfidf {
    struct tn_kernel_head base;
    struct tfidf_attrs attrs; /* lists are borrowed from the node */
    enum mode mode;
    int64_t width;      /* of an output row */
    int64_t longest;    /* n-gram of the pool, in tokens */
    struct gram *grams; /* in the order of ngram_indexes */
    uint32_t *slots;    /* heads of chains, NO_GRAM where there is none */
    uint64_t mask;      /* slots less one */
    uint64_t seed;
};

#define NO_GRAM UINT32_MAX

/* ---- hashes ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t token) {
    hash = (hash ^ token) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(struct tn_string text, uint64_t seed) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (uint64_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    return mix(hash, text.size);
}

static uint64_t pool_hash(const struct tfidf *k, int64_t i) {
    return k->attrs.pool_strings.present ? hash_text(k->attrs.pool_strings.v[i], k->seed)
                                         : (uint64_t)k->attrs.pool_int64s.v[i];
}

/* ---- creation ---------------------------------------------------------------------------- */

/* Whether the attributes fit each other; *width is that of an output row. */
static tn_status check_attrs(
    const struct tfidf_attrs *a, enum mode *mode, int64_t *width, struct tn_diag *diag) {
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    size_t at = 0;
    while (at < TN_COUNT(modes) && !tn_string_is(a->mode, modes[at]))
        at++;
    if (at == TN_COUNT(modes))
        return tn_fail(
            diag, TN_INVALID_MODEL, "attribute 'mode' is none of TF, IDF, TFIDF");
    *mode = (enum mode)at;
    if (a->pool_strings.present == a->pool_int64s.present)
        return tn_fail(diag, TN_INVALID_MODEL,
            "expected one of the attributes 'pool_strings' and 'pool_int64s'");
    if (a->min_gram_length < 1 || a->max_gram_length < a->min_gram_length ||
        a->max_gram_length > (int64_t)a->ngram_counts.n || a->max_skip_count < 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "n-grams of %lld to %lld tokens with %lld skips do not fit %u ngram_counts",
            (long long)a->min_gram_length, (long long)a->max_gram_length,
            (long long)a->max_skip_count, a->ngram_counts.n);
    if (a->weights.present && a->weights.n != a->ngram_indexes.n)
        return tn_fail(diag, TN_INVALID_MODEL, "%u weights for %u n-grams", a->weights.n,
            a->ngram_indexes.n);
    *width = 0;
    for (uint32_t i = 0; i < a->ngram_indexes.n; i++) {
        int64_t index = a->ngram_indexes.v[i];
        if (index < 0 || index > INT32_MAX)
            return tn_fail(
                diag, TN_INVALID_MODEL, "ngram_indexes[%u] is %lld", i, (long long)index);
        if (index >= *width) *width = index + 1;
    }
    return TN_OK;
}

static tn_status check_pool(const struct tfidf_attrs *a, struct tn_diag *diag) {
    int64_t pool = a->pool_strings.present ? a->pool_strings.n : a->pool_int64s.n,
            grams = 0;
    for (uint32_t i = 0; i < a->ngram_counts.n; i++) {
        int64_t begin = a->ngram_counts.v[i];
        int64_t end = i + 1 < a->ngram_counts.n ? a->ngram_counts.v[i + 1] : pool;
        if (begin < 0 || begin > end || end > pool || (end - begin) % (i + 1) != 0)
            return tn_fail(diag, TN_INVALID_MODEL,
                "ngram_counts place the %u-grams at %lld to %lld of a pool of %lld",
                i + 1, (long long)begin, (long long)end, (long long)pool);
        grams += (end - begin) / (i + 1);
    }
    if (grams == (int64_t)a->ngram_indexes.n) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL, "%u ngram_indexes for %lld n-grams",
        a->ngram_indexes.n, (long long)grams);
}

static bool same_token(const struct tfidf_attrs *a, int64_t i, int64_t j) {
    if (!a->pool_strings.present) return a->pool_int64s.v[i] == a->pool_int64s.v[j];
    struct tn_string x = a->pool_strings.v[i], y = a->pool_strings.v[j];
    return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
}

static bool same_tokens(
    const struct tfidf *k, const struct gram *x, const struct gram *y) {
    if (x->hash != y->hash || x->length != y->length) return false;
    for (int64_t t = 0; t < x->length; t++)
        if (!same_token(&k->attrs, x->first + t, y->first + t)) return false;
    return true;
}

/* Puts n-gram i into its slot, or behind those of the same tokens. */
static void put_gram(struct tfidf *k, uint32_t i) {
    struct gram *grams = k->grams;
    uint64_t slot = grams[i].hash & k->mask;
    while (
        k->slots[slot] != NO_GRAM && !same_tokens(k, &grams[k->slots[slot]], &grams[i]))
        slot = (slot + 1) & k->mask;
    grams[i].next = NO_GRAM;
    grams[i].last = i;
    if (k->slots[slot] == NO_GRAM) {
        k->slots[slot] = i;
        return;
    }
    struct gram *head = &grams[k->slots[slot]];
    grams[head->last].next = i;
    head->last = i;
}

static void fill_slots(struct tfidf *k) {
    const struct tfidf_attrs *a = &k->attrs;
    int64_t pool = a->pool_strings.present ? a->pool_strings.n : a->pool_int64s.n;
    uint32_t gram = 0;
    for (uint32_t i = 0; i < a->ngram_counts.n; i++) {
        int64_t end = i + 1 < a->ngram_counts.n ? a->ngram_counts.v[i + 1] : pool;
        for (int64_t at = a->ngram_counts.v[i]; at < end; at += i + 1, gram++) {
            uint64_t hash = k->seed;
            for (uint32_t t = 0; t <= i; t++)
                hash = mix(hash, pool_hash(k, at + t));
            k->grams[gram] = (struct gram){.hash = hash,
                .length = i + 1,
                .weight = a->weights.present ? a->weights.v[gram] : 1,
                .first = at,
                .index = a->ngram_indexes.v[gram]};
            put_gram(k, gram);
            k->longest = i + 1;
        }
    }
}

static tn_status open_table(struct tfidf *k, struct tn_diag *diag) {
    const struct tn_host *host = k->base.host;
    uint64_t n = k->attrs.ngram_indexes.n, slots = 2;
    while (slots < 2 * n)
        slots *= 2;
    k->grams = host->alloc(host->self, n * sizeof *k->grams + 1, 0, "n-grams");
    k->slots = host->alloc(host->self, slots * sizeof *k->slots, 0, "n-grams");
    if (!k->grams || !k->slots)
        return tn_fail(
            diag, TN_OUT_OF_MEMORY, "no memory for %u n-grams", k->attrs.ngram_indexes.n);
    memset(k->slots, 0xff, slots * sizeof *k->slots);
    k->mask = slots - 1;
    k->seed = mix((uint64_t)(uintptr_t)k, host->clock_ns(host->self));
    return TN_OK;
}

static tn_status setup(const struct tn_kernel_ctx *ctx, struct tfidf *k) {
    TN_TRY(TN_ATTRS_READ(tfidf, ctx->node, &k->attrs, ctx->diag));
    TN_TRY(check_attrs(&k->attrs, &k->mode, &k->width, ctx->diag));
    TN_TRY(check_pool(&k->attrs, ctx->diag));
    if ((ctx->inputs[0].dtype == TN_STRING) != (k->attrs.pool_strings.present != 0))
        return tn_fail(ctx->diag, TN_INVALID_MODEL, "tokens of type %s for a pool of %s",
            tn_dtype_name(ctx->inputs[0].dtype),
            k->attrs.pool_strings.present ? "strings" : "integers");
    TN_TRY(open_table(k, ctx->diag));
    fill_slots(k);
    return TN_OK;
}

static void destroy_tfidf(void *kernel) {
    struct tfidf *k = kernel;
    if (!k) return;
    k->base.host->free(k->base.host->self, k->grams);
    k->base.host->free(k->base.host->self, k->slots);
    tn_kernel_destroy(k);
}

static tn_status create_tfidf(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct tfidf), out));
    tn_status status = setup(ctx, *out);
    if (status != TN_OK) {
        destroy_tfidf(*out);
        *out = NULL;
    }
    return status;
}

static tn_status infer_tfidf(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tfidf_attrs attrs;
    enum mode mode;
    int64_t dims[2];
    TN_TRY(TN_ATTRS_READ(tfidf, infer->node, &attrs, infer->diag));
    TN_TRY(check_attrs(&attrs, &mode, &dims[1], infer->diag));
    if (!x || x->rank < 0) return tn_infer_set(infer, 0, TN_FLOAT, -1, NULL);
    if (x->rank != 1 && x->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL, "X has rank %d, expected 1 or 2",
            (int)x->rank);
    dims[0] = x->dims[0];
    return tn_infer_set(infer, 0, TN_FLOAT, x->rank, x->rank == 1 ? dims + 1 : dims);
}

/* ---- run --------------------------------------------------------------------------------- */

struct job {
    const struct tn_run *run;
    const struct tfidf *kernel;
    const struct tn_tensor *x;
    const uint64_t *hashes;
    float *y;
    int64_t tokens; /* of a row */
};

static bool same_gram(
    const struct job *job, const struct gram *gram, int64_t at, int64_t pitch) {
    const struct tfidf_attrs *a = &job->kernel->attrs;
    for (int64_t t = 0; t < gram->length; t++, at += pitch) {
        if (!a->pool_strings.present) {
            if (tn_tensor_int(job->x, at) != a->pool_int64s.v[gram->first + t])
                return false;
            continue;
        }
        struct tn_string token = ((const struct tn_string *)job->x->data)[at];
        struct tn_string wanted = a->pool_strings.v[gram->first + t];
        if (token.size != wanted.size ||
            (token.size && memcmp(token.data, wanted.data, token.size) != 0))
            return false;
    }
    return true;
}

/* Counts the n-grams of `length` tokens with this hash, `pitch` apart from `at` on. */
static void count_gram(const struct job *job, uint64_t hash, uint32_t length, int64_t at,
    int64_t pitch, float *y) {
    const struct tfidf *k = job->kernel;
    uint64_t slot = hash & k->mask;
    for (; k->slots[slot] != NO_GRAM; slot = (slot + 1) & k->mask) {
        const struct gram *head = &k->grams[k->slots[slot]];
        if (head->hash == hash && head->length == length &&
            same_gram(job, head, at, pitch))
            break;
    }
    for (uint32_t i = k->slots[slot]; i != NO_GRAM; i = k->grams[i].next) {
        const struct gram *gram = &k->grams[i];
        if (k->mode == IDF)
            y[gram->index] = gram->weight;
        else
            y[gram->index] += k->mode == TF ? 1 : gram->weight;
    }
}

static void count_from(const struct job *job, int64_t row, int64_t start, int64_t pitch) {
    const struct tfidf *k = job->kernel;
    int64_t base = row * job->tokens, most = (job->tokens - 1 - start) / pitch + 1;
    float *y = job->y + row * k->width;
    uint64_t hash = k->seed;
    if (most > k->attrs.max_gram_length) most = k->attrs.max_gram_length;
    if (most > k->longest) most = k->longest;
    for (int64_t t = 0; t < most; t++) {
        hash = mix(hash, job->hashes[base + start + t * pitch]);
        if (t + 1 < k->attrs.min_gram_length) continue;
        if (t == 0 && pitch > 1) continue; /* a single token skips nothing */
        count_gram(job, hash, (uint32_t)t + 1, base + start, pitch, y);
    }
}

/* Starts between looks at the clock. */
enum { STARTS = 256 };

static void count_row(const struct job *job, int64_t row, int64_t pitch) {
    for (int64_t start = 0; start < job->tokens; start++) {
        if (start % STARTS == 0 && job->run->interrupted(job->run) != TN_OK) return;
        count_from(job, row, start, pitch);
    }
}

static void count_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t skips = job->kernel->attrs.max_skip_count;
    (void)worker;
    for (int64_t row = begin; row < end; row++)
        for (int64_t skip = 0; skip <= skips && (skip == 0 || skip + 1 < job->tokens);
             skip++)
            count_row(job, row, skip + 1);
}

static tn_status compute_tfidf(void *object, const struct tn_run_args *args) {
    const struct tfidf *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_run *run = args->run;
    struct tn_tensor *y;
    if (x->rank != 1 && x->rank != 2)
        return tn_fail(
            run->diag, TN_INVALID_ARGUMENT, "X has rank %u, expected 1 or 2", x->rank);
    const int64_t dims[2] = {x->rank == 2 ? x->dims[0] : 1, k->width};
    TN_TRY(tn_out_shaped(args, 0, TN_FLOAT, dims + 2 - x->rank, x->rank, &y));
    int64_t n = tn_tensor_count(x);
    if (tn_tensor_count(y) == 0) return TN_OK;
    memset(y->data, 0, (size_t)tn_tensor_count(y) * sizeof(float));
    if (n == 0) return TN_OK;
    uint64_t *hashes = run->alloc(run, (uint64_t)n * sizeof *hashes, 64);
    if (!hashes)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "no memory for %lld tokens", (long long)n);
    for (int64_t i = 0; i < n; i++)
        hashes[i] = x->dtype == TN_STRING
                        ? hash_text(((const struct tn_string *)x->data)[i], k->seed)
                        : (uint64_t)tn_tensor_int(x, i);
    struct job job = {run, k, x, hashes, y->data, x->dims[x->rank - 1]};
    double walks = (double)job.tokens * (double)(k->attrs.max_skip_count < job.tokens
                                                     ? k->attrs.max_skip_count + 1
                                                     : job.tokens);
    tn_parallel(k->base.host, dims[0], 15 * walks * (double)k->longest, count_rows, &job);
    return run->interrupted(run);
}

/* clang-format off */
#define TFIDF_DEF(domain, name, since)                                                   \
    {TN_DEF(domain, name), TN_VERSIONS({since}), TN_INPUTS({"X", "T"}),                  \
        TN_OUTPUTS({"Y", "T1"}),                                                         \
        TN_TYPE_VARS({"T", TN_TYPES_INDEX | TN_BIT(STRING)}, {"T1", TN_BIT(FLOAT)}),     \
        TN_ATTRS(tfidf), .infer = infer_tfidf}
#define TFIDF_KERNEL(domain_text, name, version)                                         \
    {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = domain_text,        \
        .op_type = name, .since = version, .create = create_tfidf,                       \
        .destroy = destroy_tfidf, .compute = compute_tfidf}

static const struct tn_op_def defs[] = {
    TFIDF_DEF("", "TfIdfVectorizer", 9),
    TFIDF_DEF(TN_CONTRIB_DOMAIN, "Ngram", 1),
};

static const struct tn_kernel_def kernels[] = {
    TFIDF_KERNEL("", "TfIdfVectorizer", 9),
    TFIDF_KERNEL(TN_CONTRIB_DOMAIN, "Ngram", 1),
};
/* clang-format on */

TN_FAMILY(tfidf);
