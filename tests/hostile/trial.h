/* One hostile model through the public API: load, feed, run, read, let go. */
#ifndef TENON_TRIAL_H
#define TENON_TRIAL_H

#include "chance.h"
#include "tenon/tenon.h"

#include <stdbool.h>
#include <stddef.h>

/* What a trial came to; a complaint is a broken promise. */
struct trial {
    tn_status status;
    char message[TN_DIAG_MESSAGE_SIZE];
    char complaint[TN_DIAG_MESSAGE_SIZE + 100]; /* empty: none */
};

/* A runtime with little memory and one thread; NULL: it said why on stderr. */
struct tn_runtime *trial_runtime(void);
/* Sessions get small limits; feeds are values that may fit (NULL where there is none) and
 * are varied by chance when it is not NULL. */
void trial_model(struct tn_runtime *runtime, const void *data, size_t size,
    struct tn_value *const *feeds, unsigned n_feeds, struct chance *chance,
    struct trial *out);

#endif
