/* Where the core's memory comes from. Large blocks are whole huge-page-aligned mappings,
 * so that first touch costs one fault per 2 MiB. [any thread] */
#ifndef TENON_ALLOC_H
#define TENON_ALLOC_H

#include <stdint.h>

/* Memory aligned to `align` (a power of two ≤ 2 MiB, 0 = 64), uninitialised; NULL when
 * there is none. size 0 gives a unique pointer. */
void *tn__alloc(uint64_t size, uint64_t align);
void *tn__alloc_zero(uint64_t size, uint64_t align);
/* NULL is fine. */
void tn__free(void *ptr);

/* Test hook: the n-th allocation from now fails (1 = the next), 0 = never. Process-wide.
 */
void tn__alloc_fail_at(uint64_t n);
/* Number of tn__alloc calls so far. */
uint64_t tn__alloc_count(void);

#endif
