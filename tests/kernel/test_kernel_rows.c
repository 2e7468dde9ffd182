/* Kernels that reduce or normalise a run: softmax, norm, reduce. Expected values are plain
 * loops in double; every level must give the bits of the scalar level. */
#include "norm.h"
#include "reduce_rows.h"
#include "softmax.h"
#include "test_kernel.h"

#include <math.h>
#include <string.h>

static const size_t lengths[] = {1000, 4095, 4096, 4097, 10007};
enum { SHORT = 130, LONGS = sizeof(lengths) / sizeof(lengths[0]) };

/* The i-th length to try, 0 … SHORT and then long ones. */
static size_t length_at(size_t i) {
    return i <= SHORT ? i : lengths[i - SHORT - 1];
}

static size_t length_count(const struct kernel_run *run) {
    return run->quick ? 70 : SHORT + 1 + LONGS;
}

static void check_softmax(struct kernel_run *run, tn_softmax_fn *function,
    tn_softmax_fn *reference, size_t n, bool logarithm) {
    kernel_case(run, "%ssoftmax of %zu", logarithm ? "log " : "", n);
    float *src = kernel_output(run, n), *dst = kernel_output(run, n),
          *other = kernel_output(run, n);
    double *want = kernel_doubles(run, n), *bound = kernel_doubles(run, n);
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        src[i] = kernel_random_f32(run, -30.0f, 30.0f);
        max = fmax(max, (double)src[i]);
    }
    for (size_t i = 0; i < n; i++)
        sum += exp((double)src[i] - max);
    for (size_t i = 0; i < n; i++) {
        double distance = (double)src[i] - max;
        want[i] = logarithm ? distance - log(sum) : exp(distance) / sum;
        bound[i] = logarithm ? 0x1p-22 * (1 - distance + log(sum))
                             : want[i] * 0x1p-24 * (8 - distance);
    }
    function(dst, src, n);
    reference(other, src, n);
    kernel_check_rows(run, dst, n, 1, n, want, bound);
    kernel_check_same(run, dst, other, n * sizeof(float));
    function(src, src, n);
    kernel_check_same(run, src, dst, n * sizeof(float));
}

static void check_softmax_special(struct kernel_run *run, tn_softmax_fn *function) {
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (size_t v = 0; v < 3; v++) {
        for (size_t at = 0; at < 100; at += 9) {
            float row[100];
            kernel_case(run, "softmax with %g at %zu", (double)values[v], at);
            for (size_t i = 0; i < 100; i++)
                row[i] = v == 2 ? -INFINITY : (float)i;
            row[at] = values[v];
            function(row, row, 100);
            bool all = true;
            for (size_t i = 0; i < 100; i++)
                all = all && isnan(row[i]);
            kernel_check(run, all, "expected NaN everywhere");
        }
    }
    float row[3] = {-INFINITY, 0.0f, -INFINITY};
    kernel_case(run, "softmax with -inf");
    function(row, row, 3);
    kernel_check(run, row[0] == 0 && row[1] == 1 && row[2] == 0, "expected 0 1 0");
}

void test_softmax(struct kernel_run *run) {
    struct tn_softmax_kernels kernels, reference;
    tn_softmax_kernels_init(&kernels, run->isa);
    tn_softmax_kernels_init(&reference, TN_ISA_SCALAR);
    for (size_t i = 0; i < length_count(run); i++) {
        check_softmax(run, kernels.softmax, reference.softmax, length_at(i), false);
        check_softmax(
            run, kernels.log_softmax, reference.log_softmax, length_at(i), true);
    }
    check_softmax_special(run, kernels.softmax);
}

/* Values about an offset that is large against their spread. */
static void check_norm(struct kernel_run *run, const struct tn_norm_kernels *kernels,
    const struct tn_norm_kernels *reference, size_t n, int form) {
    const double offset = form & 4 ? 1000.0 : 0.0, epsilon = (double)1e-5f;
    const bool rms = (form & 8) != 0;
    kernel_case(run, "%s norm of %zu, form %d", rms ? "rms" : "layer", n, form);
    float *src = kernel_output(run, n), *dst = kernel_output(run, n),
          *other = kernel_output(run, n);
    const float *scale = form & 1 ? kernel_input(run, n) : NULL;
    const float *bias = form & 2 ? kernel_input(run, n) : NULL;
    double *want = kernel_doubles(run, n), *bound = kernel_doubles(run, n);
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        src[i] = (float)offset + kernel_random_f32(run, -2.0f, 2.0f);
        mean += rms ? 0 : (double)src[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        squares += ((double)src[i] - mean) * ((double)src[i] - mean);
    double inverse = 1 / sqrt(squares / (double)n + epsilon);
    for (size_t i = 0; i < n; i++) {
        double y = ((double)src[i] - mean) * inverse;
        double s = scale ? (double)scale[i] : 1, b = bias && !rms ? (double)bias[i] : 0;
        want[i] = y * s + b;
        bound[i] = 0x1p-21 * (fabs(y * s) + fabs(b) + fabs(s) * 0x1p-2);
    }
    struct tn_norm_stats stats = {0, 0};
    for (int twice = 0; twice < 2; twice++) {
        const struct tn_norm_kernels *table = twice ? reference : kernels;
        float *out = twice ? other : dst;
        stats = rms ? table->rms(out, src, n, scale, 1e-5f)
                    : table->layer(out, src, n, scale, bias, 1e-5f);
    }
    kernel_check_rows(run, dst, n, 1, n, want, bound);
    kernel_check_same(run, dst, other, n * sizeof(float));
    if (n == 0) return;
    kernel_check(run, fabs((double)stats.mean - mean) <= 1e-6 * (1 + fabs(mean)), "mean");
    kernel_check(run, fabs((double)stats.inverse / inverse - 1) < 1e-6, "inverse");
    if (rms)
        kernels->rms(src, src, n, scale, 1e-5f);
    else
        kernels->layer(src, src, n, scale, bias, 1e-5f);
    kernel_check_same(run, src, dst, n * sizeof(float));
}

static void check_moments(
    struct kernel_run *run, const struct tn_norm_kernels *kernels, size_t n) {
    kernel_case(run, "moments of %zu", n);
    float *src = kernel_output(run, n);
    double mean = 0, squares = 0, got_mean, got_squares;
    for (size_t i = 0; i < n; i++) {
        src[i] = 100.0f + kernel_random_f32(run, -1.0f, 1.0f);
        mean += (double)src[i] / (double)(n ? n : 1);
    }
    for (size_t i = 0; i < n; i++)
        squares += ((double)src[i] - mean) * ((double)src[i] - mean);
    kernels->moments(src, n, &got_mean, &got_squares);
    kernel_check(run, fabs(got_mean - mean) <= 1e-5, "mean");
    kernel_check(run, fabs(got_squares - squares) <= 1e-5 * (squares + 1e-3), "squares");
}

static void check_affine(
    struct kernel_run *run, const struct tn_norm_kernels *kernels, size_t n) {
    kernel_case(run, "affine of %zu", n);
    float *src = kernel_input(run, n), *scale = kernel_input(run, n),
          *bias = kernel_input(run, n), *dst = kernel_output(run, n);
    bool same = true;
    kernels->affine(dst, src, n, scale, bias);
    for (size_t i = 0; i < n; i++)
        same = same && dst[i] == fmaf(src[i], scale[i], bias[i]);
    kernels->affine_scalar(src, dst, n, 1.5f, -0.25f);
    for (size_t i = 0; i < n; i++)
        same = same && src[i] == fmaf(dst[i], 1.5f, -0.25f);
    kernel_check(run, same, "wrong value");
}

void test_norm(struct kernel_run *run) {
    struct tn_norm_kernels kernels, reference;
    tn_norm_kernels_init(&kernels, run->isa);
    tn_norm_kernels_init(&reference, TN_ISA_SCALAR);
    for (size_t i = 0; i < length_count(run); i++) {
        for (int form = 0; form < 16; form++)
            check_norm(run, &kernels, &reference, length_at(i), form);
        check_moments(run, &kernels, length_at(i));
        check_affine(run, &kernels, length_at(i));
    }
}

/* f32 values of which the reductions neither overflow nor vanish. */
static double reduce_step(int op, double acc, double x) {
    switch (op) {
    case TN_REDUCE_SUM: return acc + x;
    case TN_REDUCE_L1: return acc + fabs(x);
    case TN_REDUCE_SUMSQ: return acc + x * x;
    case TN_REDUCE_PROD: return acc * x;
    case TN_REDUCE_MAX: return isnan(x) || x > acc ? x : acc;
    default: return isnan(x) || x < acc ? x : acc;
    }
}

static const double starts[TN_REDUCE_COUNT] = {0, 0, 0, 1, -INFINITY, INFINITY};

static void check_row_f32(struct kernel_run *run, const struct tn_reduce_kernels *kernels,
    const struct tn_reduce_kernels *reference, int op, size_t n) {
    kernel_case(run, "reduction %d of %zu f32", op, n);
    float *src = kernel_output(run, n), *dst = kernel_output(run, 1),
          *other = kernel_output(run, 1);
    double want = starts[op], size = 0;
    for (size_t i = 0; i < n; i++) {
        src[i] = kernel_random_f32(run, -1.0f, 1.0f);
        if (op == TN_REDUCE_PROD) src[i] = 1.0f + src[i] * 0.01f;
        want = reduce_step(op, want, (double)src[i]);
        size += fabs((double)src[i]);
    }
    /* 64 additions in a row at most, and 6 to join them */
    double bound = op >= TN_REDUCE_MAX ? 0 : 0x1p-24 * 70 * (1 + size);
    if (op == TN_REDUCE_PROD) bound = 0x1p-24 * (double)(n + 2) * fabs(want);
    kernels->row[op][TN_ELEM_F32](dst, src, n);
    reference->row[op][TN_ELEM_F32](other, src, n);
    kernel_check_rows(run, dst, 1, 1, 1, &want, &bound);
    kernel_check_same(run, dst, other, sizeof(float));
    if (n > 0 && op >= TN_REDUCE_MAX) {
        src[kernel_random(run) % n] = NAN;
        kernels->row[op][TN_ELEM_F32](dst, src, n);
        kernel_check(run, isnan(*dst), "NaN was lost");
    }
}

static void check_column_f32(struct kernel_run *run,
    const struct tn_reduce_kernels *kernels, const struct tn_reduce_kernels *reference,
    int op, size_t rows, size_t n) {
    const size_t step = n + 3;
    kernel_case(run, "reduction %d of %zu rows of %zu f32", op, rows, n);
    float *src = kernel_output(run, rows * step), *dst = kernel_output(run, n),
          *other = kernel_output(run, n);
    double *want = kernel_doubles(run, n), *bound = kernel_doubles(run, n);
    for (size_t j = 0; j < n; j++) {
        double size = 1;
        want[j] = starts[op];
        for (size_t i = 0; i < rows; i++) {
            float x = kernel_random_f32(run, -1.0f, 1.0f);
            if (op == TN_REDUCE_PROD) x = 1.0f + x * 0.01f;
            src[i * step + j] = x;
            want[j] = reduce_step(op, want[j], (double)x);
            size += fabs((double)x);
        }
        bound[j] = op >= TN_REDUCE_MAX ? 0 : 0x1p-24 * 66 * size;
    }
    kernels->column[op][TN_ELEM_F32](dst, src, (ptrdiff_t)step, rows, n);
    reference->column[op][TN_ELEM_F32](other, src, (ptrdiff_t)step, rows, n);
    kernel_check_rows(run, dst, n, 1, n, want, bound);
    kernel_check_same(run, dst, other, n * sizeof(float));
}

/* Small whole numbers, whose sums and products every type holds or wraps alike. */
static const struct {
    int elem, bits;
    bool is_signed;
} whole_types[] = {{TN_ELEM_I8, 8, true}, {TN_ELEM_I16, 16, true},
    {TN_ELEM_I32, 32, true}, {TN_ELEM_I64, 64, true}, {TN_ELEM_U8, 8, false},
    {TN_ELEM_U16, 16, false}, {TN_ELEM_U32, 32, false}, {TN_ELEM_U64, 64, false}};
enum { WHOLE_TYPES = sizeof(whole_types) / sizeof(whole_types[0]) };

static uint64_t whole_step(int op, uint64_t acc, int64_t x) {
    const int64_t a = (int64_t)acc;
    switch (op) {
    case TN_REDUCE_SUM: return acc + (uint64_t)x;
    case TN_REDUCE_L1: return acc + (uint64_t)(x < 0 ? -x : x);
    case TN_REDUCE_SUMSQ: return acc + (uint64_t)x * (uint64_t)x;
    case TN_REDUCE_PROD: return acc * (uint64_t)x;
    case TN_REDUCE_MAX: return x > a ? (uint64_t)x : acc;
    default: return x < a ? (uint64_t)x : acc;
    }
}

static void check_whole(struct kernel_run *run, const struct tn_reduce_kernels *kernels,
    size_t t, int op, size_t n) {
    const size_t size = (size_t)whole_types[t].bits / 8;
    const int elem = whole_types[t].elem;
    kernel_case(run, "reduction %d of %zu elements of type %d", op, n, elem);
    char *src = kernel_memory(run, n * size, size), *dst = kernel_memory(run, size, size),
         *column = kernel_memory(run, size, size);
    uint64_t want = op == TN_REDUCE_PROD;
    for (size_t i = 0; i < n; i++) {
        int64_t x = (int64_t)(kernel_random(run) % 11) + 1;
        if (whole_types[t].is_signed) x -= 6;
        memcpy(src + i * size, &x, size);
        want = i == 0 && op >= TN_REDUCE_MAX ? (uint64_t)x : whole_step(op, want, x);
    }
    if (n == 0 && op == TN_REDUCE_MAX)
        want = whole_types[t].is_signed ? ~UINT64_C(0) << (whole_types[t].bits - 1) : 0;
    if (n == 0 && op == TN_REDUCE_MIN)
        want = ~UINT64_C(0) >> (64 - whole_types[t].bits + whole_types[t].is_signed);
    kernels->row[op][elem](dst, src, n);
    kernels->column[op][elem](column, src, 1, n, 1);
    kernel_check_same(run, dst, &want, size);
    kernel_check_same(run, column, &want, size);
}

static void check_f64(
    struct kernel_run *run, const struct tn_reduce_kernels *kernels, int op, size_t n) {
    kernel_case(run, "reduction %d of %zu f64", op, n);
    double *src = kernel_doubles(run, n), got, column;
    double want = starts[op], size = 1;
    for (size_t i = 0; i < n; i++) {
        src[i] = (double)kernel_random_f32(run, -1.0f, 1.0f);
        if (op == TN_REDUCE_PROD) src[i] = 1 + src[i] * 0.01;
        want = reduce_step(op, want, src[i]);
        size += fabs(src[i]);
    }
    kernels->row[op][TN_ELEM_F64](&got, src, n);
    kernels->column[op][TN_ELEM_F64](&column, src, 1, n, 1);
    kernel_check(run, got == want || fabs(got - want) < 1e-13 * size, "row");
    kernel_check(run, column == want || fabs(column - want) < 1e-13 * size, "column");
}

void test_reduce(struct kernel_run *run) {
    struct tn_reduce_kernels kernels, reference;
    tn_reduce_kernels_init(&kernels, run->isa);
    tn_reduce_kernels_init(&reference, TN_ISA_SCALAR);
    for (int op = 0; op < TN_REDUCE_COUNT; op++) {
        for (size_t i = 0; i < length_count(run); i++) {
            check_row_f32(run, &kernels, &reference, op, length_at(i));
            check_f64(run, &kernels, op, length_at(i));
            for (size_t t = 0; t < WHOLE_TYPES; t++)
                check_whole(run, &kernels, t, op, length_at(i));
        }
        for (size_t n = 0; n <= 67; n += run->quick ? 7 : 1) {
            for (size_t rows = 0; rows < 200; rows += 33)
                check_column_f32(run, &kernels, &reference, op, rows, n);
        }
    }
}
