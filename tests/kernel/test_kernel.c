/* Main program of the kernel tests. Usage: test_kernel [--quick | --all] [area]. */
#include "test_kernel.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xA5, CANARY_BYTES = 64, MAX_REPORTS = 20 };
static const uint32_t canary_word = 0xA5A5A5A5u;

struct kernel_buffer {
    struct kernel_buffer *next;
    unsigned char *map;
    size_t mapped;
    const unsigned char *canary;
};

static void fail(struct kernel_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct kernel_run *run, const char *format, ...) {
    static const char *const names[TN_ISA_COUNT] = {
        "scalar", "avx2", "avx512", "avx512vnni"};
    if (run->failures++ >= MAX_REPORTS) return;
    va_list args;
    va_start(args, format);
    printf("not ok: %s %s: %s: ", run->area, names[run->isa], run->what);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

static void release(struct kernel_run *run) {
    while (run->buffers) {
        struct kernel_buffer *buffer = run->buffers;
        for (int i = 0; i < CANARY_BYTES; i++) {
            if (buffer->canary[i] != CANARY) {
                fail(run, "wrote before the start of a buffer");
                break;
            }
        }
        run->buffers = buffer->next;
        munmap(buffer->map, buffer->mapped);
        free(buffer);
    }
}

void kernel_case(struct kernel_run *run, const char *format, ...) {
    va_list args;
    release(run);
    va_start(args, format);
    vsnprintf(run->what, sizeof(run->what), format, args);
    va_end(args);
}

uint32_t kernel_random(struct kernel_run *run) {
    run->random = run->random * 1664525u + 1013904223u;
    return run->random >> 8;
}

float kernel_random_f32(struct kernel_run *run, float lo, float hi) {
    return lo + (hi - lo) * (float)kernel_random(run) / (float)(1 << 24);
}

void *kernel_memory(struct kernel_run *run, size_t bytes, size_t align) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct kernel_buffer *buffer = calloc(1, sizeof(*buffer));
    bytes = (bytes + align - 1) / align * align;
    size_t usable = (bytes + CANARY_BYTES + page - 1) / page * page;
    if (!buffer) abort();
    buffer->mapped = usable + page;
    buffer->map = mmap(
        NULL, buffer->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer->map == MAP_FAILED ||
        mprotect(buffer->map + usable, page, PROT_NONE) != 0) {
        printf("Bail out! no memory for a test buffer of %zu bytes\n", bytes);
        exit(1);
    }
    memset(buffer->map, CANARY, usable);
    unsigned char *data = buffer->map + usable - bytes;
    buffer->canary = data - CANARY_BYTES;
    buffer->next = run->buffers;
    run->buffers = buffer;
    return data;
}

float *kernel_input(struct kernel_run *run, size_t count) {
    float *data = kernel_memory(run, count * sizeof(float), sizeof(float));
    for (size_t i = 0; i < count; i++)
        data[i] = kernel_random_f32(run, -1.0f, 1.0f);
    return data;
}

float *kernel_output(struct kernel_run *run, size_t count) {
    return kernel_memory(run, count * sizeof(float), sizeof(float));
}

double *kernel_doubles(struct kernel_run *run, size_t count) {
    double *data = kernel_memory(run, count * sizeof(double), sizeof(double));
    for (size_t i = 0; i < count; i++)
        data[i] = 0.0;
    return data;
}

void kernel_check_rows(struct kernel_run *run, const float *got, size_t ld, size_t rows,
    size_t cols, const double *want, const double *bound) {
    run->checks++;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            double x = (double)got[r * ld + c], y = want[r * cols + c];
            bool same =
                isnan(y) ? isnan(x) : fabs(x - y) <= bound[r * cols + c] || x == y;
            if (!same) {
                fail(run, "[%zu][%zu] is %.9g, expected %.9g within %.3g", r, c, x, y,
                    bound[r * cols + c]);
                return;
            }
        }
        for (size_t c = cols; c < ld && r + 1 < rows; c++) {
            if (memcmp(&got[r * ld + c], &canary_word, sizeof(canary_word)) != 0) {
                fail(run, "wrote past the columns of row %zu", r);
                return;
            }
        }
    }
}

void kernel_check_same(
    struct kernel_run *run, const void *a, const void *b, size_t bytes) {
    run->checks++;
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < bytes; i++) {
        if (x[i] != y[i]) {
            fail(run, "bits differ at byte %zu of %zu", i, bytes);
            return;
        }
    }
}

void kernel_check(struct kernel_run *run, bool condition, const char *text) {
    run->checks++;
    if (!condition) fail(run, "%s", text);
}

static bool machine_has(enum tn_isa isa) {
    switch (isa) {
    case TN_ISA_SCALAR: return true;
#if defined(__x86_64__)
    case TN_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case TN_ISA_AVX512:
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
    case TN_ISA_AVX512VNNI: return __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case TN_ISA_NEON: return true;
#endif
    default: return false;
    }
}

static const struct {
    const char *name;
    void (*run)(struct kernel_run *run);
} areas[] = {
#define AREA(name) {#name, test_##name},
#include "test_kernel_areas.inc"
#undef AREA
};

int main(int argc, char **argv) {
    struct kernel_run run = {.random = 1};
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            run.quick = true;
        } else if (strcmp(argv[i], "--all") == 0) {
            run.all = true;
        } else {
            only = argv[i];
        }
    }
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
        if (only && strcmp(only, areas[i].name) != 0) continue;
        run.area = areas[i].name;
        size_t before = run.checks, failed = run.failures;
        for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
            run.isa = (enum tn_isa)isa;
            if (!machine_has(run.isa)) continue;
            areas[i].run(&run);
            release(&run);
        }
        printf("%s: %zu checks, %zu failures\n", areas[i].name, run.checks - before,
            run.failures - failed);
    }
    return run.failures ? 1 : 0;
}
