/* GEMM: products of awkward sizes through both drivers with every epilogue, and the
 * promise that an element's bits depend neither on M nor on how the work is split. */
#include "test_kernel.h"

#include "gemm.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct operands {
    struct tn_gemm gemm;
    struct tn_gemm_epilogue epilogue;
    float *b_rows, *b_cols; /* row-major and transposed */
    float *packed;
    float *start; /* first content of C where that is the residual */
};

static double clamp(double x, double lo, double hi) {
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static void expect(struct kernel_run *run, const struct operands *o, const float *c) {
    const struct tn_gemm *g = &o->gemm;
    const struct tn_gemm_epilogue *e = &o->epilogue;
    double *want = kernel_doubles(run, g->m * g->n),
           *bound = kernel_doubles(run, g->m * g->n);
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0, base = 0;
            for (size_t k = 0; k < g->k; k++) {
                double x = (double)g->a[i * g->lda + k] * (double)o->b_rows[k * g->n + j];
                sum += x;
                size += fabs(x);
            }
            if (e->bias_col) base += (double)e->bias_col[j];
            if (e->bias_row) base += (double)e->bias_row[i];
            if (o->start)
                base += (double)o->start[i * g->ldc + j];
            else if (e->residual)
                base += (double)e->residual[i * e->ld_residual + j];
            double x = (double)e->alpha * sum + (double)e->beta * base;
            want[i * g->n + j] = clamp(x, (double)e->lo, (double)e->hi);
            bound[i * g->n + j] =
                ((double)g->k + 8) * FLT_EPSILON * (size + fabs(base) + 1e-30) * 1.5;
        }
    }
    kernel_check_rows(run, c, g->ldc, g->m, g->n, want, bound);
}

static void make_b(
    struct kernel_run *run, const struct tn_gemm_kernels *kernels, struct operands *o) {
    const size_t k = o->gemm.k, n = o->gemm.n, half = tn_gemm_panels(kernels, n) / 2;
    o->b_rows = kernel_input(run, k * n);
    o->b_cols = kernel_input(run, k * n);
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < n; j++)
            o->b_cols[j * k + i] = o->b_rows[i * n + j];
    }
    o->packed = kernel_memory(
        run, tn_gemm_packed_size(kernels, k, n) * sizeof(float), TN_GEMM_ALIGN);
    const size_t stride = k * kernels->nr;
    tn_gemm_pack(kernels, o->packed, stride, o->b_rows, n, 1, k, n, 0, half);
    tn_gemm_pack(kernels, o->packed, stride, o->b_cols, 1, k, k, n, half,
        tn_gemm_panels(kernels, n));
}

enum epilogue_kind { PLAIN, BIAS_RELU, GEMM_TERMS, IN_PLACE, EPILOGUES };

static void make_epilogue(
    struct kernel_run *run, struct operands *o, enum epilogue_kind kind) {
    const size_t m = o->gemm.m, n = o->gemm.n;
    struct tn_gemm_epilogue *e = &o->epilogue;
    *e = (struct tn_gemm_epilogue)TN_GEMM_EPILOGUE_INIT;
    if (kind == BIAS_RELU) {
        e->lo = 0;
        e->bias_col = kernel_input(run, n);
    } else if (kind == GEMM_TERMS) {
        e->alpha = 0.75f;
        e->beta = -1.5f;
        e->lo = -2;
        e->hi = 1.25f;
        e->bias_row = kernel_input(run, m);
        e->bias_col = kernel_input(run, n);
        e->ld_residual = n + 1;
        e->residual = kernel_input(run, m * (n + 1));
    }
}

static float *fresh_c(
    struct kernel_run *run, struct operands *o, enum epilogue_kind kind) {
    const size_t count = o->gemm.m ? (o->gemm.m - 1) * o->gemm.ldc + o->gemm.n : 0;
    float *c = kernel_output(run, count);
    o->gemm.c = c;
    o->gemm.epilogue = kind == PLAIN ? NULL : &o->epilogue;
    if (kind == IN_PLACE) {
        o->epilogue.residual = c;
        o->epilogue.ld_residual = o->gemm.ldc;
        if (!o->start) o->start = kernel_input(run, count);
        for (size_t i = 0; i < o->gemm.m; i++) {
            for (size_t j = 0; j < o->gemm.n; j++) {
                c[i * o->gemm.ldc + j] = o->start[i * o->gemm.ldc + j];
            }
        }
    }
    return c;
}

static void same_rows(
    struct kernel_run *run, const struct operands *o, const float *x, const float *y) {
    for (size_t i = 0; i < o->gemm.m; i++) {
        kernel_check_same(
            run, x + i * o->gemm.ldc, y + i * o->gemm.ldc, o->gemm.n * sizeof(float));
    }
}

static void test_product(struct kernel_run *run, const struct tn_gemm_kernels *kernels,
    size_t m, size_t n, size_t k, enum epilogue_kind kind) {
    kernel_case(run, "M %zu N %zu K %zu epilogue %d", m, n, k, (int)kind);
    struct operands o = {.gemm = {.m = m, .n = n, .k = k, .lda = k + 3, .ldc = n + 2}};
    const size_t panels = tn_gemm_panels(kernels, n);
    o.gemm.a = kernel_input(run, m ? (m - 1) * o.gemm.lda + k : 0);
    make_b(run, kernels, &o);
    make_epilogue(run, &o, kind);

    float *whole = fresh_c(run, &o, kind);
    o.gemm.b = o.packed;
    tn_gemm_run(kernels, &o.gemm, 0, m, 0, panels);
    expect(run, &o, whole);

    float *split = fresh_c(run, &o, kind);
    const size_t row = m ? kernel_random(run) % m : 0;
    const size_t panel = panels ? kernel_random(run) % panels : 0;
    tn_gemm_run(kernels, &o.gemm, 0, row, 0, panels);
    tn_gemm_run(kernels, &o.gemm, row, m, panel, panels);
    tn_gemm_run(kernels, &o.gemm, row, m, 0, panel);
    same_rows(run, &o, whole, split);

    for (int transposed = 0; transposed < 2; transposed++) {
        float *plain = fresh_c(run, &o, kind);
        o.gemm.b = transposed ? o.b_cols : o.b_rows;
        o.gemm.ldb = transposed ? k : n;
        if (o.gemm.ldb == 0) continue;
        tn_gemm_plain(kernels, &o.gemm, transposed, 0, row, 0, panels);
        tn_gemm_plain(kernels, &o.gemm, transposed, row, m, 0, panels);
        same_rows(run, &o, whole, plain);
    }
}

/* Row 0 alone must be row 0 of the large product: batch 1 and batch 540 agree. */
static void test_any_m(struct kernel_run *run, const struct tn_gemm_kernels *kernels) {
    const size_t n = 70, k = 600, most = 45;
    kernel_case(run, "one row at any M");
    struct operands o = {.gemm = {.m = most, .n = n, .k = k, .lda = 0, .ldc = n}};
    o.gemm.a = kernel_input(run, k);
    make_b(run, kernels, &o);
    o.gemm.b = o.packed;
    float *first = kernel_output(run, n), *c = kernel_output(run, most * n);
    o.gemm.c = first;
    tn_gemm_run(kernels, &o.gemm, 0, 1, 0, tn_gemm_panels(kernels, n));
    o.gemm.c = c;
    for (size_t m = 1; m <= most; m++) {
        tn_gemm_run(kernels, &o.gemm, 0, m, 0, tn_gemm_panels(kernels, n));
        for (size_t i = 0; i < m; i++) {
            kernel_check_same(run, first, c + i * n, n * sizeof(float));
        }
    }
}

static void post_double(const void *arg, float *const *runs, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < n; j++)
            runs[i][j] *= *(const float *)arg;
    }
}

static void test_post_and_nan(
    struct kernel_run *run, const struct tn_gemm_kernels *kernels) {
    static const float two = 2.0f;
    const size_t m = 19, n = 37, k = 300;
    kernel_case(run, "NaN passes the clamp, post runs once");
    struct operands o = {.gemm = {.m = m, .n = n, .k = k, .lda = k, .ldc = n}};
    float *a = kernel_input(run, m * k);
    o.gemm.a = a;
    make_b(run, kernels, &o);
    o.gemm.b = o.packed;
    make_epilogue(run, &o, BIAS_RELU);
    float *plain = fresh_c(run, &o, BIAS_RELU);
    tn_gemm_run(kernels, &o.gemm, 0, m, 0, tn_gemm_panels(kernels, n));
    float *doubled = fresh_c(run, &o, BIAS_RELU);
    o.epilogue.post = post_double;
    o.epilogue.post_arg = &two;
    a[5 * k + 280] = NAN;
    tn_gemm_run(kernels, &o.gemm, 0, m, 0, tn_gemm_panels(kernels, n));
    for (size_t i = 0; i < m * n; i++) {
        if (i / n == 5) {
            kernel_check(run, isnan(doubled[i]), "a NaN of A did not reach C");
        } else {
            kernel_check(
                run, doubled[i] == 2 * plain[i], "post did not run exactly once");
        }
    }
}

void test_gemm(struct kernel_run *run) {
    static const size_t sizes_m[] = {0, 1, 2, 3, 5, 7, 14, 15, 31, 44};
    static const size_t sizes_n[] = {0, 1, 8, 15, 16, 17, 32, 33, 64, 130};
    static const size_t sizes_k[] = {0, 1, 3, 64, 255, 256, 257, 530};
    struct tn_gemm_kernels kernels;
    tn_gemm_kernels_init(&kernels, run->isa);
    unsigned kind = 0;
    for (size_t i = 0; i < 10; i++) {
        for (size_t j = 0; j < 10; j++) {
            for (size_t l = 0; l < 8; l++) {
                if (run->quick && kernel_random(run) % 4 != 0) continue;
                test_product(run, &kernels, sizes_m[i], sizes_n[j], sizes_k[l],
                    (enum epilogue_kind)(kind++ % EPILOGUES));
            }
        }
    }
    if (!run->quick) {
        for (unsigned e = 0; e < EPILOGUES; e++) {
            test_product(run, &kernels, 450, 70, 700, (enum epilogue_kind)e);
        }
    }
    test_any_m(run, &kernels);
    test_post_and_nan(run, &kernels);
    kernel_check(run, tn_gemm_packed_size(&kernels, SIZE_MAX / 2, 64) == SIZE_MAX,
        "an impossible size was not refused");
}
