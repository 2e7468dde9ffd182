/* MurmurHash3 (com.microsoft): the 32-bit hash of each element's bytes. */
#include "text.h"

/* clang-format off */
#define MURMUR_ATTRS(X, S) X(S, INT, positive, 1) X(S, INT, seed, 0)
/* clang-format on */
TN_ATTR_TABLE(murmur, MURMUR_ATTRS)

struct murmur {
    struct tn_kernel_head base;
    uint32_t seed;
};

static tn_status infer_murmur(const struct tn_infer *infer) {
    struct murmur_attrs attrs;
    TN_TRY(TN_ATTRS_READ(murmur, infer->node, &attrs, infer->diag));
    return tn_infer_shape_like(infer, 0, 0, attrs.positive ? TN_UINT32 : TN_INT32);
}

static tn_status create_murmur(const struct tn_kernel_ctx *ctx, void **out) {
    struct murmur_attrs attrs;
    TN_TRY(TN_ATTRS_READ(murmur, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct murmur), out));
    ((struct murmur *)*out)->seed = (uint32_t)attrs.seed;
    return TN_OK;
}

/* ---- the hash ---------------------------------------------------------------------------- */

static uint32_t rotate(uint32_t x, uint32_t by) {
    return x << by | x >> (32 - by);
}

static uint32_t mix_block(uint32_t block) {
    return rotate(block * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
}

/* MurmurHash3_x86_32 of n bytes. */
static uint32_t hash_bytes(const char *bytes, uint64_t n, uint32_t seed) {
    uint32_t hash = seed, block;
    uint64_t at = 0;
    for (; n - at >= 4; at += 4) {
        memcpy(&block, bytes + at, 4);
        hash = rotate(hash ^ mix_block(block), 13) * 5 + UINT32_C(0xe6546b64);
    }
    block = 0;
    for (uint64_t i = n; i-- > at;)
        block = block << 8 | (unsigned char)bytes[i];
    if (n > at) hash ^= mix_block(block);
    hash ^= (uint32_t)n;
    hash = (hash ^ hash >> 16) * UINT32_C(0x85ebca6b);
    hash = (hash ^ hash >> 13) * UINT32_C(0xc2b2ae35);
    return hash ^ hash >> 16;
}

struct job {
    const struct tn_tensor *x;
    uint32_t *y;
    uint32_t seed;
};

static void hash_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct tn_string *texts = job->x->data;
    uint64_t size = tn_dtype_bits(job->x->dtype) / 8;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        job->y[i] = job->x->dtype == TN_STRING
                        ? hash_bytes(texts[i].data, texts[i].size, job->seed)
                        : hash_bytes((const char *)job->x->data + (uint64_t)i * size,
                              size, job->seed);
}

static tn_status compute_murmur(void *kernel, const struct tn_run_args *args) {
    const struct murmur *k = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y = tn_out(args, 0);
    if (!y)
        return tn_fail(args->run->diag, TN_INTERNAL, "the output's shape is not known");
    struct job job = {x, y->data, k->seed};
    tn_parallel(k->base.host, tn_tensor_count(x), 20, hash_range, &job);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_CONTRIB_DOMAIN, "MurmurHash3"), TN_VERSIONS({1}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}),
        TN_TYPE_VARS({"T1", TN_TYPES_INDEX | TN_BIT(UINT32) | TN_BIT(UINT64) | TN_BIT(FLOAT) |
                                TN_BIT(DOUBLE) | TN_BIT(STRING)},
            {"T2", TN_BIT(INT32) | TN_BIT(UINT32)}),
        TN_ATTRS(murmur), .infer = infer_murmur},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF(TN_CONTRIB_DOMAIN, "MurmurHash3", 1), .create = create_murmur,
        .compute = compute_murmur},
};
/* clang-format on */

TN_FAMILY(murmur_hash);
