/* Bump allocation: see arena.h. */
#include "core/base/arena.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = 16 };

struct block {
    struct block *next;
    uint64_t size;
    uint64_t used;
    uint64_t reserved; /* keeps the payload aligned */
};

struct tn_arena {
    struct block *blocks; /* newest first */
    uint64_t next_size;
    uint64_t bytes;
};

struct tn_arena *tn__arena_create(void) {
    struct tn_arena *arena = tn__alloc_zero(sizeof *arena, 0);
    if (arena) arena->next_size = FIRST_BLOCK;
    return arena;
}

void tn__arena_destroy(struct tn_arena *arena) {
    if (!arena) return;
    for (struct block *b = arena->blocks; b;) {
        struct block *next = b->next;
        tn__free(b);
        b = next;
    }
    tn__free(arena);
}

static struct block *add_block(struct tn_arena *arena, uint64_t size) {
    uint64_t payload = size > arena->next_size ? size : arena->next_size;
    uint64_t total;
    if (!tn_add_size(payload, sizeof(struct block), &total)) return NULL;
    struct block *b = tn__alloc(total, 0);
    if (!b) return NULL;
    *b = (struct block){arena->blocks, payload, 0, 0};
    arena->blocks = b;
    arena->bytes += total;
    if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
    return b;
}

/* A block for one large object, behind the one that is being filled. Zeroed by its
 * mapping: no page is touched before its owner does. */
static void *alloc_alone(struct tn_arena *arena, uint64_t need) {
    uint64_t total;
    if (!tn_add_size(need, sizeof(struct block), &total)) return NULL;
    struct block *b = tn__alloc_zero(total, 0);
    if (!b) return NULL;
    *b = (struct block){NULL, need, need, 0};
    if (arena->blocks) {
        b->next = arena->blocks->next;
        arena->blocks->next = b;
    } else {
        arena->blocks = b;
    }
    arena->bytes += total;
    return b + 1;
}

void *tn__arena_alloc(struct tn_arena *arena, uint64_t size) {
    uint64_t need;
    if (!tn_align_size(size, ALIGN, &need)) return NULL;
    if (need > LARGEST_BLOCK) return alloc_alone(arena, need);
    struct block *b = arena->blocks;
    if (!b || b->size - b->used < need) {
        b = add_block(arena, need);
        if (!b) return NULL;
    }
    void *ptr = (char *)(b + 1) + b->used;
    b->used += need;
    memset(ptr, 0, need);
    return ptr;
}

void *tn__arena_array(struct tn_arena *arena, uint64_t n, uint64_t size) {
    uint64_t total;
    return tn_mul_size(n, size, &total) ? tn__arena_alloc(arena, total) : NULL;
}

void *tn__arena_copy(struct tn_arena *arena, const void *src, uint64_t size) {
    void *ptr = tn__arena_alloc(arena, size);
    if (ptr && size) memcpy(ptr, src, size);
    return ptr;
}

char *tn__arena_string(struct tn_arena *arena, const char *text, uint64_t n) {
    uint64_t total;
    char *copy = tn_add_size(n, 1, &total) ? tn__arena_alloc(arena, total) : NULL;
    if (copy && n) memcpy(copy, text, n);
    return copy;
}

char *tn__arena_format(struct tn_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : tn__arena_alloc(arena, (uint64_t)n + 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    return text;
}

int tn__arena_grow(
    struct tn_arena *arena, void **items, uint32_t *cap, uint32_t need, uint64_t size) {
    if (need <= *cap) return 1;
    if (need > UINT32_MAX / 2) return 0;
    uint32_t larger = *cap ? *cap * 2 : 8;
    while (larger < need)
        larger *= 2;
    void *block = tn__arena_array(arena, larger, size);
    if (!block) return 0;
    if (*cap) memcpy(block, *items, *cap * size);
    *items = block;
    *cap = larger;
    return 1;
}

int tn__arena_owns(const struct tn_arena *arena, const void *ptr) {
    for (const struct block *b = arena->blocks; b; b = b->next) {
        uintptr_t begin = (uintptr_t)(b + 1), at = (uintptr_t)ptr;
        if (at >= begin && at - begin < b->size) return 1;
    }
    return 0;
}

uint64_t tn__arena_bytes(const struct tn_arena *arena) {
    return arena->bytes;
}
