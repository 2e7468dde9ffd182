/* The protobuf wire format before protobuf sees it.
 *
 * The walker reads every tag and length of a serialised message inside its bounds, without
 * recursion, against the generated descriptors, and writes a skeleton: the same message
 * without unknown fields, without the data of tensors, of which only the place is kept, and
 * without long lists of attributes (wire_lists.h).
 * So weights are never copied, the parser's recursion is bounded, and files may be larger
 * than protobuf's 2 GB. */
#ifndef TENON_WIRE_H
#define TENON_WIRE_H

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/model/wire_lists.h"

#include <protobuf-c/protobuf-c.h>

enum { TN_WIRE_MAX_DEPTH = 100 };

/* Where one TensorProto or AttributeProto keeps its data. `payload` of these messages is its
 * index plus one. */
struct tn__payload {
    const uint8_t *raw; /* raw_data, NULL when there is none */
    uint64_t raw_size;
    const uint8_t *packed; /* content of a packed field of numbers */
    uint64_t packed_size;
    uint32_t packed_field;   /* its number, 0 when there is none */
    uint32_t more_field;     /* number of another one after it, or 0 */
    struct tn__lists *lists; /* long lists of an AttributeProto, else NULL */
};

struct tn__payloads {
    struct tn__payload *items;
    uint32_t n, cap;
};

/* Walks `size` bytes at `data` and parses the skeleton; the message and the payload list
 * live in the arena, payloads point into data, the items of long lists live in `lists`.
 * `label` names the source in messages. */
tn_status tn__wire_parse(struct tn_arena *arena, struct tn_arena *lists,
    const ProtobufCMessageDescriptor *type, const void *data, uint64_t size,
    const char *label, ProtobufCMessage **out, struct tn__payloads *out_payloads,
    struct tn_diag *diag);

#endif
