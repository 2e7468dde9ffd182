/* LabelEncoder and CategoryMapper: from keys to values through a table made at load. A key
 * that occurs twice stands for its last value (option ml.compat = ort: its first); every NaN
 * is one key, and so are both zeros. */
#include "ops/lookup.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define ENCODER_ATTRS(X, S)                                                              \
    X(S, STRINGS, keys_strings, )                                                        \
    X(S, INTS, keys_int64s, )                                                            \
    X(S, FLOATS, keys_floats, )                                                          \
    X(S, TENSOR, keys_tensor, )                                                          \
    X(S, STRINGS, values_strings, )                                                      \
    X(S, INTS, values_int64s, )                                                          \
    X(S, FLOATS, values_floats, )                                                        \
    X(S, TENSOR, values_tensor, )                                                        \
    X(S, STRING, default_string, "_Unused")                                              \
    X(S, INT, default_int64, -1)                                                         \
    X(S, FLOAT, default_float, -0.0f)                                                    \
    X(S, TENSOR, default_tensor, )
#define MAPPER_ATTRS(X, S)                                                               \
    X(S, STRINGS, cats_strings, )                                                        \
    X(S, INTS, cats_int64s, )                                                            \
    X(S, STRING, default_string, "_Unused")                                              \
    X(S, INT, default_int64, -1)
/* clang-format on */
TN_ATTR_TABLE(encoder, ENCODER_ATTRS)
TN_ATTR_TABLE(mapper, MAPPER_ATTRS)

#define TYPES_LABELS                                                                     \
    (TN_BIT(STRING) | TN_BIT(INT64) | TN_BIT(FLOAT) | TN_BIT(INT32) | TN_BIT(INT16) |    \
        TN_BIT(DOUBLE))

/* ---- lists: one side of the mapping ----------------------------------------------------- */

struct list {
    const char *name; /* of the attribute; NULL: none is given */
    const void *data;
    uint32_t n;
    int32_t dtype;
};

static tn_status add_list(struct list *list, const char *name, const void *data,
    uint32_t n, int32_t dtype, struct tn_diag *diag) {
    if (list->name)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attributes '%s' and '%s' are both given, expected one of them", list->name,
            name);
    *list = (struct list){name, data, n, dtype};
    return TN_OK;
}

static tn_status add_tensor(struct list *list, const char *name,
    const struct tn_attr_tensor *tensor, struct tn_diag *diag) {
    if (!tensor->present) return TN_OK;
    const struct tn_tensor *t = tensor->v;
    int64_t n = tn_tensor_count(t);
    if (t->rank != 1 || n > INT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute '%s' is a tensor of rank %u, expected a list", name, t->rank);
    if (!(TYPES_LABELS >> t->dtype & 1))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute '%s' holds %s, expected string, int64, float, int32, int16 or "
            "double",
            name, tn_dtype_name(t->dtype));
    return add_list(list, name, t->data, (uint32_t)n, t->dtype, diag);
}

/* An attribute that is written but empty counts as absent. */
#define ADD(list, attrs, member, type)                                                   \
    if ((attrs)->member.n)                                                               \
    TN_TRY(add_list(list, #member, (attrs)->member.v, (attrs)->member.n, type, diag))

static tn_status read_lists(const struct encoder_attrs *a, struct list *keys,
    struct list *values, struct tn_diag *diag) {
    memset(keys, 0, sizeof *keys);
    memset(values, 0, sizeof *values);
    ADD(keys, a, keys_strings, TN_STRING);
    ADD(keys, a, keys_int64s, TN_INT64);
    ADD(keys, a, keys_floats, TN_FLOAT);
    TN_TRY(add_tensor(keys, "keys_tensor", &a->keys_tensor, diag));
    ADD(values, a, values_strings, TN_STRING);
    ADD(values, a, values_int64s, TN_INT64);
    ADD(values, a, values_floats, TN_FLOAT);
    TN_TRY(add_tensor(values, "values_tensor", &a->values_tensor, diag));
    if (!keys->name || !values->name)
        return tn_fail(diag, TN_INVALID_MODEL,
            "no %s are given; set one of the attributes %s_strings, %s_int64s, %s_floats "
            "and %s_tensor",
            keys->name ? "values" : "keys", keys->name ? "values" : "keys",
            keys->name ? "values" : "keys", keys->name ? "values" : "keys",
            keys->name ? "values" : "keys");
    if (keys->n != values->n)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute '%s' has %u elements, '%s' has %u; expected as many", keys->name,
            keys->n, values->name, values->n);
    return TN_OK;
}

static tn_status read_mapper(const struct mapper_attrs *a, int32_t from,
    struct list *keys, struct list *values, struct tn_diag *diag) {
    struct list strings = {
        "cats_strings", a->cats_strings.v, a->cats_strings.n, TN_STRING};
    struct list ints = {"cats_int64s", a->cats_int64s.v, a->cats_int64s.n, TN_INT64};
    if (strings.n != ints.n)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'cats_strings' has %u elements, 'cats_int64s' has %u; expected as "
            "many",
            strings.n, ints.n);
    *keys = from == TN_STRING ? strings : ints;
    *values = from == TN_STRING ? ints : strings;
    return TN_OK;
}

/* ---- inference ---------------------------------------------------------------------------- */

static tn_status infer_encoder(const struct tn_infer *infer) {
    struct encoder_attrs attrs;
    struct list keys, values;
    TN_TRY(TN_ATTRS_READ(encoder, infer->node, &attrs, infer->diag));
    TN_TRY(read_lists(&attrs, &keys, &values, infer->diag));
    const struct tn_type *x = tn_infer_input(infer, 0);
    if (x && x->dtype != TN_UNDEFINED && x->dtype != keys.dtype)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input 'X' is of %s, but the keys (attribute '%s') are of %s",
            tn_dtype_name(x->dtype), keys.name, tn_dtype_name(keys.dtype));
    return tn_infer_shape_like(infer, 0, 0, values.dtype);
}

static tn_status infer_mapper(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    if (!x || x->dtype == TN_UNDEFINED) return TN_OK;
    return tn_infer_shape_like(infer, 0, 0, x->dtype == TN_STRING ? TN_INT64 : TN_STRING);
}

/* ---- kernels ------------------------------------------------------------------------------ */

struct encoder {
    struct tn_kernel_head head;
    struct tn__keys keys;
    tn__lookup_fn lookup;
    const char *values;
    uint32_t width; /* bytes of a value */
    int32_t key_dtype;
    union {
        struct tn_string string;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        float f32;
        double f64;
        char bytes[16];
    } fallback; /* value of a key that is not in the list */
};

static void destroy_encoder(void *kernel) {
    struct encoder *self = kernel;
    if (self) tn__keys_free(&self->keys);
    tn_kernel_destroy(kernel);
}

/* Integers as they are, floats as keys of tn__keys_of_double. */
static int64_t key_at(const struct list *keys, uint32_t i) {
    switch (keys->dtype) {
    case TN_INT64: return ((const int64_t *)keys->data)[i];
    case TN_INT32: return ((const int32_t *)keys->data)[i];
    case TN_INT16: return ((const int16_t *)keys->data)[i];
    case TN_FLOAT: return tn__keys_of_double((double)((const float *)keys->data)[i]);
    default: return tn__keys_of_double(((const double *)keys->data)[i]);
    }
}

static tn_status make_keys(struct encoder *self, const struct list *keys,
    enum tn__repeated repeated, struct tn_diag *diag) {
    const struct tn_host *host = self->head.host;
    if (keys->dtype == TN_STRING)
        return tn__keys_strings(&self->keys, host, keys->data, keys->n, repeated, diag);
    int64_t *list = host->alloc(host->self, keys->n * sizeof *list + 1, 0, "ml keys");
    if (!list) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u keys", keys->n);
    for (uint32_t i = 0; i < keys->n; i++)
        list[i] = key_at(keys, i);
    tn_status status = tn__keys_ints(&self->keys, host, list, keys->n, repeated, diag);
    host->free(host->self, list);
    return status;
}

static enum tn__repeated repeated_keys(const struct tn_kernel_ctx *ctx) {
    const struct tn__ml *ml = ctx->plugin_state;
    return ml->compat == TN_COMPAT_ORT ? TN__FIRST_WINS : TN__LAST_WINS;
}

static tn_status start_encoder(const struct tn_kernel_ctx *ctx, const struct list *keys,
    const struct list *values, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct encoder), out));
    struct encoder *self = *out;
    self->values = values->data;
    self->width = tn_dtype_bits(values->dtype) / 8;
    self->key_dtype = keys->dtype;
    self->lookup = tn__lookup_of(keys->dtype);
    tn_status status = make_keys(self, keys, repeated_keys(ctx), ctx->diag);
    if (status == TN_OK) return TN_OK;
    destroy_encoder(self);
    *out = NULL;
    return status;
}

static tn_status set_default(struct encoder *self, const struct encoder_attrs *attrs,
    const struct list *values, struct tn_diag *diag) {
    const struct tn_attr_tensor *given = &attrs->default_tensor;
    if (given->present && attrs->values_tensor.present) {
        if (given->v->dtype != values->dtype || tn_tensor_count(given->v) != 1)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'default_tensor' holds %lld elements of %s, expected one of "
                "%s like 'values_tensor'",
                (long long)tn_tensor_count(given->v), tn_dtype_name(given->v->dtype),
                tn_dtype_name(values->dtype));
        memcpy(self->fallback.bytes, given->v->data, self->width);
        return TN_OK;
    }
    switch (values->dtype) {
    case TN_STRING: self->fallback.string = attrs->default_string; break;
    case TN_INT64: self->fallback.i64 = attrs->default_int64; break;
    case TN_INT32: self->fallback.i32 = (int32_t)attrs->default_int64; break;
    case TN_INT16: self->fallback.i16 = (int16_t)attrs->default_int64; break;
    case TN_FLOAT: self->fallback.f32 = attrs->default_float; break;
    default: self->fallback.f64 = (double)attrs->default_float; break;
    }
    return TN_OK;
}

static tn_status create_encoder(const struct tn_kernel_ctx *ctx, void **out) {
    struct encoder_attrs attrs;
    struct list keys, values;
    TN_TRY(TN_ATTRS_READ(encoder, ctx->node, &attrs, ctx->diag));
    TN_TRY(read_lists(&attrs, &keys, &values, ctx->diag));
    TN_TRY(start_encoder(ctx, &keys, &values, out));
    tn_status status = set_default(*out, &attrs, &values, ctx->diag);
    if (status == TN_OK) return TN_OK;
    destroy_encoder(*out);
    *out = NULL;
    return status;
}

static tn_status create_mapper(const struct tn_kernel_ctx *ctx, void **out) {
    struct mapper_attrs attrs;
    struct list keys, values;
    TN_TRY(TN_ATTRS_READ(mapper, ctx->node, &attrs, ctx->diag));
    TN_TRY(read_mapper(&attrs, ctx->inputs[0].dtype, &keys, &values, ctx->diag));
    TN_TRY(start_encoder(ctx, &keys, &values, out));
    struct encoder *self = *out;
    if (values.dtype == TN_STRING)
        self->fallback.string = attrs.default_string;
    else
        self->fallback.i64 = attrs.default_int64;
    return TN_OK;
}

struct work {
    const struct encoder *self;
    const void *x;
    char *y;
};

#define MOVE(width)                                                                      \
    static void move_##width(                                                            \
        const struct encoder *self, const int32_t *at, int64_t n, char *y) {             \
        for (int64_t i = 0; i < n; i++) {                                                \
            const char *from =                                                           \
                at[i] < 0 ? self->fallback.bytes : self->values + (size_t)at[i] * width; \
            memcpy(y + i * width, from, width);                                          \
        }                                                                                \
    }
MOVE(2)
MOVE(4)
MOVE(8)
MOVE(16)
#undef MOVE

static void encode_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct work *work = arg;
    const struct encoder *self = work->self;
    int32_t at[TN__LOOKUP_BLOCK];
    (void)worker;
    for (int64_t i = begin; i < end; i += TN__LOOKUP_BLOCK) {
        int64_t n = end - i < TN__LOOKUP_BLOCK ? end - i : TN__LOOKUP_BLOCK;
        char *y = work->y + i * self->width;
        self->lookup(&self->keys, work->x, i, n, at);
        if (self->width == 8)
            move_8(self, at, n, y);
        else if (self->width == 4)
            move_4(self, at, n, y);
        else if (self->width == 16)
            move_16(self, at, n, y);
        else
            move_2(self, at, n, y);
    }
}

static tn_status compute_encoder(void *kernel, const struct tn_run_args *args) {
    const struct encoder *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct work work = {self, x->data, tn_out(args, 0)->data};
    tn_parallel(self->head.host, tn_tensor_count(x), tn__lookup_cost(self->key_dtype),
        encode_range, &work);
    return TN_OK;
}

/* ---- LabelEncoder-1: an index for each of classes_strings, and back ----------------------- */

static tn_status upgrade_encoder_2(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *classes = tn_node_attr(node, "classes_strings");
    const struct tn_type *x = rw->api->value_type(rw->graph, node->inputs[0]);
    if (!classes || classes->type != TN_ATTR_STRINGS)
        return tn_fail(rw->diag, TN_INVALID_MODEL,
            "the attribute 'classes_strings' (a list of strings) is required in version "
            "1");
    if (!x || (x->dtype != TN_STRING && x->dtype != TN_INT64))
        return tn_fail(rw->diag, TN_INVALID_MODEL,
            "the type of input 'X' is not known; version 1 takes string or int64");
    bool from_string = x->dtype == TN_STRING;
    const struct tn_host *host = rw->host;
    int64_t *numbers =
        host->alloc(host->self, classes->count * sizeof *numbers + 1, 0, "ml upgrade");
    if (!numbers) return tn_fail(rw->diag, TN_OUT_OF_MEMORY, "no memory for an upgrade");
    for (uint32_t i = 0; i < classes->count; i++)
        numbers[i] = i;
    struct tn_attr strings = *classes;
    strings.name = from_string ? "keys_strings" : "values_strings";
    struct tn_attr ints = {.name = from_string ? "values_int64s" : "keys_int64s",
        .type = TN_ATTR_INTS,
        .count = classes->count,
        .as.ints = numbers};
    tn_status status = rw->api->set_attr(rw->graph, rw->node, &strings, rw->diag);
    if (status == TN_OK) status = rw->api->set_attr(rw->graph, rw->node, &ints, rw->diag);
    if (status == TN_OK)
        status = rw->api->remove_attr(rw->graph, rw->node, "classes_strings");
    host->free(host->self, numbers);
    return status;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "LabelEncoder"), TN_VERSIONS({1}, {2, 0, upgrade_encoder_2}, {4}),
        TN_INPUTS({"X", "T1"}), TN_OUTPUTS({"Y", "T2"}),
        TN_TYPE_VARS({"T1", TYPES_LABELS}, {"T2", TYPES_LABELS}),
        TN_ATTRS(encoder), .infer = infer_encoder},
    {TN_DEF(TN_ML_DOMAIN, "CategoryMapper"), TN_VERSIONS({1}),
        TN_INPUTS({"X", "T1"}), TN_OUTPUTS({"Y", "T2"}),
        TN_TYPE_VARS({"T1", TN_BIT(STRING) | TN_BIT(INT64)}, {"T2", TN_BIT(STRING) | TN_BIT(INT64)}),
        TN_ATTRS(mapper), .infer = infer_mapper},
};

static const struct tn_kernel_def kernels[] = {
    {TN_ML_KERNEL("LabelEncoder", 4, destroy_encoder),
        .create = create_encoder, .compute = compute_encoder},
    {TN_ML_KERNEL("CategoryMapper", 1, destroy_encoder),
        .create = create_mapper, .compute = compute_encoder},
};
/* clang-format on */

TN_FAMILY(label_encoder);
