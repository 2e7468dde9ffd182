/* The lexer of the text format: see text_lex.h. */
#include "core/model/text_lex.h"

#include "core/model/model.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static tn_status fail_at(
    struct tn__lexer *lexer, uint32_t line, uint32_t column, const char *what) {
    return tn__fail_rule(lexer->diag, TN_RULE_TEXT_SYNTAX, "%s: line %u, column %u: %s",
        lexer->label, line, column, what);
}

tn_status tn__lexer_fail(struct tn__lexer *lexer, const char *expected) {
    const struct tn__token *token = &lexer->token;
    char what[200];
    if (token->kind == TN_TOKEN_END)
        snprintf(what, sizeof what, "the text ends, expected %s", expected);
    else
        snprintf(what, sizeof what, "found '%.60s', expected %s", token->text, expected);
    return fail_at(lexer, token->line, token->column, what);
}

static void skip_blanks(struct tn__lexer *lexer) {
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = *lexer->at;
        if (c == '#') {
            const char *eol = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
            lexer->at = eol ? eol : lexer->end;
            if (!eol) return;
            c = '\n';
        }
        if (c == '\n') {
            lexer->line++;
            lexer->line_start = lexer->at + 1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

/* The end of the number that starts here, and whether it has a point or exponent. */
static const char *scan_number(const char *p, const char *end, bool *out_float) {
    *out_float = false;
    p += *p == '-' || *p == '+';
    for (; p < end; p++) {
        bool exponent = *p == 'e' || *p == 'E';
        if (*p == '.' || exponent)
            *out_float = true;
        else if (!is_digit(*p))
            break;
        if (exponent && p + 1 < end && (p[1] == '-' || p[1] == '+')) p++;
    }
    return p;
}

static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte of an escape whose first character is at *p; -1 when there is no such. */
static int read_escape(const char **p, const char *end) {
    static const char names[] = "ntr0", bytes[] = "\n\t\r";
    char c = *(*p)++;
    const char *name = strchr(names, c);
    if (c && name) return (unsigned char)bytes[name - names];
    if (c != 'x') return (unsigned char)c; /* a quote, a backslash */
    if (end - *p < 2) return -1;
    int high = hex_value((*p)[0]), low = hex_value((*p)[1]);
    *p += 2;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static tn_status read_string(struct tn__lexer *lexer) {
    struct tn__token *token = &lexer->token;
    const char *p = lexer->at + 1, *end = lexer->end;
    while (p < end && *p != '"')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    if (p >= end)
        return fail_at(lexer, token->line, token->column, "a string has no end");
    char *content = tn__arena_alloc(lexer->arena, (uint64_t)(p - lexer->at));
    if (!content)
        return tn__fail_memory(lexer->diag, "a string", (uint64_t)(p - lexer->at));
    uint64_t n = 0;
    for (const char *q = lexer->at + 1; q < p;) {
        int c = (unsigned char)*q++;
        if (c == '\n') {
            lexer->line++;
            lexer->line_start = q;
        }
        if (c == '\\') c = read_escape(&q, p);
        if (c < 0)
            return fail_at(lexer, token->line, token->column,
                "a string has an escape without two hexadecimal digits");
        content[n++] = (char)c;
    }
    token->kind = TN_TOKEN_STRING;
    token->text = content;
    token->size = n;
    lexer->at = p + 1;
    return TN_OK;
}

static tn_status take(struct tn__lexer *lexer, uint32_t kind, const char *end) {
    struct tn__token *token = &lexer->token;
    token->kind = kind;
    token->size = (uint64_t)(end - lexer->at);
    token->text = tn__arena_string(lexer->arena, lexer->at, token->size);
    lexer->at = end;
    return token->text ? TN_OK : tn__fail_memory(lexer->diag, "a token", token->size);
}

tn_status tn__lexer_next(struct tn__lexer *lexer) {
    skip_blanks(lexer);
    const char *p = lexer->at, *end = lexer->end;
    lexer->token = (struct tn__token){
        .line = lexer->line, .column = (uint32_t)(p - lexer->line_start) + 1, .text = ""};
    if (p == end) return TN_OK;
    if (is_letter(*p)) {
        while (p < end && (is_letter(*p) || is_digit(*p)))
            p++;
        return take(lexer, TN_TOKEN_ID, p);
    }
    bool sign = (*p == '-' || *p == '+') && p + 1 < end;
    char first = p[sign];
    bool fraction = first == '.' && p + sign + 1 < end && is_digit(p[sign + 1]);
    if (is_digit(first) || fraction) {
        bool floating;
        p = scan_number(p, end, &floating);
        return take(lexer, floating ? TN_TOKEN_FLOAT : TN_TOKEN_INT, p);
    }
    if (sign && is_letter(first)) { /* -inf, -nan */
        for (p++; p < end && is_letter(*p);)
            p++;
        return take(lexer, TN_TOKEN_FLOAT, p);
    }
    if (*p == '"') return read_string(lexer);
    if (*p == '=' && p + 1 < end && p[1] == '>')
        return take(lexer, TN_TOKEN_ARROW, p + 2);
    if (*p && strchr("<>()[]{}=,;:.?@", *p)) return take(lexer, TN_TOKEN_MARK, p + 1);
    return fail_at(lexer, lexer->token.line, lexer->token.column,
        "a character that is not part of the text format");
}

tn_status tn__lexer_start(struct tn__lexer *lexer, const char *text, uint64_t size) {
    lexer->at = lexer->line_start = text;
    lexer->end = text + size;
    lexer->line = 1;
    return tn__lexer_next(lexer);
}
