/* Conversion of a whole block between element types, on the host's threads. */
#ifndef TENON_CPU_CONVERT_BLOCK_H
#define TENON_CPU_CONVERT_BLOCK_H

#include "cpu.h"

/* The conversion must exist (tn_convert_exists). options may be NULL: saturate, round up. */
void tn__convert_block(const struct tn__cpu *cpu, int32_t to, void *dst, int32_t from,
    const void *src, int64_t n, const struct tn_convert_options *options);

#endif
