/* Harness of the kernel tests: every area runs at every instruction-set level of the
 * machine on awkward sizes, with inputs that end at an unreadable page and outputs
 * between canaries, and is judged by a double-precision loop that the area's test writes
 * itself.
 *
 * A new area adds a file with `void test_<area>(struct kernel_run *run)` and one line in
 * test_kernel_areas.inc. */
#ifndef TENON_TEST_KERNEL_H
#define TENON_TEST_KERNEL_H

#include "tenon/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_buffer;

struct kernel_run {
    enum tn_isa isa;
    bool quick; /* leave out the large sizes */
    bool all;   /* every f32 input, where a function has one argument */
    /* private to the harness */
    const char *area;
    char what[160];
    uint32_t random;
    size_t checks, failures;
    struct kernel_buffer *buffers;
};

/* Names the case that the following checks belong to and gives back the buffers of the
 * one before. */
void kernel_case(struct kernel_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

uint32_t kernel_random(struct kernel_run *run);
/* Uniform in [lo, hi]. */
float kernel_random_f32(struct kernel_run *run, float lo, float hi);

/* Memory whose last byte lies before an unreadable page and whose first byte lies after a
 * canary. It starts at a multiple of `align` (a power of two ≤ 4096; the size is rounded
 * up to it, so give the element size where overrun by an element must be seen). Lives
 * until the next kernel_case. Filled with the canary byte. */
void *kernel_memory(struct kernel_run *run, size_t bytes, size_t align);

/* The same for floats: random in [-1, 1], or canaries for an output. */
float *kernel_input(struct kernel_run *run, size_t count);
float *kernel_output(struct kernel_run *run, size_t count);
double *kernel_doubles(struct kernel_run *run, size_t count);

/* Compares rows of `cols` floats, `ld` apart, with rows of `want`, `cols` apart: equal if
 * both are NaN, or if they differ by no more than bound[i] (same shape as want). The
 * floats between rows must still be canaries. */
void kernel_check_rows(struct kernel_run *run, const float *got, size_t ld, size_t rows,
    size_t cols, const double *want, const double *bound);

/* Fails unless the bytes are the same. */
void kernel_check_same(
    struct kernel_run *run, const void *a, const void *b, size_t bytes);

/* Fails with the text if the condition does not hold. */
void kernel_check(struct kernel_run *run, bool condition, const char *text);

#define AREA(name) void test_##name(struct kernel_run *run);
#include "test_kernel_areas.inc"
#undef AREA

#endif
