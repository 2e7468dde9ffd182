/* A bump allocator: objects that live as long as the graph are taken from it and never
 * freed alone. Not thread-safe. */
#ifndef TENON_ARENA_H
#define TENON_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct tn_arena;

struct tn_arena *tn__arena_create(void); /* NULL when there is no memory */
void tn__arena_destroy(struct tn_arena *arena);
/* Zeroed memory aligned to 16; NULL when there is none. size 0 gives a valid pointer. */
void *tn__arena_alloc(struct tn_arena *arena, uint64_t size);
/* n items of `size` bytes, checked. */
void *tn__arena_array(struct tn_arena *arena, uint64_t n, uint64_t size);
/* A copy, NULL when there is no memory. */
void *tn__arena_copy(struct tn_arena *arena, const void *src, uint64_t size);
/* A NUL-terminated copy of n bytes. */
char *tn__arena_string(struct tn_arena *arena, const char *text, uint64_t n);
/* printf into the arena. */
char *tn__arena_format(struct tn_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Doubles an array of *cap items so that it holds at least `need`; false when there is no
 * memory. The old block stays in the arena. */
int tn__arena_grow(
    struct tn_arena *arena, void **items, uint32_t *cap, uint32_t need, uint64_t size);
/* Whether ptr lies in memory of the arena; time grows with the number of its blocks. */
int tn__arena_owns(const struct tn_arena *arena, const void *ptr);
/* Bytes taken from the system. */
uint64_t tn__arena_bytes(const struct tn_arena *arena);

#endif
