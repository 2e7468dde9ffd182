/* Allocation: see alloc.h. Each block is preceded by a header that says how to free it.
 */
#include "core/base/alloc.h"

#include "core/base/checked.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_SIZE = 2 << 20, MIN_ALIGN = 64 };

struct header {
    void *base;      /* what to give back */
    uint64_t mapped; /* bytes of the mapping, 0 for a heap block */
};

static _Atomic uint64_t fail_at;
static _Atomic uint64_t count;

static bool should_fail(void) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    uint64_t n = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (n == 0) return false;
    return atomic_fetch_sub_explicit(&fail_at, 1, memory_order_relaxed) == 1;
}

static char *map_block(uint64_t total, struct header *out) {
    void *base = mmap(NULL, total, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    *out = (struct header){base, total};
    return base;
}

void *tn__alloc(uint64_t size, uint64_t align) {
    if (align < MIN_ALIGN) align = MIN_ALIGN;
    bool huge = size >= HUGE_SIZE;
    if (huge) align = HUGE_SIZE;
    uint64_t total;
    if (should_fail() || !tn_add_size(size, align + sizeof(struct header), &total) ||
        total > INT64_MAX)
        return NULL;
    struct header header = {NULL, 0};
    char *base = huge ? map_block(total, &header) : malloc(total);
    if (!base) return NULL;
    if (!huge) header.base = base;
    uintptr_t at =
        ((uintptr_t)base + sizeof header + align - 1) & ~(uintptr_t)(align - 1);
    memcpy((char *)at - sizeof header, &header, sizeof header);
    if (huge) (void)madvise((void *)at, size & ~(uint64_t)(HUGE_SIZE - 1), MADV_HUGEPAGE);
    return (void *)at;
}

void *tn__alloc_zero(uint64_t size, uint64_t align) {
    void *ptr = tn__alloc(size, align);
    if (ptr && size < HUGE_SIZE) /* fresh mappings are zero */
        memset(ptr, 0, size);
    return ptr;
}

void tn__free(void *ptr) {
    if (!ptr) return;
    struct header header;
    memcpy(&header, (char *)ptr - sizeof header, sizeof header);
    if (header.mapped)
        munmap(header.base, header.mapped);
    else
        free(header.base);
}

void tn__alloc_fail_at(uint64_t n) {
    atomic_store(&fail_at, n);
}

uint64_t tn__alloc_count(void) {
    return atomic_load(&count);
}
