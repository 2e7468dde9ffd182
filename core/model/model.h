/* From a file or bytes to a graph: walk and check the wire format, parse the skeleton,
 * read tensors in place, build graphs. The only room that sees protobuf. */
#ifndef TENON_MODEL_ROOM_H
#define TENON_MODEL_ROOM_H

#include "core/base/text.h"
#include "core/graph/graph.h"
#include "tenon/tenon.h"

/* Stable numbers of the loader rules (tn_diag.rule), tests/unit has one case each. */
enum {
#define X(name, number, text) TN_RULE_##name = number,
#include "core/model/rules.inc"
#undef X
    TN_RULE_COUNT_
};

struct tn__load_options {
    bool strict;             /* what is put up with, with a warning, is an error: a newer
                              * IR, unsorted nodes, shadowed names, missing ranks */
    bool verify_checksums;   /* of external data files that state one; reads them whole */
    uint64_t max_file_bytes; /* of all limits: 0 is the built-in one (tn__load_limits) */
    uint64_t max_tensor_bytes;
    uint64_t max_total_bytes;         /* of all constant tensors */
    uint32_t max_nodes;               /* of all graphs together */
    uint32_t max_depth;               /* subgraphs within subgraphs */
    const struct tn_weights *weights; /* instead of initializers of the main graph */
    uint64_t n_weights;
};

/* Loads a model: every graph built, checked against the loader rules, sorted; nothing is
 * resolved yet. Tensors point into the mapping (or into *source data when it is kept). */
tn_status tn__model_load(const struct tn_model *source,
    const struct tn__load_options *options, struct tn__model **out, struct tn_diag *diag);

struct tn__write_options {
    /* Nodes of the main graph, in order; NULL: all. Some may be the caller's own, over the
     * values of the graph. */
    const struct tn_node *const *nodes;
    uint32_t n_nodes;
    const struct tn__opset *opsets; /* that the nodes follow */
    uint32_t n_opsets;
};
/* A model as ONNX bytes, weights included (writer.c). */
tn_status tn__model_write(const struct tn__model *model,
    const struct tn__write_options *options, struct tn_text *out, struct tn_diag *diag);

/* One serialised TensorProto, SequenceProto or OptionalProto as a value in the arena;
 * data is copied. */
tn_status tn__value_decode(struct tn_arena *arena, const void *data, uint64_t size,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag);

/* ---- ONNX text format (text_read.c, text_print.c) -------------------------------------
 */

/* Parses a model, e.g.
 *   <ir_version: 10, opset_import: ["" : 17]> g (float[N,4] X) => (float[N] Y) { Y = F(X)
 * } */
tn_status tn__text_read_model(const char *text, uint64_t size,
    const struct tn__load_options *options, struct tn__model **out, struct tn_diag *diag);
/* Parses one function body `<opset_import: […]> f <attrs> (a, b) => (c) { … }` into a
 * function of the model, not yet listed in it (operator expansions). */
tn_status tn__text_read_function(struct tn__model *model, const char *text, uint64_t size,
    struct tn__function *out, struct tn_diag *diag);
/* Tensors with more than max_elements elements are written as {...}; with UINT64_MAX what
 * is printed reads back to the same model. */
void tn__text_print_model(
    const struct tn__model *model, uint64_t max_elements, struct tn_text *out);
void tn__text_print_graph(
    const struct tn_graph *g, uint64_t max_elements, struct tn_text *out);

#endif
