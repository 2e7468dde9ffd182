/* RegexFullMatch: whether each text as a whole matches a pattern. */
#include "ops/ops.h"
#include "ops/regex.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define PATTERN_ATTRS(X, S) X(S, STRING, pattern, "")
/* clang-format on */
TN_ATTR_TABLE(pattern, PATTERN_ATTRS)

struct matcher {
    struct tn__kernel base;
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
    TN_TRY(tn__kernel_create(ctx, sizeof(struct matcher), out));
    struct matcher *k = *out;
    tn_status status = tn__regex_compile(&k->regex, ctx->host, attrs.pattern, ctx->diag);
    if (status != TN_OK) {
        destroy_match(k);
        *out = NULL;
    }
    return status;
}

/* One match's room for each worker. */
static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct matcher *k = kernel;
    (void)args;
    out->scratch = (uint64_t)tn__regex_scratch(&k->regex) *
                   k->base.host->worker_count(k->base.host->self);
    return TN_OK;
}

struct job {
    const struct matcher *kernel;
    const struct tn_run_args *args;
    const struct tn_string *texts;
    uint8_t *out;
};

static void match_texts(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct tn__regex *regex = &job->kernel->regex;
    char *scratch =
        (char *)job->args->workspace + (size_t)worker * tn__regex_scratch(regex);
    for (int64_t i = begin; i < end; i++) {
        if (job->args->run->interrupted(job->args->run) != TN_OK) return;
        job->out[i] = (uint8_t)tn__regex_full_match(regex, job->texts[i], scratch);
    }
}

static tn_status compute_match(void *kernel, const struct tn_run_args *args) {
    const struct matcher *k = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y;
    TN_TRY(tn_out_shaped(args, 0, TN_BOOL, x->dims, x->rank, &y));
    struct job job = {k, args, x->data, y->data};
    tn_parallel(k->base.host, tn_tensor_count(x), 500 + 5 * (double)k->regex.n_steps,
        match_texts, &job);
    return args->run->interrupted(args->run);
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
        .destroy = destroy_match, .workspace = workspace, .compute = compute_match},
};
/* clang-format on */

TN_FAMILY(regex_full_match);
