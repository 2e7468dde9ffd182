/* What the processor offers and how much of it is ours. */
#ifndef TENON_PROCESSOR_H
#define TENON_PROCESSOR_H

#include "core/base/diag.h"
#include "tenon/plugin.h"

#include <stdbool.h>
#include <stddef.h>

struct tn__cpu {
    uint64_t features; /* TN_CPU_*: present and enabled by the operating system */
    uint64_t cache_l1d, cache_l2, cache_l3; /* bytes, 0 unknown */
};

/* [any] */
void tn__cpu_detect(struct tn__cpu *out);
/* Mask of features that a text allows: "best", "all" or "" (no limit), "scalar" (none),
 * "avx512vnni" (all of x86 up to it), or names separated by commas, each with what it
 * stands on: "avx2", "avx512", "avx512_vnni",
 * "avx512_bf16", "avx_vnni", "neon", "dotprod", "fp16", "i8mm", "bf16". An unknown name
 * is TN_INVALID_ARGUMENT. */
tn_status tn__cpu_mask(const char *text, uint64_t *out_mask, struct tn_diag *diag);
/* Names of a feature mask, e.g. "avx2 avx512", "scalar" when empty. */
const char *tn__cpu_names(uint64_t features, char *buf, size_t size);

/* Threads this process can keep busy: the least of the affinity mask, the online
 * processors, and the cgroup's quota rounded up; at least 1. */
uint32_t tn__cpu_threads(void);
/* Quota in processors (rounded up) of the control groups in `membership` (the text of
 * /proc/self/cgroup) below the file system mounted at `root`; UINT32_MAX when there is
 * none. Versions 1 and 2. */
uint32_t tn__cgroup_quota(const char *membership, const char *root);

#endif
