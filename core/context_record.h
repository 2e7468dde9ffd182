/* The record that stands beside a context binary: what it is of, and for what. */
#ifndef TENON_CONTEXT_RECORD_H
#define TENON_CONTEXT_RECORD_H

#include "core/plan/plan.h"

/* One line of text, for an attribute of the node. */
void tn__record_print(const struct tn_context_record *record, struct tn_text *out);
/* Reads it back; false when the text is no record. Strings go to the arena. */
bool tn__record_parse(struct tn_arena *arena, const char *text, uint64_t size,
    struct tn_context_record *out);
/* Hashes of the groups' nodes and borders, and of the constants that they read. */
void tn__record_hash_groups(
    const struct tn__unit *const *units, uint32_t n, struct tn_context_record *record);
void tn__record_hash_blob(
    const void *blob, uint64_t size, struct tn_context_record *record);

#endif
