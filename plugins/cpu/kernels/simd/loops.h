/* For loops in plain C that the compiler is to turn into vectors. */
#ifndef TENON_CPU_SIMD_LOOPS_H
#define TENON_CPU_SIMD_LOOPS_H

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Before a loop: its iterations are independent although the destination may equal a
 * source. A loop that is not worth a vector may stay as it is. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
