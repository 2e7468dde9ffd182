/* Reduction of large arguments of sine and cosine, one at a time: arguments beyond 2^30
 * are too rare to deserve vector code. Plain integer arithmetic, the same at every level.
 */
#ifndef TENON_CPU_SIMD_PI_REDUCE_H
#define TENON_CPU_SIMD_PI_REDUCE_H

#include <stdint.h>
#include <string.h>

#define TN_PI_REDUCE_MIN 0x1p30f

/* When |x| > TN_PI_REDUCE_MIN: x = q pi/2 + r, |r| <= pi/4, q modulo 4 as the bits of
 * *out_q; r is NaN for an infinity or NaN. Else nothing is written.
 *
 * x is a 24-bit integer times a power of two; of 2/pi the 96 bits that matter modulo 4
 * are multiplied with it, which leaves 2^-62 of absolute error in the angle. */
static inline void pi_reduce_large(float x, float *out_r, float *out_q) {
    static const uint32_t two_over_pi[] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
        0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    uint32_t exponent = bits >> 23 & 0xff;
    if (!(x > TN_PI_REDUCE_MIN || x < -TN_PI_REDUCE_MIN)) {
        if (x != x) *out_r = x;
        return;
    }
    if (exponent == 0xff) {
        *out_r = x - x;
        return;
    }
    uint64_t mantissa = (bits & 0x7fffff) | 0x800000;
    uint32_t skip = exponent - 150 - 2;
    uint32_t word = skip / 32, shift = skip % 32;
    uint64_t window[3];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t pair = (uint64_t)two_over_pi[word + i] << 32 | two_over_pi[word + i + 1];
        window[i] = pair << shift >> 32;
    }
    /* the top 64 of the 96 bits of window * mantissa: the angle in units of a full turn
     */
    uint64_t turn = (window[0] * mantissa << 32) + window[1] * mantissa +
                    (window[2] * mantissa >> 32);
    uint64_t quadrant = (turn + (UINT64_C(1) << 61)) >> 62;
    int64_t rest = (int64_t)(turn - (quadrant << 62));
    double r = (double)rest * 0x1.921fb54442d18p-62;
    uint32_t q = (uint32_t)(x < 0 ? 0 - quadrant : quadrant);
    *out_r = (float)(x < 0 ? -r : r);
    memcpy(out_q, &q, sizeof(q));
}

#endif
