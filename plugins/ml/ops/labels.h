/* The names of classes: integers or strings, one for each, or none. */
#ifndef TENON_ML_LABELS_H
#define TENON_ML_LABELS_H

#include "ml.h"

struct tn__labels {
    const int64_t *ints;
    const struct tn_string *strings; /* these when both are given */
    uint32_t n;
};

static inline struct tn__labels tn__labels_of(
    struct tn_attr_ints ints, struct tn_attr_strings strings) {
    struct tn__labels labels = {ints.v, strings.n ? strings.v : NULL, ints.n};
    if (strings.n) labels.n = strings.n;
    return labels;
}

static inline int32_t tn__labels_dtype(const struct tn__labels *labels) {
    return labels->strings ? TN_STRING : TN_INT64;
}

/* Writes label `index` as element i of y; without labels the index itself; a negative index
 * is no class: 0 or "". */
static inline void tn__labels_put(
    const struct tn__labels *labels, struct tn_tensor *y, int64_t i, int64_t index) {
    if (!y) return;
    if (labels->strings) {
        struct tn_string none = {NULL, 0};
        ((struct tn_string *)y->data)[i] =
            index < 0 || index >= labels->n ? none : labels->strings[index];
    } else {
        bool known = index >= 0 && index < labels->n;
        ((int64_t *)y->data)[i] = known                    ? labels->ints[index]
                                  : labels->n || index < 0 ? 0
                                                           : index;
    }
}

#endif
