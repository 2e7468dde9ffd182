/* Any bytes as any message: what the walker lets through, the parser takes. The parser may
 * refuse but one thing: a number too long for its field. */
#include "core/model/onnx.pb-c.h"
#include "core/model/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const ProtobufCMessageDescriptor *const types[] = {
        &onnx__model_proto__descriptor, &onnx__graph_proto__descriptor,
        &onnx__node_proto__descriptor, &onnx__attribute_proto__descriptor,
        &onnx__tensor_proto__descriptor, &onnx__type_proto__descriptor,
        &onnx__function_proto__descriptor, &onnx__sequence_proto__descriptor};
    if (size == 0) return 0;
    struct tn_arena *arena = tn__arena_create();
    struct tn__payloads payloads = {0};
    ProtobufCMessage *message = NULL;
    struct tn_diag diag = {0};
    tn_status status = tn__wire_parse(arena, arena, types[data[0] % 8], data + 1,
        size - 1, "fuzz", &message, &payloads, &diag);
    if (status != TN_OK && (diag.code != status || !diag.message[0])) abort();
    for (uint32_t i = 0; i < payloads.n; i++) { /* every record lies inside the input */
        const struct tn__payload *p = &payloads.items[i];
        if (p->raw && (p->raw < data || p->raw + p->raw_size > data + size)) abort();
        if (p->packed && (p->packed < data || p->packed + p->packed_size > data + size))
            abort();
    }
    tn__arena_destroy(arena);
    return 0;
}
