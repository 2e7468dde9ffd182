/* Monotonic time. */
#ifndef TENON_CLOCK_H
#define TENON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* [any] Nanoseconds since some fixed moment. */
static inline uint64_t tn__clock_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
