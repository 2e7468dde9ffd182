/* Models as bytes for tests: made from the text format, edited as protobuf structures and
 * serialised, so that a test can break one rule at a time. */
#ifndef TENON_MODEL_BYTES_H
#define TENON_MODEL_BYTES_H

#include "core/model/model.h"
#include "core/model/onnx.pb-c.h"

struct bytes {
    uint8_t *data; /* malloc'ed */
    size_t size;
};

/* The serialised model of a text, after `edit` (may be NULL) changed it. */
struct bytes bytes_from_text(const char *text, void (*edit)(Onnx__ModelProto *model));
void bytes_free(struct bytes *bytes);
/* Appends to bytes that were malloc'ed or are empty. */
void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_varint(struct bytes *bytes, uint64_t value);
/* A field with a length: a message, string or packed list. */
void bytes_put_field(struct bytes *bytes, uint32_t number, const void *data, size_t size);
/* Loads from memory; the model is destroyed at once. */
tn_status bytes_load(const struct bytes *bytes, const struct tn__load_options *options,
    struct tn_diag *diag);

/* A model that breaks one rule, and what is said about it. */
struct rule_case {
    uint32_t rule;
    tn_status code;
    bool strict;
    const char *text;
    void (*edit)(Onnx__ModelProto *model); /* may be NULL */
    const char *message;                   /* the whole sentence */
};

/* Asserts code, rule and sentence of each case. */
void check_rule_cases(const struct rule_case *cases, size_t n);
/* Asserts that each rule with a number in [first, last] has a case or is in `elsewhere`,
 * a list that ends with 0. */
void check_rule_coverage(const struct rule_case *cases, size_t n, uint32_t first,
    uint32_t last, const uint32_t *elsewhere);

#endif
