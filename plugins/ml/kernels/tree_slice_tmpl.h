/* The body of the sliced descents, for one vector width and one width of ranks. Included by
 * the ISA files, once for each width.
 *
 * Wants: V, a vector (or several) of LANES rows; LOAD(address) of ranks; CUT(T value);
 * RIGHT(rank, cut), a selector that says rank > cut; PICK(selector, left, right);
 * NAME(verb); T; STORE(leaf, selectors, depth), which writes LANES leaf numbers whose
 * highest bit is selectors[0].
 *
 * bits[l] says whether the row goes right on level l. On level l the row's node is one of
 * 2^l; they are compared all and folded by the bits already known, the last bit first, so
 * that few vectors are alive. All of it is unrolled for each depth: a loop was 1.5 times
 * slower. */

struct NAME(descent) {
    const char *ranks;
    const uint32_t *column;
    const T *cut;
};

static inline __attribute__((always_inline)) V NAME(compare)(
    const struct NAME(descent) * at, uint32_t node) {
    return RIGHT(LOAD(at->ranks + at->column[node]), CUT(at->cut[node]));
}

/* One of the 2^l nodes from `node` on, by the l bits that end before bits[level]. */
#define FOLD(name, below, l)                                                             \
    static inline __attribute__((always_inline)) V NAME(name)(                           \
        const struct NAME(descent) * at, uint32_t node, const V *bits, uint32_t level) { \
        const V left = NAME(below)(at, node, bits, level);                               \
        const V right = NAME(below)(at, node + (1u << (l - 1)), bits, level);            \
        return PICK(bits[level - l], left, right);                                       \
    }
static inline __attribute__((always_inline)) V NAME(fold0)(
    const struct NAME(descent) * at, uint32_t node, const V *bits, uint32_t level) {
    (void)bits;
    (void)level;
    return NAME(compare)(at, node);
}
FOLD(fold1, fold0, 1)
FOLD(fold2, fold1, 2)
FOLD(fold3, fold2, 3)
FOLD(fold4, fold3, 4)
FOLD(fold5, fold4, 5)
#undef FOLD

/* Levels 6 and 7 are a loop over parts of 32 nodes: unrolled whole, the code outgrows what
 * the processor keeps decoded and may take four times as long. */
static inline __attribute__((always_inline)) V NAME(fold_parts)(
    const struct NAME(descent) * at, const V *bits, uint32_t level) {
    const uint32_t parts = 1u << (level - 5);
    V part[4];
#pragma GCC unroll 1
    for (uint32_t i = 0; i < parts; i++)
        part[i] = NAME(fold5)(at, (1u << level) + 32 * i, bits, level);
    for (uint32_t n = parts / 2, bit = level - 6; n > 0; n /= 2, bit--)
        for (uint32_t i = 0; i < n; i++)
            part[i] = PICK(bits[bit], part[2 * i], part[2 * i + 1]);
    return part[0];
}

static inline __attribute__((always_inline)) void NAME(descend)(
    uint8_t *leaf, struct NAME(descent) at, size_t n, uint32_t depth) {
    for (size_t r = 0; r < n; r += LANES, at.ranks += LANES * sizeof(T)) {
        V bits[TN_SLICE_DEPTH];
        bits[0] = NAME(fold0)(&at, 1, bits, 0);
        if (depth > 1) bits[1] = NAME(fold1)(&at, 2, bits, 1);
        if (depth > 2) bits[2] = NAME(fold2)(&at, 4, bits, 2);
        if (depth > 3) bits[3] = NAME(fold3)(&at, 8, bits, 3);
        if (depth > 4) bits[4] = NAME(fold4)(&at, 16, bits, 4);
        if (depth > 5) bits[5] = NAME(fold5)(&at, 32, bits, 5);
        if (depth > 6) bits[6] = NAME(fold_parts)(&at, bits, 6);
        if (depth > 7) bits[7] = NAME(fold_parts)(&at, bits, 7);
        STORE(leaf + r, bits, depth);
    }
}

static inline __attribute__((always_inline)) void NAME(levels)(
    uint8_t *leaf, struct NAME(descent) at, size_t n, uint32_t depth) {
    for (size_t r = 0; r < n; r += LANES, at.ranks += LANES * sizeof(T)) {
        V bits[TN_SLICE_DEPTH];
        for (uint32_t level = 0; level < depth; level++)
            bits[level] = NAME(compare)(&at, level);
        STORE(leaf + r, bits, depth);
    }
}

#define EVERY_DEPTH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define UNROLLED(d)                                                                      \
    static void NAME(descend_##d)(uint8_t * leaf, struct NAME(descent) at, size_t n) {   \
        NAME(descend)(leaf, at, n, d);                                                   \
    }                                                                                    \
    static void NAME(levels_##d)(uint8_t * leaf, struct NAME(descent) at, size_t n) {    \
        NAME(levels)(leaf, at, n, d);                                                    \
    }
EVERY_DEPTH(UNROLLED)
#undef UNROLLED

/* verb(leaf, ranks, nodes, n) by the unrolled function of the depth. */
#define VERB(verb, part)                                                                 \
    static void NAME(verb)(uint8_t * leaf, const void *ranks,                            \
        const struct tn_slice_nodes *nodes, size_t n) {                                  \
        typedef void part##_fn(uint8_t *leaf, struct NAME(descent) at, size_t n);        \
        static part##_fn *const depths[TN_SLICE_DEPTH] = {NAME(part##_1),                \
            NAME(part##_2), NAME(part##_3), NAME(part##_4), NAME(part##_5),              \
            NAME(part##_6), NAME(part##_7), NAME(part##_8)};                             \
        depths[nodes->depth - 1](                                                        \
            leaf, (struct NAME(descent)){ranks, nodes->column, nodes->cut}, n);          \
    }
VERB(perfect, descend)
VERB(oblivious, levels)
#undef VERB
#undef EVERY_DEPTH

#undef V
#undef T
#undef LANES
#undef LOAD
#undef CUT
#undef RIGHT
#undef PICK
#undef STORE
#undef NAME
