/* Damage that keeps a model parseable: attributes, names, dims and types that no exporter
 * would write, on the message tree, so that what arrives is a well-formed file whose
 * content is hostile. */
#ifndef TENON_MUTATE_H
#define TENON_MUTATE_H

#include "chance.h"
#include "onnx.pb-c.h"

/* Memory of one case: everything of it goes at once. */
struct mutate_memory {
    char *data;
    size_t size, used;
};

ProtobufCAllocator mutate_allocator(struct mutate_memory *memory);
/* Changes one to four things. */
void mutate_model(
    Onnx__ModelProto *model, struct chance *chance, struct mutate_memory *memory);
/* Makes input `name` a constant with this content. */
void mutate_freeze(Onnx__GraphProto *graph, const char *name, Onnx__TensorProto *content,
    struct mutate_memory *memory);
/* Lets an input have any shape. */
void mutate_unshape(Onnx__GraphProto *graph, size_t input);
/* A number that breaks arithmetic. */
int64_t mutate_number(struct chance *chance);

#endif
