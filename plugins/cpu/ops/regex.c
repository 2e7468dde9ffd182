/* Patterns in RE2's syntax into programs of steps with relative jumps, so that a piece of
 * program can be moved and repeated as it is. */
#include "ops/regex.h"

#include "ops/utf8.h"
#include "tenon/helper/diag.h"

#include <stdbool.h>
#include <string.h>

enum {
    STEPS_MAX = 20000,
    DEPTH_MAX = 100,
    REPEAT_MAX = 1000,
    FLAG_FOLD = 1,
    FLAG_LINES = 2,
    FLAG_DOT_ALL = 4
};

struct parser {
    struct tn__regex *re;
    const char *at, *end;
    int flags, depth;
    struct tn_diag *diag;
};

static tn_status refuse(const struct parser *p, const char *why) {
    return tn_fail(p->diag, TN_INVALID_MODEL,
        "the pattern cannot be read %lld bytes before its end: %s",
        (long long)(p->end - p->at), why);
}

static bool take(struct parser *p, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0) return false;
    p->at += n;
    return true;
}

/* ---- program ----------------------------------------------------------------------------- */

/* Makes room for n more elements of `size` bytes. */
static tn_status grow(const struct parser *p, void **list, uint32_t *room, uint32_t used,
    uint32_t n, size_t size) {
    const struct tn_host *host = p->re->host;
    if (used + n > STEPS_MAX) return refuse(p, "the pattern is too large");
    if (used + n <= *room) return TN_OK;
    uint32_t wanted = (used + n) * 2;
    void *fresh = host->alloc(host->self, wanted * size, 0, "pattern");
    if (!fresh) return tn_fail(p->diag, TN_OUT_OF_MEMORY, "no memory for a pattern");
    if (used) memcpy(fresh, *list, used * size);
    if (*list) host->free(host->self, *list);
    *list = fresh;
    *room = wanted;
    return TN_OK;
}

/* Inserts a step at `at`, moving what stands behind. */
static tn_status insert(struct parser *p, uint32_t at, struct tn__regex_step step) {
    struct tn__regex *re = p->re;
    void *list = re->steps;
    TN_TRY(grow(p, &list, &re->step_room, re->n_steps, 1, sizeof step));
    re->steps = list;
    memmove(re->steps + at + 1, re->steps + at, (re->n_steps - at) * sizeof step);
    re->steps[at] = step;
    re->n_steps++;
    return TN_OK;
}

static tn_status append(struct parser *p, uint8_t op, int32_t x, int32_t y) {
    return insert(p, p->re->n_steps, (struct tn__regex_step){op, 0, x, y});
}

/* Appends a copy of steps [begin, begin + n). */
static tn_status repeat(struct parser *p, uint32_t begin, uint32_t n) {
    struct tn__regex *re = p->re;
    void *list = re->steps;
    TN_TRY(grow(p, &list, &re->step_room, re->n_steps, n, sizeof *re->steps));
    re->steps = list;
    if (n) memcpy(re->steps + re->n_steps, re->steps + begin, n * sizeof *re->steps);
    re->n_steps += n;
    return TN_OK;
}

static tn_status add_range(struct parser *p, uint32_t low, uint32_t high) {
    struct tn__regex *re = p->re;
    void *list = re->ranges;
    TN_TRY(grow(p, &list, &re->range_room, re->n_ranges, 1, sizeof *re->ranges));
    re->ranges = list;
    re->ranges[re->n_ranges++] = (struct tn__regex_range){low, high};
    return TN_OK;
}

/* A range that the pattern spells out. */
static tn_status add_literal(struct parser *p, uint32_t low, uint32_t high) {
    if ((p->flags & FLAG_FOLD) && high >= 0x80)
        return refuse(p, "the flag i is known for ASCII letters only");
    return add_range(p, low, high);
}

/* ---- classes ----------------------------------------------------------------------------- */

/* Ascending pairs of first and last characters. */
static const struct class {
    const char *name;
    const char *pairs;
} classes[] = {
    {"d", "09"},
    {"s", "\t\n\f\r  "},
    {"w", "09AZ__az"},
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"ascii", "\x01\x7f"},
    {"blank", "\t\t  "},
    {"cntrl", "\x01\x1f\x7f\x7f"},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

/* NUL belongs to ascii and cntrl too: a text of pairs cannot hold it. */
static bool holds_nul(const struct class *class) {
    return class->pairs[0] == 1;
}

static tn_status add_class(struct parser *p, const char *name, size_t n, bool negated) {
    const struct class *class = NULL;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == n && memcmp(classes[i].name, name, n) == 0)
            class = &classes[i];
    if (!class) return refuse(p, "there is no class of this name");
    uint32_t next = 0; /* the first character that no range so far has passed */
    if (holds_nul(class) && !negated) TN_TRY(add_range(p, 0, 0));
    if (holds_nul(class)) next = 1;
    for (const char *pair = class->pairs; *pair; pair += 2) {
        uint32_t low = (unsigned char)pair[0], high = (unsigned char)pair[1];
        if (!negated) TN_TRY(add_range(p, low, high));
        if (negated && next < low) TN_TRY(add_range(p, next, low - 1));
        next = high + 1;
    }
    return negated ? add_range(p, next, 0x10ffff) : TN_OK;
}

static tn_status decode(struct parser *p, uint32_t *out) {
    size_t n;
    *out = tn__utf8_decode(p->at, (size_t)(p->end - p->at), &n);
    if (*out == TN_UTF8_INVALID) return refuse(p, "it is no UTF-8");
    p->at += n;
    return TN_OK;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Up to `most` digits; false when there is none. */
static bool read_digits(struct parser *p, int base, int most, uint32_t *out) {
    const char *begin = p->at;
    *out = 0;
    while (p->at < p->end && p->at - begin < most && digit_of(*p->at) < base)
        *out = *out * (uint32_t)base + (uint32_t)digit_of(*p->at++);
    return p->at > begin;
}

/* The character that an escape (behind its backslash) stands for. */
static tn_status read_escape(struct parser *p, uint32_t *out) {
    static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    if (p->at >= p->end) return refuse(p, "a backslash stands last");
    char c = *p->at;
    const char *letter = c ? strchr(letters, c) : NULL;
    bool punctuation =
        c > ' ' && c < 0x7f && digit_of(c) > 9 && !((c | 32) >= 'a' && (c | 32) <= 'z');
    if (letter || punctuation) {
        *out = (uint32_t)(letter ? values[letter - letters] : c);
        p->at++;
        return TN_OK;
    }
    if (c == '0' && read_digits(p, 8, 3, out)) return TN_OK;
    if (c != 'x') return refuse(p, "this escape is not known");
    p->at++;
    bool braces = take(p, "{");
    const char *begin = p->at;
    if (!read_digits(p, 16, braces ? 6 : 2, out) || *out > 0x10ffff ||
        (braces ? !take(p, "}") : p->at - begin != 2))
        return refuse(p, "\\x needs two digits, or up to 10FFFF in braces");
    return TN_OK;
}

/* Takes \d, \s, \w and their opposites, when they come next. */
static tn_status take_perl_class(struct parser *p, bool *out_taken) {
    *out_taken = false;
    if (p->end - p->at < 2 || p->at[0] != '\\' || !p->at[1] ||
        !strchr("dswDSW", p->at[1]))
        return TN_OK;
    char lower = (char)(p->at[1] | 32);
    *out_taken = true;
    TN_TRY(add_class(p, &lower, 1, p->at[1] != lower));
    p->at += 2;
    return TN_OK;
}

static tn_status take_posix_class(struct parser *p, bool *out_taken) {
    *out_taken = false;
    if (!take(p, "[:")) return TN_OK;
    bool negated = take(p, "^");
    const char *name = p->at;
    while (p->at < p->end && *p->at >= 'a' && *p->at <= 'z')
        p->at++;
    size_t n = (size_t)(p->at - name);
    if (!take(p, ":]")) return refuse(p, "a class [: has no end :]");
    *out_taken = true;
    return add_class(p, name, n, negated);
}

static tn_status read_class_char(struct parser *p, uint32_t *out) {
    if (p->at >= p->end) return refuse(p, "a class [ has no end ]");
    if (take(p, "\\")) return read_escape(p, out);
    return decode(p, out);
}

/* What follows [, up to its ]. */
static tn_status read_class(struct parser *p) {
    struct tn__regex *re = p->re;
    uint32_t first = re->n_ranges, step = re->n_steps;
    uint8_t flags = take(p, "^") ? TN_REGEX_NEGATED : 0;
    if (p->flags & FLAG_FOLD) flags |= TN_REGEX_FOLDED;
    for (bool begin = true; begin || !take(p, "]"); begin = false) {
        bool taken;
        TN_TRY(take_perl_class(p, &taken));
        if (!taken) TN_TRY(take_posix_class(p, &taken));
        if (taken) continue;
        uint32_t low, high;
        TN_TRY(read_class_char(p, &low));
        high = low;
        if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            TN_TRY(read_class_char(p, &high));
        }
        if (high < low) return refuse(p, "a range runs backwards");
        TN_TRY(add_literal(p, low, high));
    }
    TN_TRY(append(p, TN_REGEX_SET, (int32_t)first, (int32_t)(re->n_ranges - first)));
    re->steps[step].flags = flags;
    return TN_OK;
}

static tn_status append_char(struct parser *p, uint32_t c) {
    TN_TRY(add_literal(p, c, c));
    TN_TRY(append(p, TN_REGEX_SET, (int32_t)p->re->n_ranges - 1, 1));
    if (p->flags & FLAG_FOLD) p->re->steps[p->re->n_steps - 1].flags = TN_REGEX_FOLDED;
    return TN_OK;
}

/* ---- pieces ------------------------------------------------------------------------------ */

static tn_status read_alternatives(struct parser *p);

/* (?flags), (?flags:…), (?:…), (?P<name>…): what follows (?; *out_open when a group begins. */
static tn_status read_group_head(struct parser *p, bool *out_open) {
    static const char letters[] = "imsU";
    static const int bits[] = {FLAG_FOLD, FLAG_LINES, FLAG_DOT_ALL, 0};
    bool off = false;
    *out_open = true;
    if (take(p, "P<") || take(p, "<")) {
        while (p->at < p->end && *p->at != '>')
            p->at++;
        return take(p, ">") ? TN_OK : refuse(p, "the name of a group has no end >");
    }
    for (; p->at < p->end; p->at++) {
        const char *letter = *p->at ? strchr(letters, *p->at) : NULL;
        if (take(p, ":")) return TN_OK;
        if (take(p, ")")) {
            *out_open = false;
            return TN_OK;
        }
        if (*p->at == '-' && !off)
            off = true;
        else if (letter)
            p->flags = off ? p->flags & ~bits[letter - letters]
                           : p->flags | bits[letter - letters];
        else
            break;
    }
    return refuse(p, "this kind of group is not known");
}

/* What follows an opening parenthesis. */
static tn_status read_group(struct parser *p, bool *out_piece) {
    int flags = p->flags;
    *out_piece = true;
    if (take(p, "?")) TN_TRY(read_group_head(p, out_piece));
    if (!*out_piece) return TN_OK;
    if (++p->depth > DEPTH_MAX) return refuse(p, "groups lie too deep in each other");
    TN_TRY(read_alternatives(p));
    p->depth--;
    p->flags = flags;
    return take(p, ")") ? TN_OK : refuse(p, "a group ( has no end )");
}

/* The escapes that are no characters. *out_piece: one was read. */
static tn_status read_special(struct parser *p, bool *out_piece) {
    static const struct {
        const char *text;
        int32_t assertion;
    } assertions[] = {{"\\A", TN_REGEX_TEXT_BEGIN}, {"\\z", TN_REGEX_TEXT_END},
        {"\\b", TN_REGEX_WORD_EDGE}, {"\\B", TN_REGEX_NO_WORD_EDGE}};
    uint32_t first = p->re->n_ranges;
    TN_TRY(take_perl_class(p, out_piece));
    if (*out_piece)
        return append(
            p, TN_REGEX_SET, (int32_t)first, (int32_t)(p->re->n_ranges - first));
    *out_piece = true;
    for (size_t i = 0; i < sizeof assertions / sizeof *assertions; i++)
        if (take(p, assertions[i].text))
            return append(p, TN_REGEX_ASSERT, assertions[i].assertion, 0);
    *out_piece = false;
    return TN_OK;
}

/* The text between \Q and \E, of which the last character is a piece of its own. */
static tn_status read_quoted(struct parser *p, uint32_t *begin, bool *out_piece) {
    *out_piece = false;
    while (p->at < p->end && !take(p, "\\E")) {
        uint32_t c;
        *begin = p->re->n_steps;
        *out_piece = true;
        TN_TRY(decode(p, &c));
        TN_TRY(append_char(p, c));
    }
    return TN_OK;
}

/* One piece without its repetition; *begin is its first step, *out_piece whether there is
 * one to repeat. */
static tn_status read_piece(struct parser *p, uint32_t *begin, bool *out_piece) {
    uint32_t c;
    *begin = p->re->n_steps;
    *out_piece = true;
    if (take(p, "(")) return read_group(p, out_piece);
    if (take(p, "[")) return read_class(p);
    if (take(p, "^"))
        return append(p, TN_REGEX_ASSERT,
            p->flags & FLAG_LINES ? TN_REGEX_LINE_BEGIN : TN_REGEX_TEXT_BEGIN, 0);
    if (take(p, "$"))
        return append(p, TN_REGEX_ASSERT,
            p->flags & FLAG_LINES ? TN_REGEX_LINE_END : TN_REGEX_TEXT_END, 0);
    if (take(p, ".")) {
        TN_TRY(add_range(p, '\n', '\n'));
        TN_TRY(append(p, TN_REGEX_SET, (int32_t)p->re->n_ranges - 1,
            p->flags & FLAG_DOT_ALL ? 0 : 1));
        p->re->steps[*begin].flags = TN_REGEX_NEGATED;
        return TN_OK;
    }
    if (take(p, "\\Q")) return read_quoted(p, begin, out_piece);
    TN_TRY(read_special(p, out_piece));
    if (*out_piece) return TN_OK;
    *out_piece = true;
    if (strchr("*+?", *p->at) && *p->at) return refuse(p, "there is nothing to repeat");
    TN_TRY(take(p, "\\") ? read_escape(p, &c) : decode(p, &c));
    return append_char(p, c);
}

/* {n}, {n,} or {n,m}; anything else in braces is text. *most -1: without bound. */
static bool take_counts(struct parser *p, int64_t *least, int64_t *most) {
    const char *begin = p->at;
    uint32_t low, high;
    if (!take(p, "{") || !read_digits(p, 10, 9, &low)) {
        p->at = begin;
        return false;
    }
    *least = *most = low;
    if (take(p, ",")) *most = read_digits(p, 10, 9, &high) ? (int64_t)high : -1;
    if (take(p, "}")) return true;
    p->at = begin;
    return false;
}

/* Repeats the steps from `begin` on. */
static tn_status repeat_piece(
    struct parser *p, uint32_t begin, int64_t least, int64_t most) {
    uint32_t n = p->re->n_steps - begin;
    int32_t size = (int32_t)n;
    if (least > REPEAT_MAX || most > REPEAT_MAX || (most >= 0 && most < least))
        return refuse(p, "repetitions are 0 to 1000, the smaller number first");
    if (most == 0) {
        p->re->n_steps = begin;
        return TN_OK;
    }
    for (int64_t i = 1; i < least; i++)
        TN_TRY(repeat(p, begin, n));
    if (most < 0 && least > 0) return append(p, TN_REGEX_SPLIT, -size, 1);
    if (least == 0) {
        TN_TRY(insert(p, begin, (struct tn__regex_step){TN_REGEX_SPLIT, 0, 1, size + 1}));
        if (most < 0) {
            p->re->steps[begin].y++;
            return append(p, TN_REGEX_JUMP, -(size + 1), 0);
        }
        for (int64_t i = 1; i < most; i++)
            TN_TRY(repeat(p, begin, n + 1));
        return TN_OK;
    }
    for (int64_t i = least; i < most; i++) {
        TN_TRY(append(p, TN_REGEX_SPLIT, 1, size + 1));
        TN_TRY(repeat(p, begin, n));
    }
    return TN_OK;
}

static tn_status read_sequence(struct parser *p) {
    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        uint32_t begin;
        bool piece;
        int64_t least = 0, most = -1;
        TN_TRY(read_piece(p, &begin, &piece));
        if (!piece) continue;
        if (take(p, "+"))
            least = 1;
        else if (take(p, "?"))
            most = 1;
        else if (!take(p, "*") && !take_counts(p, &least, &most))
            continue;
        (void)take(
            p, "?"); /* which match is preferred does not matter for a whole text */
        TN_TRY(repeat_piece(p, begin, least, most));
        if ((p->at < p->end && *p->at && strchr("*+?", *p->at)) ||
            take_counts(p, &least, &most))
            return refuse(p, "a repetition cannot be repeated");
    }
    return TN_OK;
}

static tn_status read_alternatives(struct parser *p) {
    uint32_t begin = p->re->n_steps;
    TN_TRY(read_sequence(p));
    while (take(p, "|")) {
        int32_t size = (int32_t)(p->re->n_steps - begin);
        TN_TRY(insert(p, begin, (struct tn__regex_step){TN_REGEX_SPLIT, 0, 1, size + 2}));
        uint32_t jump = p->re->n_steps;
        TN_TRY(append(p, TN_REGEX_JUMP, 0, 0));
        TN_TRY(read_sequence(p));
        p->re->steps[jump].x = (int32_t)(p->re->n_steps - jump);
    }
    return TN_OK;
}

tn_status tn__regex_compile(struct tn__regex *re, const struct tn_host *host,
    struct tn_string pattern, struct tn_diag *diag) {
    static const char empty[] = "";
    const char *begin = pattern.size ? pattern.data : empty;
    struct parser p = {re, begin, begin + pattern.size, 0, 0, diag};
    memset(re, 0, sizeof *re);
    re->host = host;
    TN_TRY(read_alternatives(&p));
    if (p.at < p.end) return refuse(&p, "a group ) has no beginning (");
    return append(&p, TN_REGEX_MATCH, 0, 0);
}

void tn__regex_free(struct tn__regex *re) {
    if (re->steps) re->host->free(re->host->self, re->steps);
    if (re->ranges) re->host->free(re->host->self, re->ranges);
    re->steps = NULL;
    re->ranges = NULL;
}
