/* The floating-point mode of a thread: rounding and denormals. Workers take over the mode
 * of the thread whose loop they help with, so that it cannot change results. */
#ifndef TENON_FP_MODE_H
#define TENON_FP_MODE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { TN_FP_FLUSH = 0x8040 }; /* flush to zero, denormals are zero */

static inline uint64_t tn__fp_get(void) {
    return _mm_getcsr();
}
static inline void tn__fp_set(uint64_t mode) {
    _mm_setcsr((unsigned)mode);
}
#elif defined(__aarch64__)
enum { TN_FP_FLUSH = 1 << 24 };

static inline uint64_t tn__fp_get(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void tn__fp_set(uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
enum { TN_FP_FLUSH = 0 };

static inline uint64_t tn__fp_get(void) {
    return 0;
}
static inline void tn__fp_set(uint64_t mode) {
    (void)mode;
}
#endif
#endif
