/* The instruction-set levels for which kernels are compiled. A level includes all lower ones
 * of its architecture. Which level a machine has is found elsewhere and passed in: kernels
 * never detect anything. */
#ifndef TENON_ISA_H
#define TENON_ISA_H

enum tn_isa {
    TN_ISA_SCALAR = 0,     /* plain C: the reference and the specification */
    TN_ISA_NEON = 1,       /* AArch64's own vector unit; the levels below are x86's */
    TN_ISA_AVX2 = 1,       /* AVX2, FMA, F16C, BMI2 */
    TN_ISA_AVX512 = 2,     /* AVX-512 F, BW, DQ, VL */
    TN_ISA_AVX512VNNI = 3, /* and VNNI, BF16 */
    TN_ISA_COUNT = 4
};

#endif
