/* DictVectorizer and CastMap: from maps to tensors of one row. */
#define _GNU_SOURCE /* strtod_l */
#include "ops/keys.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define DICT_ATTRS(X, S)                                                                 \
    X(S, INTS, int64_vocabulary, )                                                       \
    X(S, STRINGS, string_vocabulary, )
#define CAST_ATTRS(X, S)                                                                 \
    X(S, STRING, cast_to, "TO_FLOAT")                                                    \
    X(S, STRING, map_form, "DENSE")                                                      \
    X(S, INT, max_map, 1)
/* clang-format on */
TN_ATTR_TABLE(dict, DICT_ATTRS)
TN_ATTR_TABLE(cast, CAST_ATTRS)

/* The map of input 0, with its parts held against each other and against what it stands for
 * in the graph. */
static tn_status map_in(const struct tn_run_args *args, const struct tn_map **out) {
    if (args->n_inputs < 1 || args->inputs[0].kind != TN_KIND_MAP)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "input 0 is no map");
    const struct tn_map *map = args->inputs[0].as.map;
    if (map->keys.rank != 1 || map->values.rank != 1 ||
        map->keys.dims[0] != map->values.dims[0])
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the map has no single value for each key");
    *out = map;
    return TN_OK;
}

/* ---- DictVectorizer ----------------------------------------------------------------------- */

struct dict {
    struct tn_kernel_head head;
    struct tn__keys keys;
    int64_t n;
    int32_t key_dtype;
};

static tn_status count_vocabulary(const struct dict_attrs *attrs, int32_t key_dtype,
    uint32_t *out, struct tn_diag *diag) {
    bool strings = key_dtype == TN_STRING;
    *out = strings ? attrs->string_vocabulary.n : attrs->int64_vocabulary.n;
    if (*out) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute '%s' is missing: the map's keys are of %s",
        strings ? "string_vocabulary" : "int64_vocabulary", tn_dtype_name(key_dtype));
}

static tn_status infer_dict(const struct tn_infer *infer) {
    struct dict_attrs attrs;
    const struct tn_type *x = tn_infer_input(infer, 0);
    uint32_t n;
    if (!x || x->key_dtype == TN_UNDEFINED) return TN_OK;
    TN_TRY(TN_ATTRS_READ(dict, infer->node, &attrs, infer->diag));
    TN_TRY(count_vocabulary(&attrs, x->key_dtype, &n, infer->diag));
    const int64_t dims[] = {1, n};
    return tn_infer_set(infer, 0, x->dtype, 2, dims);
}

static void destroy_dict(void *kernel) {
    struct dict *self = kernel;
    if (self) tn__keys_free(&self->keys);
    tn_kernel_destroy(kernel);
}

static tn_status make_vocabulary(
    struct dict *self, const struct dict_attrs *attrs, uint32_t n, struct tn_diag *diag) {
    if (self->key_dtype == TN_STRING)
        return tn__keys_strings(&self->keys, self->head.host, attrs->string_vocabulary.v,
            n, TN__LAST_WINS, diag);
    return tn__keys_ints(
        &self->keys, self->head.host, attrs->int64_vocabulary.v, n, TN__LAST_WINS, diag);
}

static tn_status create_dict(const struct tn_kernel_ctx *ctx, void **out) {
    struct dict_attrs attrs;
    uint32_t n;
    TN_TRY(TN_ATTRS_READ(dict, ctx->node, &attrs, ctx->diag));
    TN_TRY(count_vocabulary(&attrs, ctx->inputs[0].key_dtype, &n, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct dict), out));
    struct dict *self = *out;
    self->n = n;
    self->key_dtype = ctx->inputs[0].key_dtype;
    tn_status status = make_vocabulary(self, &attrs, n, ctx->diag);
    if (status == TN_OK) return TN_OK;
    destroy_dict(self);
    *out = NULL;
    return status;
}

/* Keys that the vocabulary lacks are passed over; words that the map lacks give 0 or "". */
static tn_status compute_dict(void *kernel, const struct tn_run_args *args) {
    const struct dict *self = kernel;
    const struct tn_map *map;
    struct tn_tensor *y;
    const int64_t dims[] = {1, self->n};
    TN_TRY(map_in(args, &map));
    if (map->keys.dtype != self->key_dtype)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the map has keys of %s, expected %s", tn_dtype_name(map->keys.dtype),
            tn_dtype_name(self->key_dtype));
    TN_TRY(tn_out_shaped(args, 0, map->values.dtype, dims, 2, &y));
    size_t width = tn_dtype_bits(y->dtype) / 8;
    memset(y->data, 0, (size_t)self->n * width);
    for (int64_t i = 0; i < map->keys.dims[0]; i++) {
        const void *keys = map->keys.data;
        int32_t at =
            self->key_dtype == TN_STRING
                ? tn__keys_find_string(&self->keys, (const struct tn_string *)keys + i)
                : tn__keys_find_int(&self->keys, ((const int64_t *)keys)[i]);
        if (at >= 0)
            memcpy((char *)y->data + (size_t)at * width,
                (const char *)map->values.data + (size_t)i * width, width);
    }
    return TN_OK;
}

/* ---- CastMap ------------------------------------------------------------------------------ */

enum { TEXT = 40 };

struct cast {
    struct tn_kernel_head head;
    int32_t to;
    bool sparse;
    int64_t size; /* of a sparse row */
    locale_t c;   /* numbers are read and written without regard to the locale */
};

static tn_status bad_text(const char *name, struct tn_string value, const char *expected,
    struct tn_diag *diag) {
    return tn_fail(diag, TN_INVALID_MODEL, "attribute '%s' is '%.*s', expected %s", name,
        (int)(value.size < 60 ? value.size : 60), value.data, expected);
}

static tn_status read_cast(
    const struct cast_attrs *attrs, struct cast *out, struct tn_diag *diag) {
    static const struct {
        const char *name;
        int32_t dtype;
    } types[] = {
        {"TO_FLOAT", TN_FLOAT}, {"TO_STRING", TN_STRING}, {"TO_INT64", TN_INT64}};
    out->to = TN_UNDEFINED;
    for (uint32_t i = 0; i < TN_COUNT(types); i++) {
        if (tn_string_is(attrs->cast_to, types[i].name)) out->to = types[i].dtype;
    }
    if (out->to == TN_UNDEFINED)
        return bad_text(
            "cast_to", attrs->cast_to, "TO_FLOAT, TO_STRING or TO_INT64", diag);
    out->sparse = tn_string_is(attrs->map_form, "SPARSE");
    if (!out->sparse && !tn_string_is(attrs->map_form, "DENSE"))
        return bad_text("map_form", attrs->map_form, "DENSE or SPARSE", diag);
    out->size = attrs->max_map;
    if (out->sparse && (out->size < 1 || out->size > INT32_MAX))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'max_map' is %lld, expected 1 to 2147483647",
            (long long)out->size);
    return TN_OK;
}

static tn_status infer_cast(const struct tn_infer *infer) {
    struct cast_attrs attrs;
    struct cast cast;
    TN_TRY(TN_ATTRS_READ(cast, infer->node, &attrs, infer->diag));
    TN_TRY(read_cast(&attrs, &cast, infer->diag));
    const int64_t dims[] = {1, cast.sparse ? cast.size : TN_DIM_UNKNOWN};
    return tn_infer_set(infer, 0, cast.to, 2, dims);
}

static void destroy_cast(void *kernel) {
    struct cast *self = kernel;
    if (self && self->c) freelocale(self->c);
    tn_kernel_destroy(kernel);
}

static tn_status create_cast(const struct tn_kernel_ctx *ctx, void **out) {
    struct cast_attrs attrs;
    TN_TRY(TN_ATTRS_READ(cast, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct cast), out));
    struct cast *self = *out;
    tn_status status = read_cast(&attrs, self, ctx->diag);
    self->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (status == TN_OK && self->c) return TN_OK;
    if (status == TN_OK)
        status = tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for the C locale");
    destroy_cast(self);
    *out = NULL;
    return status;
}

/* Fewest digits that read back: 0.1 is "0.1". */
static uint64_t write_float(const struct cast *self, float x, char *text) {
    int n = 0;
    if (isnan(x)) return (uint64_t)snprintf(text, TEXT, "nan");
    locale_t old = uselocale(self->c);
    for (int digits = 1; digits <= 9; digits++) {
        n = snprintf(text, TEXT, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x) break;
    }
    uselocale(old);
    return (uint64_t)n;
}

/* A text as a number; all of it must be one. */
static tn_status read_text(const struct cast *self, const struct tn_string *text,
    double *out_real, int64_t *out_integer, struct tn_diag *diag) {
    enum { LONGEST = 400 };
    char buffer[LONGEST + 1], *end = buffer;
    size_t n = text->size < LONGEST ? (size_t)text->size : LONGEST;
    if (n) memcpy(buffer, text->data, n);
    buffer[n] = '\0';
    errno = 0;
    if (out_integer)
        *out_integer = strtoll(buffer, &end, 10);
    else
        *out_real = strtod_l(buffer, &end, self->c);
    bool fits = !out_integer || errno != ERANGE;
    if (n && fits && end == buffer + n && text->size <= LONGEST) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "the map's value '%.40s' is no %s", buffer,
        out_integer ? "integer" : "number");
}

/* NaN is 0 and what does not fit saturates, as everywhere. */
static int64_t to_int64(float x) {
    if (isnan(x)) return 0;
    if (x >= 9223372036854775808.0f) return INT64_MAX;
    return x < -9223372036854775808.0f ? INT64_MIN : (int64_t)x;
}

/* Value i of the map into element `at` of y. */
static tn_status cast_value(const struct cast *self, const struct tn_run_args *args,
    const struct tn_tensor *values, int64_t i, struct tn_tensor *y, int64_t at) {
    struct tn_diag *diag = args->run->diag;
    const struct tn_string *text = (const struct tn_string *)values->data + i;
    float real = values->dtype == TN_FLOAT ? ((const float *)values->data)[i] : 0.0f;
    if (self->to == TN_STRING) {
        struct tn_string *out = (struct tn_string *)y->data + at;
        if (values->dtype == TN_STRING) {
            *out = *text;
            return TN_OK;
        }
        char *bytes = args->run->alloc(args->run, TEXT, 1);
        if (!bytes) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a text");
        *out = (struct tn_string){bytes, write_float(self, real, bytes)};
        return TN_OK;
    }
    if (self->to == TN_INT64) {
        int64_t *out = (int64_t *)y->data + at;
        if (values->dtype == TN_STRING) return read_text(self, text, NULL, out, diag);
        *out = to_int64(real);
        return TN_OK;
    }
    double number = (double)real;
    if (values->dtype == TN_STRING) TN_TRY(read_text(self, text, &number, NULL, diag));
    ((float *)y->data)[at] = (float)number;
    return TN_OK;
}

struct pair {
    int64_t key, at;
};

static int compare_pairs(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at; /* equal ones stay in their order */
}

/* Positions in ascending order of the keys. */
static tn_status sort_keys(
    const struct tn_run_args *args, const struct tn_tensor *keys, struct pair **out) {
    int64_t n = keys->dims[0];
    struct pair *pairs = args->run->alloc(args->run, (uint64_t)n * sizeof *pairs + 1, 16);
    if (!pairs)
        return tn_fail(
            args->run->diag, TN_OUT_OF_MEMORY, "no memory for %lld keys", (long long)n);
    for (int64_t i = 0; i < n; i++)
        pairs[i] = (struct pair){((const int64_t *)keys->data)[i], i};
    if (n) qsort(pairs, (size_t)n, sizeof *pairs, compare_pairs);
    *out = pairs;
    return TN_OK;
}

static tn_status check_sparse(
    const struct cast *self, const struct pair *pairs, int64_t n, struct tn_diag *diag) {
    if (n == 0 || (pairs[0].key >= 0 && pairs[n - 1].key < self->size)) return TN_OK;
    int64_t key = pairs[0].key < 0 ? pairs[0].key : pairs[n - 1].key;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "the map's key %lld is outside the row of max_map = %lld elements",
        (long long)key, (long long)self->size);
}

static tn_status compute_cast(void *kernel, const struct tn_run_args *args) {
    const struct cast *self = kernel;
    const struct tn_map *map;
    struct pair *pairs;
    struct tn_tensor *y;
    TN_TRY(map_in(args, &map));
    if (map->keys.dtype != TN_INT64)
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "the map's keys are no int64");
    TN_TRY(sort_keys(args, &map->keys, &pairs));
    int64_t n = map->keys.dims[0], dims[] = {1, self->sparse ? self->size : n};
    if (self->sparse) TN_TRY(check_sparse(self, pairs, n, args->run->diag));
    TN_TRY(tn_out_shaped(args, 0, self->to, dims, 2, &y));
    if (self->sparse) memset(y->data, 0, (size_t)dims[1] * (tn_dtype_bits(self->to) / 8));
    for (int64_t i = 0; i < n; i++)
        TN_TRY(cast_value(
            self, args, &map->values, pairs[i].at, y, self->sparse ? pairs[i].key : i));
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

#define TEXT_OR_FLOAT (TN_BIT(STRING) | TN_BIT(FLOAT))
#define BY_NUMBER (TN_BIT(STRING) | TN_BIT(FLOAT) | TN_BIT(DOUBLE))
#define BY_STRING (TN_BIT(INT64) | TN_BIT(FLOAT) | TN_BIT(DOUBLE))
#define TYPES_DICT (TN_BIT(INT64) | TN_BIT(FLOAT) | TN_BIT(DOUBLE) | TN_BIT(STRING))

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "DictVectorizer"), TN_VERSIONS({1}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}),
        TN_TYPE_VARS({"T1", .maps = BY_NUMBER | TN_STRING_KEYS(BY_STRING)}, {"T2", TYPES_DICT}),
        TN_ATTRS(dict), .infer = infer_dict},
    {TN_DEF(TN_ML_DOMAIN, "CastMap"), TN_VERSIONS({1}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}),
        TN_TYPE_VARS({"T1", .maps = TEXT_OR_FLOAT}, {"T2", TEXT_OR_FLOAT | TN_BIT(INT64)}),
        TN_ATTRS(cast), .infer = infer_cast},
};

static const struct tn_kernel_def kernels[] = {
    {TN_ML_KERNEL("DictVectorizer", 1, destroy_dict),
        .create = create_dict, .compute = compute_dict},
    {TN_ML_KERNEL("CastMap", 1, destroy_cast), .create = create_cast, .compute = compute_cast},
};
/* clang-format on */

TN_FAMILY(dict);
