/* PCRE2 within limits of time and memory. */
#include "regex.h"

#include "pattern.h"
#include "tenon/helper/diag.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    STATE_INTS = 3, /* of PCRE2's record of one way through the pattern */
    STATES_LEAST = 8192,
    RUN_BYTES = 8,   /* of a run that cost one step */
    ACTIVE_FREE = 4, /* ways at one place that cost no more than one step each */
    TICKS = 4096     /* between looks at the clock */
};

/* ---- compilation ------------------------------------------------------------------------- */

static void *host_alloc(size_t size, void *host) {
    const struct tn_host *h = host;
    return h->alloc(h->self, size, 0, "regex");
}

static void host_free(void *ptr, void *host) {
    const struct tn_host *h = host;
    h->free(h->self, ptr);
}

static tn_status fail_compile(int code, struct tn_diag *diag) {
    PCRE2_UCHAR message[120];
    if (pcre2_get_error_message(code, message, sizeof message) < 0) message[0] = '\0';
    return tn_fail(diag, TN_INVALID_MODEL, "the pattern cannot be compiled: %s",
        (const char *)message);
}

static tn_status compile(struct tn__regex *re, const struct tn__pattern *pattern,
    pcre2_compile_context *context, struct tn_diag *diag) {
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX |
                             PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_POSSESS |
                             PCRE2_AUTO_CALLOUT;
    int code = 0;
    size_t offset, size = 0;
    if (!context) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a pattern");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    re->code = pcre2_compile(
        (PCRE2_SPTR)pattern->data, pattern->size, options, &code, &offset, context);
    if (!re->code) return fail_compile(code, diag);
    pcre2_pattern_info(re->code, PCRE2_INFO_SIZE, &size);
    size_t states = size < STATES_LEAST ? STATES_LEAST : size;
    re->scratch = 2 * (states + 1) * STATE_INTS * sizeof(int);
    return TN_OK;
}

/* Finds out which ASCII characters a run takes, by asking PCRE2. */
static tn_status learn_run(struct tn__regex *re, struct tn_diag *diag) {
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(re->code, NULL);
    if (!data) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a pattern");
    for (uint32_t c = 0; c < 128; c++) {
        const PCRE2_UCHAR text = (PCRE2_UCHAR)c;
        if (pcre2_match(re->code, &text, 1, 0, PCRE2_ANCHORED, data, NULL) > 0)
            re->ascii[c / 64] |= UINT64_C(1) << c % 64;
    }
    pcre2_match_data_free(data);
    re->is_run = true;
    return TN_OK;
}

tn_status tn__regex_compile(struct tn__regex *re, const struct tn_host *host,
    struct tn_string pattern, struct tn_diag *diag) {
    struct tn__pattern translated;
    union {
        const struct tn_host *from;
        void *to;
    } data = {.from = host}; /* PCRE2 hands back what it was given */
    *re = (struct tn__regex){.host = host};
    TN_TRY(tn__pattern_translate(host, pattern, &translated, diag));
    pcre2_general_context *general =
        pcre2_general_context_create(host_alloc, host_free, data.to);
    pcre2_compile_context *context =
        general ? pcre2_compile_context_create(general) : NULL;
    tn_status status = compile(re, &translated, context, diag);
    if (status == TN_OK && translated.is_run) status = learn_run(re, diag);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    host->free(host->self, translated.data);
    return status;
}

void tn__regex_free(struct tn__regex *re) {
    if (re->code) pcre2_code_free(re->code);
    re->code = NULL;
}

/* ---- matching ---------------------------------------------------------------------------- */

static void *room_alloc(size_t size, void *matcher) {
    struct tn__matcher *m = matcher;
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof m->room - m->used) return NULL;
    m->used += size;
    return m->room + m->used - size;
}

static void room_free(void *ptr, void *matcher) {
    (void)ptr;
    (void)matcher;
}

/* One step: dearer the more ways are followed at the same place, each being held against
 * all others. */
static int count_step(pcre2_callout_block *block, void *matcher) {
    struct tn__matcher *m = matcher;
    m->active = block->current_position == m->position ? m->active + 1 : 0;
    m->position = block->current_position;
    m->left -= 1 + (int64_t)(m->active / ACTIVE_FREE);
    if (m->left < 0) return PCRE2_ERROR_MATCHLIMIT;
    if (++m->ticks % TICKS == 0 && m->run->interrupted(m->run) != TN_OK)
        return PCRE2_ERROR_CALLOUT;
    return 0;
}

tn_status tn__matcher_init(struct tn__matcher *m, struct tn_diag *diag) {
    m->used = 0;
    pcre2_general_context *general =
        pcre2_general_context_create(room_alloc, room_free, m);
    m->context = general ? pcre2_match_context_create(general) : NULL;
    m->data = m->context ? pcre2_match_data_create(1, general) : NULL;
    if (!m->data)
        return tn_fail(diag, TN_INTERNAL, "PCRE2's objects are larger than expected");
    /* for the recursion that no pattern of RE2's syntax asks for */
    pcre2_set_match_limit(m->context, 100000);
    pcre2_set_depth_limit(m->context, 1000);
    pcre2_set_heap_limit(m->context, 1024);
    pcre2_set_callout(m->context, count_step, m);
    return TN_OK;
}

void tn__matcher_begin(
    struct tn__matcher *m, const struct tn_run *run, struct tn_string text) {
    m->run = run;
    m->left = TN_REGEX_STEPS + TN_REGEX_BYTE_STEPS * (int64_t)text.size;
    m->ticks = 0;
    m->position = UINT64_MAX;
}

static int find(const struct tn__regex *re, struct tn__matcher *m, struct tn_string text,
    uint64_t from, uint32_t options, void *scratch, uint64_t *begin, uint64_t *end) {
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.size ? text.data : "");
    int code =
        pcre2_dfa_match(re->code, subject, text.size, from, options | PCRE2_NO_UTF_CHECK,
            m->data, m->context, scratch, re->scratch / sizeof(int));
    if (code == PCRE2_ERROR_NOMATCH) return TN_REGEX_NO;
    if (code == PCRE2_ERROR_CALLOUT) return TN_REGEX_STOPPED;
    if (code < 0) return TN_REGEX_LIMIT;
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(m->data);
    *begin = offsets[0];
    *end = offsets[1];
    return TN_REGEX_YES;
}

static bool takes(const struct tn__regex *re, unsigned char c) {
    return re->ascii[c / 64] >> c % 64 & 1;
}

/* The same for a run among ASCII characters; false when others come along. */
static bool find_run(const struct tn__regex *re, struct tn_string text, uint64_t from,
    uint64_t *begin, uint64_t *end) {
    const unsigned char *bytes = (const unsigned char *)text.data;
    while (from < text.size && bytes[from] < 0x80 && !takes(re, bytes[from]))
        from++;
    *begin = from;
    while (from < text.size && bytes[from] < 0x80 && takes(re, bytes[from]))
        from++;
    *end = from;
    return from == text.size || bytes[from] < 0x80;
}

/* The whole text matches when the longest match ends where it does. (PCRE2_ENDANCHORED says
 * the same, but PCRE2 10.42 forgets it for repeated groups.) */
int tn__regex_full_match(const struct tn__regex *re, struct tn__matcher *m,
    struct tn_string text, void *scratch) {
    uint64_t begin, end;
    if (re->is_run && find_run(re, text, 0, &begin, &end))
        return begin == 0 && end == text.size && end > 0 ? TN_REGEX_YES : TN_REGEX_NO;
    int result = find(re, m, text, 0, PCRE2_ANCHORED, scratch, &begin, &end);
    return result == TN_REGEX_YES && end != text.size ? TN_REGEX_NO : result;
}

int tn__regex_search(const struct tn__regex *re, struct tn__matcher *m,
    struct tn_string text, uint64_t from, void *scratch, uint64_t *begin, uint64_t *end) {
    if (re->is_run) {
        bool found = find_run(re, text, from, begin, end);
        m->left -= (int64_t)((*end - from) / RUN_BYTES);
        if (m->left < 0) return TN_REGEX_LIMIT;
        if (found) return *end > *begin ? TN_REGEX_YES : TN_REGEX_NO;
    }
    return find(re, m, text, from, 0, scratch, begin, end);
}

tn_status tn__regex_fail(const struct tn_run *run, int result, int64_t text) {
    if (result == TN_REGEX_STOPPED) return run->interrupted(run);
    return tn_fail(run->diag, TN_LIMIT_EXCEEDED,
        "text %lld takes the pattern more than %lld steps and %d a byte, or more ways at "
        "once than there is room for: simplify the pattern or shorten the text",
        (long long)text, (long long)TN_REGEX_STEPS, TN_REGEX_BYTE_STEPS);
}
