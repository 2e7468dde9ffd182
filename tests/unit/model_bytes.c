/* Models as bytes for tests: see model_bytes.h. */
#include "model_bytes.h"

#include "core/model/rules.h"
#include "core/model/text_parser.h"
#include "unit.h"

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void bytes_put(struct bytes *bytes, const void *data, size_t size) {
    bytes->data = realloc(bytes->data, bytes->size + size + 1);
    ck_assert_ptr_nonnull(bytes->data);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void bytes_put_varint(struct bytes *bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        bytes_put(bytes, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    bytes_put(bytes, &(uint8_t){(uint8_t)value}, 1);
}

void bytes_put_field(
    struct bytes *bytes, uint32_t number, const void *data, size_t size) {
    bytes_put_varint(bytes, (uint64_t)number << 3 | 2);
    bytes_put_varint(bytes, size);
    bytes_put(bytes, data, size);
}

struct bytes bytes_from_text(const char *text, void (*edit)(Onnx__ModelProto *model)) {
    struct tn_diag diag = {0};
    struct tn_arena *arena = tn__arena_create();
    struct tn__parser parser;
    Onnx__ModelProto *proto = NULL;
    ck_assert_ptr_nonnull(arena);
    assert_ok(
        tn__parser_start(&parser, arena, text, strlen(text), "the test", &diag), diag);
    assert_ok(tn__parse_model(&parser, &proto), diag);
    tn__parser_end(&parser);
    if (edit) edit(proto);
    struct bytes bytes = {NULL, onnx__model_proto__get_packed_size(proto)};
    bytes.data = malloc(bytes.size + 1);
    ck_assert_ptr_nonnull(bytes.data);
    onnx__model_proto__pack(proto, bytes.data);
    tn__arena_destroy(arena);
    return bytes;
}

tn_status bytes_load(const struct bytes *bytes, const struct tn__load_options *options,
    struct tn_diag *diag) {
    struct tn_model source = {.data = bytes->data, .size = bytes->size};
    struct tn__model *model = NULL;
    tn_status status = tn__model_load(&source, options, &model, diag);
    tn__model_destroy(model);
    return status;
}

void check_rule_cases(const struct rule_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct rule_case *c = &cases[i];
        struct tn__load_options options = {.strict = c->strict};
        struct tn_diag diag = {0};
        struct bytes bytes = bytes_from_text(c->text, c->edit);
        tn_status status = bytes_load(&bytes, &options, &diag);
        bytes_free(&bytes);
        ck_assert_msg(status == c->code && diag.code == c->code,
            "rule %u: code %d, expected %d: %s", c->rule, status, c->code, diag.message);
        ck_assert_msg(diag.rule == c->rule, "rule %u, expected %u: %s", diag.rule,
            c->rule, diag.message);
        ck_assert_str_eq(diag.message, c->message);
    }
}

void check_rule_coverage(const struct rule_case *cases, size_t n, uint32_t first,
    uint32_t last, const uint32_t *elsewhere) {
    uint32_t number;
    const char *name, *text;
    for (uint32_t i = 0; tn__rule_at(i, &number, &name, &text); i++) {
        bool found = number < first || number > last;
        for (size_t c = 0; c < n && !found; c++)
            found = cases[c].rule == number;
        for (const uint32_t *e = elsewhere; *e && !found; e++)
            found = *e == number;
        ck_assert_msg(found, "rule %u (%s) has no test", number, name);
    }
}
