/* RegexFullMatch: whether each text as a whole matches a pattern. A text that is not UTF-8
 * matches none. */
#include "regex.h"
#include "text.h"
#include "utf8.h"

/* clang-format off */
#define PATTERN_ATTRS(X, S) X(S, STRING, pattern, "")
/* clang-format on */
TN_ATTR_TABLE(pattern, PATTERN_ATTRS)

struct matcher {
    struct tn_kernel_head base;
    struct tn__regex regex;
};

static tn_status infer_match(const struct tn_infer *infer) {
    return tn_infer_shape_like(infer, 0, 0, TN_BOOL);
}

static void destroy_match(void *kernel) {
    struct matcher *k = kernel;
    if (!k) return;
    tn__regex_free(&k->regex);
    tn_kernel_destroy(k);
}

static tn_status create_match(const struct tn_kernel_ctx *ctx, void **out) {
    struct pattern_attrs attrs;
    TN_TRY(TN_ATTRS_READ(pattern, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct matcher), out));
    struct matcher *k = *out;
    tn_status status = tn__regex_compile(&k->regex, ctx->host, attrs.pattern, ctx->diag);
    if (status != TN_OK) {
        destroy_match(k);
        *out = NULL;
    }
    return status;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct matcher *k = kernel;
    uint64_t workers = k->base.host->worker_count(k->base.host->self);
    (void)args;
    out->scratch = k->regex.scratch * workers;
    out->state = sizeof(struct tn__matcher) * workers;
    return TN_OK;
}

static tn_status prepare(void *kernel, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    const struct matcher *k = kernel;
    struct tn__matcher *matchers = args->state;
    uint32_t workers = k->base.host->worker_count(k->base.host->self);
    (void)fn;
    for (uint32_t i = 0; i < workers; i++)
        TN_TRY(tn__matcher_init(&matchers[i], diag));
    return TN_OK;
}

struct job {
    const struct matcher *kernel;
    const struct tn_run_args *args;
    const struct tn_string *texts;
    uint8_t *out; /* TN_REGEX_* */
};

static void match_texts(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct tn__regex *regex = &job->kernel->regex;
    struct tn__matcher *matcher = (struct tn__matcher *)job->args->state + worker;
    char *scratch = (char *)job->args->workspace + worker * regex->scratch;
    for (int64_t i = begin; i < end; i++) {
        struct tn_string text = job->texts[i];
        bool valid = tn__utf8_count(text.data, text.size) != SIZE_MAX;
        tn__matcher_begin(matcher, job->args->run, text);
        int result =
            valid ? tn__regex_full_match(regex, matcher, text, scratch) : TN_REGEX_NO;
        if (job->args->run->interrupted(job->args->run) != TN_OK)
            result = TN_REGEX_STOPPED;
        job->out[i] = (uint8_t)result;
        if (result == TN_REGEX_STOPPED) return;
    }
}

static tn_status compute_match(void *kernel, const struct tn_run_args *args) {
    const struct matcher *k = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    int64_t n = tn_tensor_count(x);
    struct tn_tensor *y;
    TN_TRY(tn_out_shaped(args, 0, TN_BOOL, x->dims, x->rank, &y));
    struct job job = {k, args, x->data, y->data};
    tn_parallel(k->base.host, n, 2000, match_texts, &job);
    TN_TRY(args->run->interrupted(args->run));
    for (int64_t i = 0; i < n; i++)
        if (job.out[i] > TN_REGEX_YES) return tn__regex_fail(args->run, job.out[i], i);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "RegexFullMatch"), TN_VERSIONS({20}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}), TN_TYPE_VARS({"T1", TN_BIT(STRING)}, {"T2", TN_BIT(BOOL)}),
        TN_ATTRS(pattern), .infer = infer_match},
};

static const struct tn_kernel_def kernels[] = {
    {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = "",
        .op_type = "RegexFullMatch", .since = 20, .create = create_match,
        .destroy = destroy_match, .workspace = workspace, .prepare = prepare, .compute = compute_match},
};
/* clang-format on */

TN_FAMILY(regex_full_match);
