/* The name that was probably meant: least edit distance over the names that are offered.
 * For messages, so it may be slow; names over 64 bytes are not considered. */
#ifndef TENON_NEAREST_H
#define TENON_NEAREST_H

#include <stdint.h>

struct tn__nearest {
    const char *wanted;
    const char *best; /* borrowed from the offers */
    uint32_t distance;
};

struct tn__nearest tn__nearest_start(const char *wanted);
void tn__nearest_offer(struct tn__nearest *nearest, const char *name);
/* The best offer, NULL when none is close enough to be a slip of the pen. */
const char *tn__nearest_get(const struct tn__nearest *nearest);

#endif
