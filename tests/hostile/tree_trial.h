/* One hostile tree ensemble: attributes made of the bytes of a string are compiled, and what is
 * not refused is scored by every method that may serve it. */
#ifndef TENON_TREE_TRIAL_H
#define TENON_TREE_TRIAL_H

#include <stddef.h>
#include <stdint.h>

/* Aborts when a refusal says nothing or methods disagree in a bit. Returns 1 when the ensemble
 * was accepted, else 0. */
int tree_trial(const uint8_t *data, size_t size);

#endif
