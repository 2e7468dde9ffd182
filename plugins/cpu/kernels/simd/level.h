/* The instruction-set level that this translation unit is compiled for, as a suffix of the
 * names it defines. */
#ifndef TENON_CPU_SIMD_LEVEL_H
#define TENON_CPU_SIMD_LEVEL_H

#if defined(__AVX512F__)
#define TN_LEVEL_NAME(name) name##_avx512
#elif defined(__AVX2__)
#define TN_LEVEL_NAME(name) name##_avx2
#else
#define TN_LEVEL_NAME(name) name##_c
#endif

#endif
