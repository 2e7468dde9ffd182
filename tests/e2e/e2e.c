/* What end-to-end tests share: see e2e.h. */
#include "e2e.h"

#include <math.h>
#include <stdio.h>

enum { MOST_OPTIONS = 8 };

const char *e2e_path(const char *path) {
    static char buffers[4][1024];
    static unsigned turn;
    char *out = buffers[turn++ % 4];
    const char *top = getenv("TENON_TEST_SOURCE");
    snprintf(out, sizeof buffers[0], "%s/%s", top ? top : ".", path);
    return out;
}

struct tn_value *e2e_load(const char *path) {
    struct tn_value *value = NULL;
    struct tn_diag diag = {0};
    struct tn_type any = {.rank = -1};
    assert_ok(tensor_file_read(e2e_path(path), NULL, &any, &value, &diag), diag);
    return value;
}

static unsigned pairs(const char *const *options, struct tn_option *out) {
    unsigned n = 0;
    for (; options && options[2 * n] && n < MOST_OPTIONS; n++)
        out[n] = (struct tn_option){options[2 * n], options[2 * n + 1]};
    return n;
}

struct tn_runtime *e2e_runtime(const char *const *options) {
    struct tn_option list[MOST_OPTIONS];
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    struct tn_runtime_options all = {.struct_size = TN_RUNTIME_OPTIONS_SIZE,
        .options = list,
        .n_options = pairs(options, list)};
    assert_ok(tn_runtime_create(&all, &runtime, &diag), diag);
    return runtime;
}

struct tn_session *e2e_session(
    struct tn_runtime *runtime, const char *path, const char *const *options) {
    struct tn_option list[MOST_OPTIONS];
    struct tn_session *session = NULL;
    struct tn_diag diag = {0};
    struct tn_session_options all = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = list,
        .n_options = pairs(options, list)};
    struct tn_model model = {.path = e2e_path(path)};
    assert_ok(tn_session_create(runtime, &model, &all, &session, &diag), diag);
    return session;
}

struct tn_value_ref e2e_rows(const struct tn_value *value, int64_t begin, int64_t end,
    struct tn_tensor *out, int64_t *dims) {
    const struct tn_tensor *all = tn_value_get(value)->as.tensor;
    uint64_t row = all->size / (uint64_t)all->dims[0];
    memcpy(dims, all->dims, all->rank * sizeof *dims);
    dims[0] = end - begin;
    *out = *all;
    out->data = (char *)all->data + (uint64_t)begin * row;
    out->size = (uint64_t)(end - begin) * row;
    out->dims = dims;
    return (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as = {.tensor = out}};
}

double e2e_max_diff(const struct tn_tensor *a, const struct tn_tensor *b) {
    const float *x = a->data, *y = b->data;
    double worst = 0;
    ck_assert_int_eq(a->dtype, TN_FLOAT);
    ck_assert_int_eq(b->dtype, TN_FLOAT);
    ck_assert_uint_eq(a->rank, b->rank);
    for (uint32_t i = 0; i < a->rank; i++)
        ck_assert_int_eq(a->dims[i], b->dims[i]);
    for (uint64_t i = 0, n = number_count(a); i < n; i++) {
        ck_assert(isnan(x[i]) == isnan(y[i]));
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    }
    return worst;
}
