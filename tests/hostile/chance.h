/* Reproducible chance: a sequence of numbers from a seed (splitmix64). */
#ifndef TENON_CHANCE_H
#define TENON_CHANCE_H

#include <stdint.h>

struct chance {
    uint64_t state;
};

static inline uint64_t chance_next(struct chance *chance) {
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. n-1, 0 when n is 0. */
static inline uint64_t chance_below(struct chance *chance, uint64_t n) {
    return n ? chance_next(chance) % n : 0;
}

#endif
