/* Regular expressions in RE2's syntax, matched in time proportional to text × pattern
 * whatever both hold: all ways through the program are followed at once, none twice.
 *
 * Left out, with an error that says so: Unicode classes (\p), \C, and letters beyond ASCII
 * under the flag i. Captures are groups only. */
#ifndef TENON_CPU_REGEX_H
#define TENON_CPU_REGEX_H

#include "tenon/op.h"

enum tn__regex_op {
    TN_REGEX_SET,    /* one character of ranges[x .. x + y) */
    TN_REGEX_SPLIT,  /* goes on at +x and at +y */
    TN_REGEX_JUMP,   /* goes on at +x */
    TN_REGEX_ASSERT, /* goes on when the assertion x holds here */
    TN_REGEX_MATCH
};

enum tn__regex_assert {
    TN_REGEX_TEXT_BEGIN,
    TN_REGEX_TEXT_END,
    TN_REGEX_LINE_BEGIN,
    TN_REGEX_LINE_END,
    TN_REGEX_WORD_EDGE,
    TN_REGEX_NO_WORD_EDGE
};

#define TN_REGEX_NEGATED 1
#define TN_REGEX_FOLDED 2

struct tn__regex_step {
    uint8_t op, flags; /* flags of a set */
    int32_t x, y;      /* steps away, or as the operation says */
};

struct tn__regex_range {
    uint32_t low, high;
};

struct tn__regex {
    const struct tn_host *host;
    struct tn__regex_step *steps;
    struct tn__regex_range *ranges;
    uint32_t n_steps, n_ranges, step_room, range_room;
};

/* Compiles a pattern; *re is to be released by tn__regex_free, on failure too. */
tn_status tn__regex_compile(struct tn__regex *re, const struct tn_host *host,
    struct tn_string pattern, struct tn_diag *diag);
void tn__regex_free(struct tn__regex *re);

/* Bytes of scratch, aligned to 4, that one match needs. */
size_t tn__regex_scratch(const struct tn__regex *re);
/* Whether the whole text matches. */
int tn__regex_full_match(
    const struct tn__regex *re, struct tn_string text, void *scratch);

#endif
