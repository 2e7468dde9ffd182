/* Loops that must be unrolled for their arrays of vectors to become registers. */
#ifndef TENON_CPU_SIMD_UNROLL_H
#define TENON_CPU_SIMD_UNROLL_H

#define TN_PRAGMA(text) _Pragma(#text)

/* TN_UNROLL(n): a loop of at most n constant steps, wholly. TN_UNROLL_BY(n): n steps at a time. */
#if defined(__clang__)
#define TN_UNROLL(n) TN_PRAGMA(clang loop unroll(full))
#define TN_UNROLL_BY(n) TN_PRAGMA(clang loop unroll_count(n))
#else
#define TN_UNROLL(n) TN_PRAGMA(GCC unroll n)
#define TN_UNROLL_BY(n) TN_PRAGMA(GCC unroll n)
#endif

#define TN_ALWAYS_INLINE inline __attribute__((always_inline))

#endif
