/* One walk over a pattern: each piece is read, checked and written in PCRE2's syntax. Groups
 * need no tree, only their depth. */
#include "pattern.h"

#include "tenon/helper/diag.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum {
    SIZE_MOST = 32768, /* bytes of a pattern */
    GROWTH = 32,       /* no piece of n bytes grows to more than n times this */
    DEPTH_MOST = 100,
    REPEAT_MOST = 1000
};

/* What came last, for what may follow. */
enum piece { NOTHING, PIECE, REPETITION };

struct reader {
    const char *at, *end;
    char *out;
    size_t used, room;
    int depth;
    enum piece last;
    int pieces;
    bool single, plus; /* a piece of one character, a + was among them */
    struct tn_diag *diag;
};

static tn_status refuse(const struct reader *r, const char *why) {
    return tn_fail(r->diag, TN_INVALID_MODEL,
        "the pattern cannot be read %lld bytes before its end: %s",
        (long long)(r->end - r->at), why);
}

static bool take(struct reader *r, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void put_bytes(struct reader *r, const char *bytes, size_t n) {
    if (n > r->room - r->used) return; /* GROWTH is too small: cannot be */
    memcpy(r->out + r->used, bytes, n);
    r->used += n;
}

static void put(struct reader *r, const char *text) {
    put_bytes(r, text, strlen(text));
}

/* A character that stands for itself, in a class or outside. */
static void put_char(struct reader *r, uint32_t c) {
    char text[16];
    bool plain =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    int n = plain ? snprintf(text, sizeof text, "%c", (char)c)
                  : snprintf(text, sizeof text, "\\x{%" PRIx32 "}", c);
    put_bytes(r, text, (size_t)n);
}

/* ---- characters -------------------------------------------------------------------------- */

static tn_status decode(struct reader *r, uint32_t *out) {
    size_t n;
    *out = tn__utf8_decode(r->at, (size_t)(r->end - r->at), &n);
    if (*out == TN_UTF8_INVALID) return refuse(r, "it is no UTF-8");
    r->at += n;
    return TN_OK;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Up to `most` digits; false when there is none. */
static bool read_digits(struct reader *r, int base, int most, uint32_t *out) {
    const char *begin = r->at;
    *out = 0;
    while (r->at < r->end && r->at - begin < most && digit_of(*r->at) < base)
        *out = *out * (uint32_t)base + (uint32_t)digit_of(*r->at++);
    return r->at > begin;
}

static tn_status read_hex(struct reader *r, uint32_t *out) {
    bool braces = take(r, "{");
    const char *begin = r->at;
    if (!read_digits(r, 16, braces ? 6 : 2, out) || *out > 0x10ffff ||
        (*out >= 0xd800 && *out < 0xe000) ||
        (braces ? !take(r, "}") : r->at - begin != 2))
        return refuse(r, "\\x needs two digits, or a character up to 10FFFF in braces");
    return TN_OK;
}

/* The character that an escape (behind its backslash) stands for. */
static tn_status read_escape(struct reader *r, uint32_t *out) {
    static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    if (r->at >= r->end) return refuse(r, "a backslash stands last");
    char c = *r->at;
    const char *letter = c ? strchr(letters, c) : NULL;
    bool punctuation =
        c > ' ' && c < 0x7f && digit_of(c) > 9 && !((c | 32) >= 'a' && (c | 32) <= 'z');
    if (letter || punctuation) {
        *out = (uint32_t)(letter ? values[letter - letters] : c);
        r->at++;
        return TN_OK;
    }
    bool octal = c >= '1' && c <= '7' && r->end - r->at >= 2 && digit_of(r->at[1]) < 8;
    if ((c == '0' || octal) && read_digits(r, 8, 3, out)) return TN_OK;
    if (c >= '1' && c <= '9') return refuse(r, "back references are not known");
    if (c == 'C') return refuse(r, "\\C, a single byte, is not known");
    if (take(r, "x")) return read_hex(r, out);
    return refuse(r, "this escape is not known");
}

/* ---- classes ----------------------------------------------------------------------------- */

/* Classes of one letter: as pieces and within brackets. */
static const struct class {
    const char *letter, *piece, *member;
} classes[] = {
    {"\\d", "[0-9]", "0-9"},
    {"\\D", "[^0-9]", "\\D"},
    {"\\w", "[0-9A-Za-z_]", "0-9A-Za-z_"},
    {"\\W", "[^0-9A-Za-z_]", "\\W"},
    {"\\s", "[\\t\\n\\f\\r ]", "\\t\\n\\f\\r "},
    {"\\S", "[^\\t\\n\\f\\r ]", "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}!-\\x{10ffff}"},
};

static bool take_letter_class(struct reader *r, bool member) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!take(r, classes[i].letter)) continue;
        put(r, member ? classes[i].member : classes[i].piece);
        return true;
    }
    return false;
}

/* \pN, \p{Greek}, \P{^Lu}: general categories have one or two letters, the rest are
 * scripts. */
static tn_status take_property(struct reader *r, bool *out_taken) {
    char name[40];
    bool negated = take(r, "\\P");
    *out_taken = negated || take(r, "\\p");
    if (!*out_taken) return TN_OK;
    if (r->at >= r->end) return refuse(r, "\\p has no name");
    size_t n = 1;
    const char *begin = r->at;
    if (take(r, "{")) {
        if (take(r, "^")) negated = !negated;
        begin = r->at;
        while (r->at < r->end && *r->at != '}')
            r->at++;
        n = (size_t)(r->at - begin);
        if (!take(r, "}")) return refuse(r, "\\p{ has no end }");
    } else {
        r->at++;
    }
    if (n == 0 || n >= sizeof name) return refuse(r, "there is no such property");
    for (size_t i = 0; i < n; i++) {
        char letter = (char)(begin[i] | 32);
        if (begin[i] != '_' && (letter < 'a' || letter > 'z'))
            return refuse(r, "there is no such property");
    }
    memcpy(name, begin, n);
    name[n] = '\0';
    put(r, negated ? "\\P{" : "\\p{");
    if (n > 2 && strcmp(name, "Any") != 0) put(r, TN_TEXT_SCRIPT);
    put(r, name);
    put(r, "}");
    return TN_OK;
}

static tn_status take_posix_class(struct reader *r, bool *out_taken) {
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl",
        "digit", "graph", "lower", "print", "punct", "space", "upper", "word", "xdigit"};
    const char *begin = r->at;
    *out_taken = false;
    if (!take(r, "[:")) return TN_OK;
    (void)take(r, "^");
    const char *name = r->at;
    while (r->at < r->end && *r->at >= 'a' && *r->at <= 'z')
        r->at++;
    size_t n = (size_t)(r->at - name), i = 0;
    if (!take(r, ":]")) return refuse(r, "a class [: has no end :]");
    while (i < sizeof names / sizeof *names &&
           (strlen(names[i]) != n || memcmp(names[i], name, n) != 0))
        i++;
    if (i == sizeof names / sizeof *names)
        return refuse(r, "there is no class of this name");
    put_bytes(r, begin, (size_t)(r->at - begin));
    *out_taken = true;
    return TN_OK;
}

static tn_status read_member(struct reader *r, uint32_t *out) {
    if (r->at >= r->end) return refuse(r, "a class [ has no end ]");
    if (take(r, "\\")) return read_escape(r, out);
    return decode(r, out);
}

/* What follows [, up to its ]. */
static tn_status read_class(struct reader *r) {
    put(r, take(r, "^") ? "[^" : "[");
    for (bool begin = true; begin || !take(r, "]"); begin = false) {
        bool taken = take_letter_class(r, true);
        if (!taken) TN_TRY(take_property(r, &taken));
        if (!taken) TN_TRY(take_posix_class(r, &taken));
        if (taken) continue;
        uint32_t low, high;
        TN_TRY(read_member(r, &low));
        put_char(r, low);
        if (r->end - r->at < 2 || r->at[0] != '-' || r->at[1] == ']') continue;
        r->at++;
        TN_TRY(read_member(r, &high));
        if (high < low) return refuse(r, "a range runs backwards");
        put(r, "-");
        put_char(r, high);
    }
    put(r, "]");
    return TN_OK;
}

/* ---- groups and repetitions -------------------------------------------------------------- */

/* What follows (: all groups become (?:, except that flags are kept. */
static tn_status open_group(struct reader *r) {
    bool off = false, named = false;
    r->last = NOTHING;
    if (!take(r, "?") || take(r, ":") || (named = take(r, "P<") || take(r, "<"))) {
        while (named && r->at < r->end && *r->at != '>' && *r->at != '=' && *r->at != '!')
            r->at++;
        if (named && !take(r, ">")) return refuse(r, "the name of a group has no end >");
        put(r, "(?:");
        if (++r->depth <= DEPTH_MOST) return TN_OK;
        return refuse(r, "groups lie too deep in each other");
    }
    put(r, "(?");
    for (; r->at < r->end; r->at++) {
        bool known = *r->at && strchr("imsU", *r->at);
        if (take(r, ")")) {
            put(r, ")");
            return TN_OK;
        }
        if (take(r, ":")) {
            put(r, ":");
            r->depth++;
            return r->depth <= DEPTH_MOST
                       ? TN_OK
                       : refuse(r, "groups lie too deep in each other");
        }
        if (!known && (*r->at != '-' || off)) break;
        off = off || *r->at == '-';
        put_bytes(r, r->at, 1);
    }
    return refuse(r, "this kind of group is not known");
}

/* {n}, {n,} or {n,m}; anything else in braces is text. *most -1: without bound. */
static bool take_counts(struct reader *r, int64_t *least, int64_t *most) {
    const char *begin = r->at;
    uint32_t low, high;
    if (take(r, "{") && read_digits(r, 10, 9, &low)) {
        *least = *most = low;
        if (take(r, ",")) *most = read_digits(r, 10, 9, &high) ? (int64_t)high : -1;
        if (take(r, "}")) return true;
    }
    r->at = begin;
    return false;
}

/* A repetition, when one comes next. */
static tn_status take_repetition(struct reader *r, bool *out_taken) {
    const char *begin = r->at;
    int64_t least = 0, most = -1;
    *out_taken =
        take(r, "*") || take(r, "+") || take(r, "?") || take_counts(r, &least, &most);
    if (!*out_taken) return TN_OK;
    if (r->last == NOTHING) return refuse(r, "there is nothing to repeat");
    if (r->last == REPETITION) return refuse(r, "a repetition cannot be repeated");
    if (least > REPEAT_MOST || most > REPEAT_MOST || (most >= 0 && most < least))
        return refuse(r, "repetitions are 0 to 1000, the smaller number first");
    (void)take(r, "?");
    put_bytes(r, begin, (size_t)(r->at - begin));
    r->plus = *begin == '+';
    r->last = REPETITION;
    return TN_OK;
}

/* The text between \Q and \E. */
static tn_status read_quoted(struct reader *r) {
    while (r->at < r->end && !take(r, "\\E")) {
        uint32_t c;
        TN_TRY(decode(r, &c));
        put_char(r, c);
        r->last = PIECE;
    }
    return TN_OK;
}

/* Pieces whose text is fixed. */
static bool take_fixed(struct reader *r) {
    static const struct {
        const char *from, *to;
    } pieces[] = {{"^", "(?:^)"}, {"$", "(?:$)"}, {"\\A", "(?:\\A)"}, {"\\z", "(?:\\z)"},
        {"\\b", "(?:\\b)"}, {"\\B", "(?:\\B)"}, {".", "."}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        if (!take(r, pieces[i].from)) continue;
        put(r, pieces[i].to);
        return true;
    }
    return false;
}

static tn_status read_piece(struct reader *r) {
    bool taken;
    uint32_t c;
    r->pieces++;
    TN_TRY(take_repetition(r, &taken));
    if (taken) return TN_OK;
    if (take(r, "(")) return open_group(r);
    if (take(r, "|")) {
        put(r, "|");
        r->last = NOTHING;
        return TN_OK;
    }
    if (take(r, "\\Q")) return read_quoted(r);
    r->last = PIECE;
    if (take(r, ")")) {
        put(r, ")");
        return --r->depth >= 0 ? TN_OK : refuse(r, "a group ) has no beginning (");
    }
    if (take_fixed(r)) return TN_OK;
    r->single = true;
    if (take(r, "[")) return read_class(r);
    if (take_letter_class(r, false)) return TN_OK;
    TN_TRY(take_property(r, &taken));
    if (taken) return TN_OK;
    TN_TRY(take(r, "\\") ? read_escape(r, &c) : decode(r, &c));
    put_char(r, c);
    return TN_OK;
}

tn_status tn__pattern_translate(const struct tn_host *host, struct tn_string pattern,
    struct tn__pattern *out, struct tn_diag *diag) {
    if (pattern.size > SIZE_MOST)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "the pattern has %llu bytes, at most %d are taken",
            (unsigned long long)pattern.size, SIZE_MOST);
    struct reader r = {pattern.data, pattern.size ? pattern.data + pattern.size : NULL,
        .room = GROWTH * (size_t)(pattern.size + 1), .diag = diag};
    if (!pattern.size) r.at = r.end;
    r.out = host->alloc(host->self, r.room, 0, "pattern");
    if (!r.out) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a pattern");
    tn_status status = TN_OK;
    while (status == TN_OK && r.at < r.end)
        status = read_piece(&r);
    if (status == TN_OK && r.depth > 0) status = refuse(&r, "a group ( has no end )");
    if (status != TN_OK) {
        host->free(host->self, r.out);
        return status;
    }
    *out = (struct tn__pattern){r.out, r.used, r.pieces == 2 && r.single && r.plus};
    return TN_OK;
}
