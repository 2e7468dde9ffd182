/* The matrix product as a service for other plugins ("tenon.draft.gemm/1"): float on the
 * packed panels of kernels/gemm.h, double on panels of our own. */
#include "gemm_service.h"

#include "cpu.h"
#include "ops/product.h"

#include <string.h>

/* ---- double ---------------------------------------------------------------------------- */

enum { PANEL = TN_GEMM_F64_NR, ROWS = TN_GEMM_F64_ROWS };

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static void pack_f64(const struct tn_gemm_matrix *b, double *dst) {
    const double *src = b->data;
    for (uint64_t p = 0; p < b->n; p += PANEL) {
        for (uint64_t r = 0; r < b->k; r++) {
            for (uint64_t j = 0; j < PANEL; j++)
                *dst++ =
                    p + j < b->n ? src[r * b->row_stride + (p + j) * b->col_stride] : 0.0;
        }
    }
}

struct job_f64 {
    const struct tn_gemm_product *product;
    tn_gemm_f64_tile_fn *tile;
};

/* Up to ROWS rows by one panel. */
static void run_tile(
    const struct job_f64 *job, uint64_t row, uint64_t rows, uint64_t col) {
    const struct tn_gemm_product *g = job->product;
    double sums[ROWS][PANEL];
    const double *a[ROWS], *bias = g->bias;
    for (uint64_t i = 0; i < ROWS; i++)
        a[i] = (const double *)g->a + (row + (i < rows ? i : 0)) * g->lda;
    job->tile(a, (const double *)g->packed + col * g->k, g->k, sums);
    for (uint64_t i = 0; i < rows; i++) {
        double *c = (double *)g->c + (row + i) * g->ldc + col;
        for (uint64_t j = 0; j < PANEL && col + j < g->n; j++)
            c[j] = sums[i][j] + (bias ? bias[col + j] : 0.0);
    }
}

/* Rows inside, so that a panel is read from near memory for all of them. */
static void rows_f64(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job_f64 *job = arg;
    (void)worker;
    for (uint64_t col = 0; col < job->product->n; col += PANEL) {
        for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row += ROWS) {
            uint64_t rows = (uint64_t)end - row < ROWS ? (uint64_t)end - row : ROWS;
            run_tile(job, row, rows, col);
        }
    }
}

static void run_f64(const struct tn__cpu *cpu, const struct tn_gemm_product *g) {
    struct job_f64 job = {g, cpu->gemm_f64.tile};
    double each = (double)g->n * (double)(g->k + 1);
    if (each * (double)g->m < TN_PRODUCT_SMALL) {
        rows_f64(&job, 0, (int64_t)g->m, 0);
        return;
    }
    int64_t grain = (int64_t)(TN_PRODUCT_SMALL / 4 / each / ROWS + 1) * ROWS;
    cpu->host->parallel_for(cpu->host->self, (int64_t)g->m, grain, rows_f64, &job);
}

/* ---- float ----------------------------------------------------------------------------- */

static void run_f32(const struct tn__cpu *cpu, const struct tn_gemm_product *g) {
    struct tn_product product = {.kernels = &cpu->gemm,
        .gemm = {g->m, g->n, g->k, g->a, g->lda, g->packed, 0, g->c, g->ldc, NULL},
        .epilogue = TN_GEMM_EPILOGUE_INIT,
        .packed = true,
        .batch = 1};
    product.epilogue.bias_col = g->bias;
    tn__product_plan(&product);
    (void)tn__product_run(&product, cpu->host, NULL);
}

/* ---- the table ------------------------------------------------------------------------- */

static uint64_t packed_size(void *self, const struct tn_gemm_matrix *b) {
    const struct tn__cpu *cpu = self;
    if (b->dtype == TN_FLOAT) {
        size_t floats = tn_gemm_packed_size(&cpu->gemm, b->k, b->n);
        return floats > SIZE_MAX / sizeof(float) ? 0 : floats * sizeof(float);
    }
    uint64_t columns = ceil_div(b->n, PANEL) * PANEL;
    if (b->dtype != TN_DOUBLE || b->n > INT64_MAX / PANEL ||
        (columns && b->k > INT64_MAX / sizeof(double) / columns))
        return 0;
    return columns * b->k * sizeof(double);
}

static void pack(void *self, const struct tn_gemm_matrix *b, void *packed) {
    const struct tn__cpu *cpu = self;
    if (b->dtype == TN_DOUBLE)
        pack_f64(b, packed);
    else
        tn__product_pack(&cpu->gemm, cpu->host, packed, b->data, 0, b->row_stride,
            b->col_stride, b->k, b->n, 1);
}

static void run(void *self, const struct tn_gemm_product *product) {
    const struct tn__cpu *cpu = self;
    if (product->m == 0 || product->n == 0) return;
    if (product->dtype == TN_DOUBLE)
        run_f64(cpu, product);
    else
        run_f32(cpu, product);
}

void tn__gemm_service_init(struct tn__cpu *cpu) {
    cpu->gemm_service = (struct tn_gemm_service){.struct_size = TN_GEMM_SERVICE_SIZE,
        .self = cpu,
        .packed_size = packed_size,
        .pack = pack,
        .run = run};
}
