/* Offsets in one arena for blocks with known lifetimes.
 *
 * Largest first, each at the lowest gap that is free during its whole life: close to the
 * lower bound for neural networks. The search is quadratic, so very many blocks are first
 * cut off: the small ones go by time into a region of their own, where first fit among
 * few live blocks is fast. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/plan.h"

#include <stdlib.h>

enum { ALIGN = 64, LARGEST_SEARCH = 4096 };

static int by_size(const void *a, const void *b) {
    const struct tn__extent *x = *(struct tn__extent *const *)a,
                            *y = *(struct tn__extent *const *)b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : 1;
}

static int by_time(const void *a, const void *b) {
    const struct tn__extent *x = *(struct tn__extent *const *)a,
                            *y = *(struct tn__extent *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : 1;
}

/* `placed` is sorted by offset; the blocks alive with `e` leave gaps, the first wide
 * enough takes it. Returns the place to insert it at. */
static uint32_t find_gap(
    struct tn__extent *const *placed, uint32_t n, struct tn__extent *e) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct tn__extent *p = placed[i];
        if (p->first > e->last || p->last < e->first) continue;
        if (p->offset >= at && p->offset - at >= e->size) break;
        if (p->offset + p->size > at) at = p->offset + p->size;
    }
    e->offset = at;
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (placed[middle]->offset <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(
    struct tn__extent **placed, uint32_t *n, uint32_t at, struct tn__extent *e) {
    for (uint32_t i = (*n)++; i > at; i--)
        placed[i] = placed[i - 1];
    placed[at] = e;
}

static uint64_t place_by_size(
    struct tn__extent *const *items, uint32_t n, struct tn__extent **placed) {
    uint32_t n_placed = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        insert(placed, &n_placed, find_gap(placed, n_placed, items[i]), items[i]);
        uint64_t end = items[i]->offset + items[i]->size;
        if (end > total) total = end;
    }
    return total;
}

/* First fit in order of time; `live` holds what has not ended yet, sorted by offset. */
static uint64_t place_by_time(
    struct tn__extent **items, uint32_t n, struct tn__extent **live) {
    qsort(items, n, sizeof *items, by_time);
    uint32_t n_live = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n_live; k++) {
            if (live[k]->last >= items[i]->first) live[kept++] = live[k];
        }
        n_live = kept;
        insert(live, &n_live, find_gap(live, n_live, items[i]), items[i]);
        uint64_t end = items[i]->offset + items[i]->size;
        if (end > total) total = end;
    }
    return total;
}

tn_status tn__memory_place(
    struct tn__extent *extents, uint32_t n, uint64_t *out_total, struct tn_diag *diag) {
    *out_total = 0;
    if (n == 0) return TN_OK;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!tn_align_size(extents[i].size, ALIGN, &extents[i].size) ||
            !tn_add_size(sum, extents[i].size, &sum) || sum > INT64_MAX)
            return tn_fail(diag, TN_LIMIT_EXCEEDED,
                "the values of one run take more than 2^63 bytes together");
    }
    struct tn__extent **items = tn__alloc(2 * (uint64_t)n * sizeof *items, 0);
    if (!items) return tn__fail_memory(diag, "planning memory", 2 * (uint64_t)n * 8);
    for (uint32_t i = 0; i < n; i++)
        items[i] = &extents[i];
    qsort(items, n, sizeof *items, by_size);
    uint32_t large = n < LARGEST_SEARCH ? n : LARGEST_SEARCH;
    uint64_t total = place_by_size(items, large, items + n);
    if (large < n) {
        uint64_t small = place_by_time(items + large, n - large, items + n);
        for (uint32_t i = large; i < n; i++)
            items[i]->offset += total;
        total += small;
    }
    tn__free(items);
    *out_total = total;
    return TN_OK;
}
