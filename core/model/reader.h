/* What the files that turn protobuf structures into a graph share. Structures come from
 * the wire walker or from the text parser; both paths meet the same rules here. */
#ifndef TENON_READER_H
#define TENON_READER_H

#include "core/model/external.h"
#include "core/model/model.h"
#include "core/model/onnx.pb-c.h"
#include "core/model/rules.h"
#include "core/model/wire.h"

#include <string.h>

enum { TN_MAX_RANK = 64 };

struct tn__reader {
    struct tn__model *model; /* NULL when a single value is decoded */
    struct tn_arena *arena;  /* where results live: the model's or the caller's */
    struct tn_arena *temp;   /* protobuf structures and scratch; goes after loading */
    struct tn__load_options limits; /* no zeros left */
    struct tn__payloads payloads;
    struct tn__externals externals;
    const char *label;                   /* the source, for messages */
    bool copy;                           /* payloads do not outlive loading */
    uint64_t total_bytes;                /* of all tensors so far */
    uint32_t n_nodes;                    /* of all graphs so far */
    uint32_t depth;                      /* subgraphs around the present one */
    struct tn_str_map functions;         /* key → index; see function_read.c */
    const Onnx__FunctionProto *function; /* whose body is read, or NULL */
    uint32_t warned[16], n_warned;       /* rules that were warned about */
};

/* Fills zero fields with the built-in limits; options may be NULL. */
struct tn__load_options tn__load_limits(const struct tn__load_options *options);

/* tensor_read.c: a tensor, in place where possible, aligned to its elements. Sparse ones
 * stay sparse. */
tn_status tn__read_tensor(struct tn__reader *r, const Onnx__TensorProto *proto,
    struct tn_tensor *out, struct tn_diag *diag);
/* The same for what may be a large weight: that stays at whatever address it lies, for
 * align.c. */
tn_status tn__read_weight(struct tn__reader *r, const Onnx__TensorProto *proto,
    struct tn_tensor *out, struct tn_diag *diag);
/* Room for data that lives as long as the results. */
tn_status tn__reader_room(
    struct tn__reader *r, uint64_t size, bool zero, void **out, struct tn_diag *diag);
/* sparse_read.c */
tn_status tn__read_sparse(struct tn__reader *r, const Onnx__SparseTensorProto *proto,
    struct tn_sparse *out, struct tn_diag *diag);
tn_status tn__sparse_to_dense(struct tn__reader *r, const struct tn_sparse *sparse,
    const char *name, struct tn_tensor *out, struct tn_diag *diag);

/* type_read.c: a declared type; `what` names its owner in messages. A NULL proto or an
 * undefined element type gives kind ABSENT. dims are in the temporary arena. */
tn_status tn__read_type(struct tn__reader *r, const Onnx__TypeProto *proto,
    const char *what, const char *name, struct tn_type *out, struct tn_diag *diag);

/* attr_read.c: the attributes of a node (arrays in the temporary arena). `g` is the graph
 * of the node: subgraphs see its names. */
tn_status tn__read_attrs(struct tn__reader *r, struct tn_graph *g,
    Onnx__AttributeProto *const *protos, size_t n, struct tn_attr **out,
    struct tn_diag *diag);

/* graph_from_proto.c */
tn_status tn__read_graph(struct tn__reader *r, const Onnx__GraphProto *proto,
    struct tn_graph *parent, struct tn_graph **out, struct tn_diag *diag);
/* Appends nodes; every name they read must be defined. */
tn_status tn__read_nodes(struct tn__reader *r, struct tn_graph *g,
    Onnx__NodeProto *const *protos, size_t n, struct tn_diag *diag);
tn_status tn__read_value_infos(struct tn__reader *r, struct tn_graph *g,
    Onnx__ValueInfoProto *const *infos, size_t n, struct tn_diag *diag);
/* Makes values of what nodes produce; comes before reading the nodes. */
tn_status tn__define_nodes(struct tn__reader *r, struct tn_graph *g,
    Onnx__NodeProto *const *protos, size_t n, struct tn_diag *diag);
/* Adds a value; an existing name is the given rule broken. */
tn_status tn__define_value(struct tn__reader *r, struct tn_graph *g, const char *name,
    const char *what, uint32_t rule, tn_value_id *out, struct tn_diag *diag);

/* function_read.c: the names come first, as calls may precede definitions; then the bodies,
 * and a check that none calls itself. */
tn_status tn__list_functions(struct tn__reader *r, Onnx__FunctionProto *const *protos,
    size_t n, struct tn_diag *diag);
tn_status tn__read_functions(struct tn__reader *r, Onnx__FunctionProto *const *protos,
    size_t n, struct tn_diag *diag);
tn_status tn__read_function(struct tn__reader *r, const Onnx__FunctionProto *proto,
    struct tn__function *out, struct tn_diag *diag);
/* Lists one function; its key must be new. */
tn_status tn__note_function(struct tn__reader *r, const char *domain, const char *name,
    const char *overload, uint32_t index, struct tn_diag *diag);
/* Is it one of the model's functions? */
bool tn__reader_has_function(
    struct tn__reader *r, const char *domain, const char *name, const char *overload);

/* What the format forbids but runtimes put up with: an error when strict, else a warning,
 * one a rule. */
tn_status tn__tolerate(struct tn__reader *r, struct tn_diag *diag, uint32_t rule,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* load.c: a reader with an empty model and its end, which gives the model back, or NULL
 * when the status is a failure. */
tn_status tn__reader_open(
    struct tn__reader *r, const struct tn__load_options *options, struct tn_diag *diag);
struct tn__model *tn__reader_close(struct tn__reader *r, tn_status status);

/* text_model.c: a model in the text format. */
tn_status tn__read_text(
    struct tn__reader *r, const char *text, uint64_t size, struct tn_diag *diag);

/* model_read.c */
tn_status tn__read_model(
    struct tn__reader *r, const Onnx__ModelProto *proto, struct tn_diag *diag);
tn_status tn__read_opsets(struct tn__reader *r, Onnx__OperatorSetIdProto *const *protos,
    size_t n, const char *what, struct tn__opset **out, uint32_t *out_n,
    struct tn_diag *diag);

/* "" instead of NULL. */
static inline const char *tn__text_or_empty(const char *text) {
    return text ? text : "";
}

/* "" for ai.onnx under either of its names. */
static inline const char *tn__domain_name(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

#endif
