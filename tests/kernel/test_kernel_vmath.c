/* Vector mathematics against the C library's double functions: f32 inputs at a stride
 * through all bit patterns (every one of them with --all), in ulp of the true result. */
#include "test_kernel.h"
#include "vmath.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 4096 };

static const float parameters[2] = {1.25f, 0.75f};

static double logistic(double u) {
    return u >= 0 ? 1 / (1 + exp(-u)) : exp(u) / (1 + exp(u));
}
/* x times a factor that vanishes at -inf; the limit, where the product would be NaN. */
static double vanishing(double x, double factor) {
    return factor == 0 ? -0.0 : x * factor;
}
static double ref_exp(double x) {
    return exp(x);
}
static double ref_log(double x) {
    return log(x);
}
static double ref_log1p(double x) {
    return log1p(x);
}
static double ref_expm1(double x) {
    return expm1(x);
}
static double ref_erf(double x) {
    return erf(x);
}
static double ref_tanh(double x) {
    return tanh(x);
}
static double ref_sin(double x) {
    return sin(x);
}
static double ref_cos(double x) {
    return cos(x);
}
static double ref_sigmoid(double x) {
    return logistic(x);
}
static double ref_gelu(double x) {
    return vanishing(x, 0.5 * erfc(-x / sqrt(2)));
}
static double ref_gelu_tanh(double x) {
    double u = 2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
    return vanishing(x, u < -700 ? 0 : logistic(u));
}
static double ref_silu(double x) {
    return vanishing(x, x < -700 ? 0 : logistic(x));
}
static double ref_softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double ref_mish(double x) {
    return vanishing(x, tanh(ref_softplus(x)));
}
static double ref_elu(double x) {
    return x > 0 ? x : (double)parameters[0] * expm1(x);
}
static double ref_celu(double x) {
    return x > 0 ? x : (double)parameters[0] * expm1(x / (double)parameters[0]);
}
static double ref_selu(double x) {
    return (double)parameters[1] * ref_elu(x);
}
static double ref_swish(double x) {
    double u = x * (double)parameters[0];
    return vanishing(x, u < -700 ? 0 : logistic(u));
}

/* X(NAME, name): rows that the C library serves for f32 too */
#define LIBM_LIST(X)                                                                     \
    X(TAN, tan)                                                                          \
    X(ASIN, asin)                                                                        \
    X(ACOS, acos)                                                                        \
    X(ATAN, atan)                                                                        \
    X(SINH, sinh)                                                                        \
    X(COSH, cosh)                                                                        \
    X(ASINH, asinh)                                                                      \
    X(ACOSH, acosh)                                                                      \
    X(ATANH, atanh)

struct row {
    const char *name;
    enum tn_vmath id;
    double (*reference)(double x);
    double bound; /* ulp */
    bool own;     /* an algorithm of ours */
};

/* clang-format off */
static const struct row rows[] = {
#define F(NAME, name, params, bound) {#name, TN_VMATH_##NAME, ref_##name, bound, true},
#include "vmath.inc"
#undef F
#define X(NAME, name) {#name, TN_VMATH_##NAME, name, 4.0, false},
    LIBM_LIST(X)
#undef X
};
/* clang-format on */
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const float specials[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f,
    -0x1p-126f, 0x1.fffffep-127f, 1.0f, -1.0f, 0.5f, -0.5f, 2.0f, -2.0f, 3.0f, -3.0f,
    10.0f, -10.0f, 88.72284f, 88.72285f, -103.97f, -104.0f, -87.34f, 0x1.fffffep127f,
    -0x1.fffffep127f, (float)INFINITY, -(float)INFINITY, (float)NAN, 0x1p30f, 0x1p31f,
    16777216.0f, 1e10f};
enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };

/* Error of an f32 result in ulp of the true value; a wrong class or sign is infinite. */
static double ulp_error(float got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(want)) return (double)got == want ? 0 : INFINITY;
    if (got == 0 && !signbit(got) != !signbit(want)) return INFINITY;
    if (isinf(got) && copysign(1, want) * (double)got > 0 && fabs(want) >= 0x1p128)
        return 0;
    int exponent;
    frexp(want, &exponent);
    double unit = ldexp(1, exponent < -125 ? -149 : exponent - 24);
    double value = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    if (isinf(got) && fabs(want) < 0x1.fffffep127) return INFINITY;
    return fabs(value - want) / unit;
}

static bool same_float(float a, float b) {
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void check_block(struct kernel_run *run, const struct row *row, const float *src,
    const float *got, size_t n, bool *failed) {
    for (size_t i = 0; i < n && !*failed; i++) {
        double want = row->reference((double)src[i]);
        double error = ulp_error(got[i], want);
        if (error > row->bound) {
            *failed = true;
            kernel_case(run, "%s(%a) is %a, expected %a, %.3f ulp", row->name,
                (double)src[i], (double)got[i], want, error);
            kernel_check(run, false, "error above the row's bound");
        }
    }
}

/* Through the bit patterns at a stride: within the bound, and the bits of `other`. */
static void sweep(struct kernel_run *run, const struct row *row, tn_unary_fn *function,
    tn_unary_fn *other, uint64_t stride) {
    static float src[BLOCK], got[BLOCK], again[BLOCK];
    bool failed = false;
    kernel_case(run, "%s", row->name);
    for (uint64_t at = 0; at <= UINT32_MAX && !failed;) {
        size_t n = 0;
        for (; n < BLOCK && at <= UINT32_MAX; n++, at += stride) {
            uint32_t bits = (uint32_t)at;
            memcpy(&src[n], &bits, sizeof(bits));
        }
        function(got, src, n, parameters);
        check_block(run, row, src, got, n, &failed);
        other(again, src, n, parameters);
        for (size_t i = 0; i < n && !failed; i++)
            failed = !same_float(got[i], again[i]);
    }
    kernel_check(run, !failed, "levels differ, or an error is above its bound");
}

/* Every length up to 67, in place and not, between canaries; values do not depend on where
 * they stand. */
static void check_lengths(struct kernel_run *run, const struct row *row,
    tn_unary_fn *function, tn_unary_fn *reference) {
    for (size_t n = 0; n <= 67; n++) {
        kernel_case(run, "%s of %zu elements", row->name, n);
        float *src = kernel_output(run, n), *dst = kernel_output(run, n);
        bool same = true;
        for (size_t i = 0; i < n; i++)
            src[i] = i % 3 == 0 ? specials[kernel_random(run) % SPECIALS]
                                : kernel_random_f32(run, -12.0f, 12.0f);
        function(dst, src, n, parameters);
        for (size_t i = 0; i < n; i++) {
            float one;
            reference(&one, &src[i], 1, parameters);
            same = same && same_float(one, dst[i]);
        }
        function(src, src, n, parameters);
        for (size_t i = 0; i < n; i++)
            same = same && same_float(src[i], dst[i]);
        kernel_check(run, same, "values depend on level, place or aliasing");
    }
}

static void check_specials(
    struct kernel_run *run, const struct row *row, tn_unary_fn *function) {
    float got[SPECIALS];
    bool failed = false;
    function(got, specials, SPECIALS, parameters);
    check_block(run, row, specials, got, SPECIALS, &failed);
}

static void check_f64(
    struct kernel_run *run, const struct row *row, tn_unary_fn *function) {
    const double wide_parameters[2] = {(double)parameters[0], (double)parameters[1]};
    double src[SPECIALS], got[SPECIALS];
    for (size_t i = 0; i < SPECIALS; i++)
        src[i] = (double)specials[i];
    function(got, src, SPECIALS, wide_parameters);
    for (size_t i = 0; i < SPECIALS; i++) {
        double want = row->reference(src[i]);
        kernel_case(
            run, "f64 %s(%a) is %a, expected %a", row->name, src[i], got[i], want);
        bool same = isnan(want) ? isnan(got[i])
                                : got[i] == want ||
                                      fabs(got[i] - want) <= fabs(want) * 1e-13 + 1e-300;
        kernel_check(run, same, "f64 value is wrong");
    }
}

static void check_pow(
    struct kernel_run *run, tn_binary_fn *function, tn_binary_fn *other) {
    float base[SPECIALS], exponent[SPECIALS], got[SPECIALS], again[SPECIALS];
    for (int round = 0; round < (run->quick ? 2000 : 200000); round++) {
        /* first the grid of special values, then random pairs */
        ptrdiff_t step = round < SPECIALS ? 0 : 1;
        for (size_t i = 0; i < SPECIALS; i++) {
            base[i] = specials[i];
            exponent[i] = specials[(size_t)round % SPECIALS];
            if (round >= SPECIALS) {
                base[i] = kernel_random_f32(run, 0.0f, 4.0f);
                exponent[i] = kernel_random_f32(run, -60.0f, 60.0f);
                if (i % 4 == 0) base[i] = -base[i];
                if (i % 2 == 0) exponent[i] = rintf(exponent[i] / 4);
            }
        }
        function(got, base, 1, exponent, step, SPECIALS);
        other(again, base, 1, exponent, step, SPECIALS);
        for (size_t i = 0; i < SPECIALS; i++) {
            double want = pow((double)base[i], (double)exponent[i]);
            if (ulp_error(got[i], want) <= 1.0 && same_float(got[i], again[i])) continue;
            kernel_case(run, "pow(%a, %a) is %a, expected %a", (double)base[i],
                (double)exponent[i], (double)got[i], want);
            kernel_check(run, false, "above 1 ulp, or levels differ");
            return;
        }
    }
    kernel_check(run, true, "");
}

static void check_pow_steps(struct kernel_run *run, tn_binary_fn *function) {
    static const ptrdiff_t steps[] = {0, 1, 2, -1};
    for (size_t n = 0; n <= 35; n++) {
        for (int form = 0; form < 16; form++) {
            ptrdiff_t step_a = steps[form / 4], step_b = steps[form % 4];
            float a[80], b[80];
            kernel_case(run, "pow of %zu elements, steps %td and %td", n, step_a, step_b);
            float *dst = kernel_output(run, n);
            for (int i = 0; i < 80; i++) {
                a[i] = 1.0f + (float)i;
                b[i] = (float)(i % 5) - 2.0f;
            }
            const float *from_a = step_a < 0 ? a + 79 : a,
                        *from_b = step_b < 0 ? b + 79 : b;
            function(dst, from_a, step_a, from_b, step_b, n);
            bool same = true;
            for (size_t i = 0; i < n; i++) {
                double want = pow((double)from_a[(ptrdiff_t)i * step_a],
                    (double)from_b[(ptrdiff_t)i * step_b]);
                same = same && ulp_error(dst[i], want) <= 1.0;
            }
            kernel_check(run, same, "wrong element");
        }
    }
}

void test_vmath(struct kernel_run *run) {
    struct tn_vmath_kernels kernels, below, reference;
    tn_vmath_kernels_init(&kernels, run->isa);
    tn_vmath_kernels_init(&reference, TN_ISA_SCALAR);
    tn_vmath_kernels_init(&below, run->isa == 0 ? 0 : (enum tn_isa)(run->isa - 1));
    const uint64_t stride = run->all ? 1 : run->quick ? 400009 : 9973;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        tn_unary_fn *function = kernels.f32[row->id];
        check_specials(run, row, function);
        check_lengths(run, row, function, reference.f32[row->id]);
        check_f64(run, row, kernels.f64[row->id]);
        /* every input: only where a level brings rows of its own, and fast ones */
        bool raised = row->own && function != below.f32[row->id];
        if (!run->all || (raised && run->isa > TN_ISA_AVX2))
            sweep(run, row, function, below.f32[row->id], stride);
    }
    check_pow(run, kernels.pow_f32, reference.pow_f32);
    check_pow_steps(run, kernels.pow_f32);
}
