/* Case by utf8proc's tables. Those hold one letter for one; the mappings to several follow
 * from the case foldings, which are the lower case of the same sequences. */
#include "casing.h"

#include "utf8.h"

#include <stdbool.h>
#include <string.h>

enum {
    SIGMA = 0x3a3,
    FINAL_SIGMA = 0x3c2,
    DOTTED_I = 0x130,
    DOT_ABOVE = 0x307,
    MOST = 3 /* letters that one becomes */
};

/* Whether the character has no say in where a word ends. */
static bool is_ignorable(uint32_t c) {
    static const uint16_t marks[] = {'\'', '.', ':', 0xb7, 0x387, 0x55f, 0x5f4, 0x2018,
        0x2019, 0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (c == marks[i]) return true;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return false;
    }
}

static bool is_cased(uint32_t c) {
    utf8proc_int32_t letter = (utf8proc_int32_t)c;
    switch (utf8proc_category(letter)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT: return true;
    default: break;
    }
    bool enclosed = (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
                    (c >= 0x1f170 && c <= 0x1f189); /* capitals without a small form */
    return enclosed || c == 0xaa || c == 0xba || utf8proc_tolower(letter) != letter ||
           utf8proc_toupper(letter) != letter;
}

/* Whether a cased letter comes next, behind ignorable characters. */
static bool word_goes_on(const char *text, size_t size) {
    for (size_t at = 0, n; at < size; at += n) {
        uint32_t c = tn__utf8_decode(text + at, size - at, &n);
        if (c == TN_UTF8_INVALID) return false;
        if (!is_ignorable(c)) return is_cased(c);
    }
    return false;
}

static size_t lower(uint32_t c, uint32_t *out) {
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    if (c != DOTTED_I) return 1;
    out[0] = 'i';
    out[1] = DOT_ABOVE;
    return 2;
}

static size_t upper(uint32_t c, uint32_t *out) {
    utf8proc_int32_t letter = (utf8proc_int32_t)c, folded[MOST + 1];
    int boundary = 0;
    out[0] = c;
    if (utf8proc_category(letter) == UTF8PROC_CATEGORY_LU) return 1;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(letter, folded, MOST + 1, UTF8PROC_CASEFOLD, &boundary);
    if (n < 2 || n > MOST) {
        out[0] = (uint32_t)utf8proc_toupper(letter);
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++)
        out[i] = (uint32_t)utf8proc_toupper(folded[i]);
    return (size_t)n;
}

struct tn_string tn__change_case(enum tn__case change, struct tn_string text, char *out) {
    size_t used = 0;
    bool in_word = false; /* a cased letter came last, ignorable characters apart */
    for (size_t at = 0, n; at < text.size; at += n) {
        uint32_t c = tn__utf8_decode(text.data + at, text.size - at, &n);
        uint32_t letters[MOST];
        size_t count = 1;
        letters[0] = c;
        if (c == TN_UTF8_INVALID) {
            out[used++] = text.data[at];
            in_word = false;
            continue;
        }
        if (change == TN_CASE_LOWER) {
            bool last = c == SIGMA && in_word &&
                        !word_goes_on(text.data + at + n, text.size - at - n);
            count = lower(c, letters);
            if (last) letters[0] = FINAL_SIGMA;
            if (!is_ignorable(c)) in_word = is_cased(c);
        } else if (change == TN_CASE_UPPER) {
            count = upper(c, letters);
        }
        for (size_t i = 0; i < count; i++)
            used += tn__utf8_encode(letters[i], out + used);
    }
    return (struct tn_string){out, used};
}
