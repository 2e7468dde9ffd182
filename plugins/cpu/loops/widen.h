/* Floats narrower than 32 bits as runs of f32, and back: what the loops put around a kernel
 * that has no row for the type. */
#ifndef TENON_CPU_WIDEN_H
#define TENON_CPU_WIDEN_H

#include "cpu.h"

/* Fills cpu->narrow_load and narrow_store. */
void tn__widen_init(struct tn__cpu *cpu);

#endif
