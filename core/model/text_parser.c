/* Basics of the text parser: see text_parser.h. */
#include "core/model/text_parser.h"

#include "core/model/model.h"
#include "core/model/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

tn_status tn__parser_start(struct tn__parser *p, struct tn_arena *arena, const char *text,
    uint64_t size, const char *label, struct tn_diag *diag) {
    *p = (struct tn__parser){.arena = arena};
    p->lexer.arena = arena;
    p->lexer.label = label;
    p->lexer.diag = diag;
    if (!tn__plain_numbers_begin(&p->numbers))
        return tn__fail_memory(diag, "a locale", 0);
    return tn__lexer_start(&p->lexer, text, size);
}

void tn__parser_end(struct tn__parser *p) {
    tn__plain_numbers_end(&p->numbers);
}

bool tn__parser_at(const struct tn__parser *p, char mark) {
    return p->lexer.token.kind == TN_TOKEN_MARK && p->lexer.token.text[0] == mark;
}

bool tn__parser_at_id(const struct tn__parser *p, const char *id) {
    return p->lexer.token.kind == TN_TOKEN_ID && strcmp(p->lexer.token.text, id) == 0;
}

tn_status tn__parser_accept(struct tn__parser *p, char mark, bool *out_taken) {
    *out_taken = tn__parser_at(p, mark);
    return *out_taken ? tn__lexer_next(&p->lexer) : TN_OK;
}

tn_status tn__parser_expect(struct tn__parser *p, char mark) {
    char expected[] = {'\'', mark, '\'', '\0'};
    if (!tn__parser_at(p, mark)) return tn__lexer_fail(&p->lexer, expected);
    return tn__lexer_next(&p->lexer);
}

tn_status tn__parser_open(struct tn__parser *p, char open, char close, bool *out_more) {
    bool empty;
    TN_TRY(tn__parser_expect(p, open));
    TN_TRY(tn__parser_accept(p, close, &empty));
    *out_more = !empty;
    return TN_OK;
}

tn_status tn__parser_more(struct tn__parser *p, char close, bool *out_more) {
    TN_TRY(tn__parser_accept(p, ',', out_more));
    return *out_more ? TN_OK : tn__parser_expect(p, close);
}

tn_status tn__parser_expect_end(struct tn__parser *p) {
    if (p->lexer.token.kind == TN_TOKEN_END) return TN_OK;
    return tn__lexer_fail(&p->lexer, "the end of the text");
}

tn_status tn__parser_name(struct tn__parser *p, bool optional, char **out) {
    const struct tn__token *token = &p->lexer.token;
    if (token->kind == TN_TOKEN_STRING) return tn__parser_string(p, out);
    if (token->kind != TN_TOKEN_ID) {
        *out = (char *)"";
        return optional ? TN_OK : tn__lexer_fail(&p->lexer, "a name");
    }
    *out = (char *)(uintptr_t)token->text;
    return tn__lexer_next(&p->lexer);
}

tn_status tn__parser_string(struct tn__parser *p, char **out) {
    const struct tn__token *token = &p->lexer.token;
    if (token->kind != TN_TOKEN_STRING || memchr(token->text, 0, token->size))
        return tn__lexer_fail(&p->lexer, "a string in double quotes without NUL");
    *out = (char *)(uintptr_t)token->text;
    return tn__lexer_next(&p->lexer);
}

tn_status tn__parser_int(struct tn__parser *p, int64_t *out) {
    const struct tn__token *token = &p->lexer.token;
    errno = 0;
    if (token->kind == TN_TOKEN_INT) {
        /* the upper half of uint64 keeps its bits */
        *out = token->text[0] == '-' ? strtoll(token->text, NULL, 10)
                                     : (int64_t)strtoull(token->text, NULL, 10);
    }
    if (token->kind != TN_TOKEN_INT || errno == ERANGE)
        return tn__lexer_fail(&p->lexer, "an integer of 64 bits");
    return tn__lexer_next(&p->lexer);
}

/* A number, or inf and nan with or without a sign. */
static bool at_float(const struct tn__parser *p) {
    const struct tn__token *token = &p->lexer.token;
    const char *text = token->text + (token->text[0] == '-' || token->text[0] == '+');
    if (token->kind == TN_TOKEN_INT) return true;
    if (token->kind == TN_TOKEN_FLOAT && (text[0] < 'A')) return true;
    return (token->kind == TN_TOKEN_FLOAT || token->kind == TN_TOKEN_ID) &&
           (strcmp(text, "inf") == 0 || strcmp(text, "nan") == 0);
}

tn_status tn__parser_float(struct tn__parser *p, float *out) {
    char *end = NULL;
    if (at_float(p)) *out = strtof(p->lexer.token.text, &end);
    if (!end || *end) return tn__lexer_fail(&p->lexer, "a number");
    return tn__lexer_next(&p->lexer);
}

tn_status tn__parser_double(struct tn__parser *p, double *out) {
    char *end = NULL;
    if (at_float(p)) *out = strtod(p->lexer.token.text, &end);
    if (!end || *end) return tn__lexer_fail(&p->lexer, "a number");
    return tn__lexer_next(&p->lexer);
}

tn_status tn__parser_grow(struct tn__parser *p, void *list, size_t n, size_t size) {
    enum { FIRST = 8 };
    void *old, *larger;
    if (n != 0 && (n < FIRST || (n & (n - 1)) != 0)) return TN_OK;
    memcpy(&old, list, sizeof old);
    larger = tn__arena_array(p->arena, n ? n * 2 : FIRST, size);
    if (!larger) return tn__fail_memory(p->lexer.diag, "a parsed list", n * size);
    if (n) memcpy(larger, old, n * size);
    memcpy(list, &larger, sizeof larger);
    return TN_OK;
}

tn_status tn__parser_message(
    struct tn__parser *p, const ProtobufCMessageDescriptor *type, void *out) {
    ProtobufCMessage *message = tn__arena_alloc(p->arena, type->sizeof_message);
    if (!message)
        return tn__fail_memory(p->lexer.diag, "a parsed message", type->sizeof_message);
    protobuf_c_message_init(type, message);
    memcpy(out, &message, sizeof message);
    return TN_OK;
}

tn_status tn__parser_deeper(struct tn__parser *p) {
    if (++p->depth <= MAX_DEPTH) return TN_OK;
    return tn__fail_as(p->lexer.diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_DEPTH,
        "%s: line %u: graphs or types nest deeper than %d levels", p->lexer.label,
        p->lexer.token.line, MAX_DEPTH);
}

tn_status tn__parser_pairs(
    struct tn__parser *p, Onnx__StringStringEntryProto ***out, size_t *out_n) {
    bool more;
    TN_TRY(tn__parser_open(p, '[', ']', &more));
    while (more) {
        Onnx__StringStringEntryProto *pair = NULL;
        TN_TRY(
            tn__parser_message(p, &onnx__string_string_entry_proto__descriptor, &pair));
        TN_TRY(tn__parser_name(p, false, &pair->key));
        TN_TRY(tn__parser_expect(p, ':'));
        TN_TRY(tn__parser_string(p, &pair->value));
        TN_TRY(tn__parser_grow(p, out, *out_n, sizeof **out));
        (*out)[(*out_n)++] = pair;
        TN_TRY(tn__parser_more(p, ']', &more));
    }
    return TN_OK;
}
