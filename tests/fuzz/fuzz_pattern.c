/* Any bytes as a pattern and, behind the first NUL, a text: the pattern is refused or
 * compiled, its matches lie within the text and end, and changing the case of the text stays
 * within the room that it is promised. */
#include "casing.h"
#include "regex.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *host_alloc(void *self, uint64_t size, uint64_t align, const char *tag) {
    (void)self;
    (void)align;
    (void)tag;
    return malloc(size ? size : 1);
}

static void host_free(void *self, void *ptr) {
    (void)self;
    free(ptr);
}

static tn_status never(const struct tn_run *run) {
    (void)run;
    return TN_OK;
}

static void change(struct tn_string text) {
    char *out = malloc(TN_CASE_GROWTH * text.size + 1);
    if (!out) return;
    if (tn__change_case(TN_CASE_LOWER, text, out).size > TN_CASE_GROWTH * text.size)
        abort();
    if (tn__change_case(TN_CASE_UPPER, text, out).size > TN_CASE_GROWTH * text.size)
        abort();
    free(out);
}

static void match(const struct tn__regex *re, struct tn_string text) {
    const struct tn_run run = {.interrupted = never};
    struct tn__matcher matcher;
    struct tn_diag diag = {0};
    void *scratch = malloc(re->scratch);
    if (!scratch) return;
    if (tn__matcher_init(&matcher, &diag) != TN_OK) abort();
    tn__matcher_begin(&matcher, &run, text);
    matcher.left = 100000; /* inputs per second matter more than steps */
    (void)tn__regex_full_match(re, &matcher, text, scratch);
    for (uint64_t at = 0, begin, end; at <= text.size; at = end > at ? end : at + 1) {
        if (at < text.size && ((unsigned char)text.data[at] & 0xc0) == 0x80) {
            end = at;
            continue; /* within a character */
        }
        if (tn__regex_search(re, &matcher, text, at, scratch, &begin, &end) !=
            TN_REGEX_YES)
            break;
        if (begin < at || end < begin || end > text.size) abort();
    }
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct tn_host host = {.alloc = host_alloc, .free = host_free};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;
    struct tn_string pattern = {(const char *)data, n};
    struct tn_string text = {(const char *)data + n, size - n};
    struct tn__regex re;
    struct tn_diag diag = {0};
    change(text);
    if (tn__regex_compile(&re, &host, pattern, &diag) == TN_OK) {
        if (tn__utf8_count(text.data, text.size) != SIZE_MAX) match(&re, text);
    } else if (!diag.message[0]) {
        abort();
    }
    tn__regex_free(&re);
    return 0;
}
