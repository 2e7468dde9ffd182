/* float16 to float, exactly. */
#ifndef TENON_ML_HALF_H
#define TENON_ML_HALF_H

#include <stdint.h>
#include <string.h>

static inline float tn__half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu, bits;
    float value;
    if (rest >= 0x7c00u) { /* infinite or NaN */
        bits = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
    } else if (rest >= 0x400u) {
        bits = sign | ((rest << 13) + 0x38000000u);
    } else { /* zero or subnormal: a multiple of 2^-24 */
        value = (float)rest * 0x1p-24f;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest even. */
static inline uint16_t tn__half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above */
    if (bits < 0x38800000u) { /* subnormal: the adder rounds at 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1);
    return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
}

#endif
