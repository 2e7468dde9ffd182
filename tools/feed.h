/* Inputs of a run: from files, from a test_data_set folder, or generated. */
#ifndef TENON_FEED_H
#define TENON_FEED_H

#include "cli.h"

enum { FEED_MOST = 256 };

struct feed {
    struct tn_value *values[FEED_MOST]; /* by input index; NULL: left unset */
    bool generated[FEED_MOST];
    uint32_t n;
};

/* Fills every input that is not optional; 0 or an exit code (reported). */
int feed_make(
    const struct cli_args *args, const struct tn_session *session, struct feed *out);
/* Sets them on a context; 0 or an exit code (reported). */
int feed_bind(
    const struct cli_args *args, const struct feed *feed, struct tn_context *context);
void feed_free(struct feed *feed);

/* A generated tensor for a type whose sizes are known: numbers in [0, 1), small integers. */
tn_status feed_generate(const struct tn_type *type, uint64_t seed, struct tn_value **out,
    struct tn_diag *diag);
/* The type with sizes from --shape, and 1 for what stays symbolic; dims points into `dims`
 * (room for 64). 0 or an exit code (reported). */
int feed_shape(const struct cli_args *args, const struct tn_io *io, int64_t *dims,
    struct tn_type *out);

#endif
