/* The loops of the walk: one template, three kinds of node. */
#include "trees/walk.h"

#include <string.h>

static inline uint32_t small_leaf(struct tn_walk_small node) {
    uint32_t bits;
    memcpy(&bits, &node.threshold, sizeof bits);
    return bits & ((UINT32_C(1) << TN_WALK_LINK_BITS) - 1);
}

static inline uint32_t large_leaf(struct tn_walk_large node) {
    uint64_t bits;
    memcpy(&bits, &node.threshold, sizeof bits);
    return (uint32_t)bits;
}

#define NAME(x) small_##x
#define NODE struct tn_walk_small
#define X float
#define COLUMN(n) ((n).link >> TN_WALK_LINK_BITS)
#define CHILD(n) ((n).link & ((UINT32_C(1) << TN_WALK_LINK_BITS) - 1))
#define LEAF(n) small_leaf(n)
#include "trees/walk_tmpl.h"

#define NAME(x) large_##x
#define NODE struct tn_walk_large
#define X float
#define COLUMN(n) ((size_t)(n).column)
#define CHILD(n) ((n).child)
#define LEAF(n) large_leaf(n)
#include "trees/walk_tmpl.h"

#define NAME(x) double_##x
#define NODE struct tn_walk_large
#define X double
#define COLUMN(n) ((size_t)(n).column)
#define CHILD(n) ((n).child)
#define LEAF(n) large_leaf(n)
#include "trees/walk_tmpl.h"

const struct tn_walk_kernels tn__walk_kernels[3] = {
    [TN_WALK_SMALL] = {small_rows, small_row},
    [TN_WALK_LARGE] = {large_rows, large_row},
    [TN_WALK_DOUBLE] = {double_rows, double_row},
};
