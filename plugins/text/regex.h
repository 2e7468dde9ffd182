/* Regular expressions in RE2's syntax (pattern.h), matched by PCRE2.
 *
 * PCRE2's alternative algorithm follows all ways through the pattern at once and finds the
 * longest match, as RE2 does for these operators; it does not backtrack, and it has no
 * just-in-time compiler. What a text may cost is counted by a callout on every item of the
 * pattern, whose count depends on pattern and text alone. */
#ifndef TENON_TEXT_REGEX_H
#define TENON_TEXT_REGEX_H

#include "tenon/op.h"

#include <stdbool.h>

struct tn__regex {
    const struct tn_host *host;
    void *code;
    bool is_run;       /* one character or class, once or more … */
    uint64_t ascii[2]; /* … that holds these of the first 128 */
    uint64_t scratch;  /* bytes of scratch, aligned to 8, that one matcher needs */
};

tn_status tn__regex_compile(struct tn__regex *re, const struct tn_host *host,
    struct tn_string pattern, struct tn_diag *diag);
/* Accepts a zeroed regex. */
void tn__regex_free(struct tn__regex *re);

/* One thread's objects to match with, without memory of their own. */
struct tn__matcher {
    const struct tn_run *run;
    void *context, *data; /* of PCRE2, in room */
    int64_t left;         /* steps that this text may still take */
    int64_t ticks;
    uint64_t position, active; /* where the steps are, how many were there */
    uint64_t used;
    char room[960];
};

/* What a search came to. */
enum {
    TN_REGEX_NO,
    TN_REGEX_YES,
    TN_REGEX_LIMIT,  /* the text took too many steps, or too many ways at once */
    TN_REGEX_STOPPED /* the run was interrupted */
};

/* Steps that one text may take, and as many more for each of its bytes: a second or so,
 * and what a pattern that reads a text once needs. */
#define TN_REGEX_STEPS (INT64_C(1) << 24)
#define TN_REGEX_BYTE_STEPS 16

tn_status tn__matcher_init(struct tn__matcher *m, struct tn_diag *diag);
/* Before the first search in a text. */
void tn__matcher_begin(
    struct tn__matcher *m, const struct tn_run *run, struct tn_string text);
/* Whether the whole text, which is UTF-8, matches: TN_REGEX_*. */
int tn__regex_full_match(const struct tn__regex *re, struct tn__matcher *m,
    struct tn_string text, void *scratch);
/* The leftmost match from byte `from` on, of these the longest: bytes [*begin, *end). */
int tn__regex_search(const struct tn__regex *re, struct tn__matcher *m,
    struct tn_string text, uint64_t from, void *scratch, uint64_t *begin, uint64_t *end);
/* The failure that a result stands for. */
tn_status tn__regex_fail(const struct tn_run *run, int result, int64_t text);

#endif
