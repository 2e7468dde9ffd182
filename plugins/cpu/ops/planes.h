/* Channels inward and outward: NCHW to NHWC and back, f32, on the pool. */
#ifndef TENON_CPU_PLANES_H
#define TENON_CPU_PLANES_H

#include "cpu.h"

/* src as (batch, pixels, channels), written to dst; src itself when the order is the same
 * either way. */
const float *tn__planes_inward(const struct tn__cpu *cpu, float *dst, const float *src,
    size_t batch, size_t channels, size_t pixels);

/* dst (batch, channels, pixels) from src (batch, pixels, channels). */
void tn__planes_outward(const struct tn__cpu *cpu, float *dst, const float *src,
    size_t batch, size_t channels, size_t pixels);

#endif
