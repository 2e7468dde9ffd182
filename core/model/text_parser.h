/* What the files of the text parser share. The parser makes the same protobuf structures
 * that a binary model gives, in the temporary arena; the reader does the rest. */
#ifndef TENON_TEXT_PARSER_H
#define TENON_TEXT_PARSER_H

#include "core/model/onnx.pb-c.h"
#include "core/model/text_lex.h"
#include "core/model/text_locale.h"

struct tn__parser {
    struct tn__lexer lexer;
    struct tn_arena *arena;
    uint32_t depth; /* of nested graphs and types */
    struct tn__plain_numbers numbers;
};

tn_status tn__parser_start(struct tn__parser *p, struct tn_arena *arena, const char *text,
    uint64_t size, const char *label, struct tn_diag *diag);
void tn__parser_end(struct tn__parser *p);

/* ---- basics (text_parser.c) ---- */

bool tn__parser_at(const struct tn__parser *p, char mark);
bool tn__parser_at_id(const struct tn__parser *p, const char *id);
/* Takes the mark when it comes next. */
tn_status tn__parser_accept(struct tn__parser *p, char mark, bool *out_taken);
tn_status tn__parser_expect(struct tn__parser *p, char mark);
/* A list between marks: open it, parse an item while there is one, ask for more. */
tn_status tn__parser_open(struct tn__parser *p, char open, char close, bool *out_more);
tn_status tn__parser_more(struct tn__parser *p, char close, bool *out_more);
tn_status tn__parser_expect_end(struct tn__parser *p);
/* An identifier or a quoted name; "" where neither comes and it may be omitted. */
tn_status tn__parser_name(struct tn__parser *p, bool optional, char **out);
/* A quoted string without NUL. */
tn_status tn__parser_string(struct tn__parser *p, char **out);
tn_status tn__parser_int(struct tn__parser *p, int64_t *out);
tn_status tn__parser_float(struct tn__parser *p, float *out);
tn_status tn__parser_double(struct tn__parser *p, double *out);
/* Room for one more item in a list that doubles; *list is moved. */
tn_status tn__parser_grow(struct tn__parser *p, void *list, size_t n, size_t size);
/* A zeroed message of its type. */
tn_status tn__parser_message(
    struct tn__parser *p, const ProtobufCMessageDescriptor *type, void *out);
tn_status tn__parser_deeper(struct tn__parser *p);
/* "[" "key" ":" value … "]" */
tn_status tn__parser_pairs(
    struct tn__parser *p, Onnx__StringStringEntryProto ***out, size_t *out_n);

/* ---- types and tensors (text_tensor.c) ---- */

bool tn__parser_at_type(const struct tn__parser *p);
tn_status tn__parse_type(struct tn__parser *p, Onnx__TypeProto **out);
/* The data of a tensor of this type: "{…}" or external "[…]". */
tn_status tn__parse_tensor(struct tn__parser *p, const Onnx__TypeProto *type,
    const char *name, Onnx__TensorProto **out);
/* After "sparse_tensor(type)": "[indices] {values}". */
tn_status tn__parse_sparse(
    struct tn__parser *p, const Onnx__TypeProto *type, Onnx__SparseTensorProto **out);

/* ---- attributes (text_attr.c), graphs (text_read.c) ---- */

/* "<" attributes ">" appended to the list; `formals` are names without value (or NULL). */
tn_status tn__parse_attrs(struct tn__parser *p, Onnx__AttributeProto ***list, size_t *n,
    char ***formals, size_t *n_formals);
tn_status tn__parse_graph(struct tn__parser *p, Onnx__GraphProto **out);
tn_status tn__parse_nodes(struct tn__parser *p, Onnx__NodeProto ***list, size_t *n);
/* From the name of a function on. */
tn_status tn__parse_function_body(struct tn__parser *p, Onnx__FunctionProto *f);

/* ---- whole texts (text_model.c) ---- */

tn_status tn__parse_model(struct tn__parser *p, Onnx__ModelProto **out);
tn_status tn__parse_function(struct tn__parser *p, Onnx__FunctionProto **out);

#endif
