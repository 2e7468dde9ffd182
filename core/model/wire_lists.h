/* Long lists of attributes (floats, ints, strings), which never reach the protobuf parser
 * either: the walker decodes them once, where the graph keeps them. A tree ensemble has
 * millions of elements in lists that the format writes one by one. */
#ifndef TENON_WIRE_LISTS_H
#define TENON_WIRE_LISTS_H

#include "core/base/arena.h"
#include "tenon/types.h"

#include <stdbool.h>

enum {
    TN_LIST_FLOATS = 0,
    TN_LIST_INTS = 1,
    TN_LIST_STRINGS = 2,
    TN_LIST_KINDS = 3,
    TN_LIST_LONG = 4096 /* elements from which a list is long */
};

struct tn__list {
    void *items; /* float, int64_t or struct tn_string */
    uint64_t n, cap;
};

/* Those of one attribute. */
struct tn__lists {
    struct tn__list of[TN_LIST_KINDS];
};

/* Bytes of an element. */
uint64_t tn__list_element_size(uint32_t kind);
/* Elements of field `id` that follow each other from the tag at `at` on, one by one or
 * packed; *out_end is behind the last. What is malformed ends the run. */
uint64_t tn__list_measure(uint32_t kind, uint32_t id, const uint8_t *at,
    const uint8_t *end, const uint8_t **out_end);
/* Appends the n elements that were measured; items and the bytes of strings come from the
 * arena. Zeros are not written: the pages of a list of zeros are never touched. False when
 * there is no memory. */
bool tn__list_append(struct tn__list *list, struct tn_arena *arena, uint32_t kind,
    uint32_t id, const uint8_t *at, const uint8_t *end, uint64_t n);

#endif
