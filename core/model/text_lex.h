/* Tokens of the ONNX text format. */
#ifndef TENON_TEXT_LEX_H
#define TENON_TEXT_LEX_H

#include "core/base/arena.h"
#include "core/base/diag.h"

#include <stdbool.h>

enum {
    TN_TOKEN_END = 0,
    TN_TOKEN_ID,     /* letters, digits and underscores */
    TN_TOKEN_STRING, /* in double quotes; text is the content, size its bytes */
    TN_TOKEN_INT,    /* decimal, perhaps with a sign */
    TN_TOKEN_FLOAT,  /* with point or exponent */
    TN_TOKEN_ARROW,  /* => */
    TN_TOKEN_MARK    /* one of <>()[]{}=,;:.?@ ; text[0] says which */
};

struct tn__token {
    uint32_t kind;
    uint32_t line, column;
    const char *text; /* NUL-terminated, in the arena */
    uint64_t size;
};

struct tn__lexer {
    const char *at, *end, *line_start;
    uint32_t line;
    struct tn_arena *arena;
    const char *label; /* the source, for messages */
    struct tn_diag *diag;
    struct tn__token token; /* the one to be looked at next */
};

/* Starts with the first token. */
tn_status tn__lexer_start(struct tn__lexer *lexer, const char *text, uint64_t size);
/* Moves on to the next token. */
tn_status tn__lexer_next(struct tn__lexer *lexer);
/* Fails at the present token: "model.txt: line 3, column 7: found 'x', expected …". */
tn_status tn__lexer_fail(struct tn__lexer *lexer, const char *expected);

#endif
