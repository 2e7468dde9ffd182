/* Where the elements of a resized axis come from, and with what weights. */
#ifndef TENON_CPU_RESIZE_TABLE_H
#define TENON_CPU_RESIZE_TABLE_H

#include "tenon/op.h"

#include <stdbool.h>

enum { TN__RESIZE_ASYMMETRIC = 1, TN__RESIZE_CROP = 5, TN__RESIZE_FLOOR = 2 };
/* Names of the coordinate transformations and of the ways to round, NULL at the end. */
extern const char *const tn__resize_coordinates[];
extern const char *const tn__resize_nearest[];

struct tn__resize_rule {
    int mode; /* 0 nearest, 1 linear, 2 cubic */
    int coordinates, nearest;
    double cubic;
    bool antialias, exclude_outside;
};

/* taps indices and weights for each output position. */
struct tn__resize_table {
    size_t taps;
    size_t *index;
    double *weight;
    bool *outside; /* of the crop */
};

/* Memory is the run's. */
tn_status tn__resize_table_make(struct tn__resize_table *table, const struct tn_run *run,
    const struct tn__resize_rule *rule, size_t in, size_t out, double scale, double start,
    double end);

#endif
