/* The wire walker: see wire.h. */
#include "core/model/wire.h"

#include "core/base/alloc.h"
#include "core/base/text.h"
#include "core/model/model.h"
#include "core/model/onnx.pb-c.h"
#include "core/model/rules.h"

#include <assert.h>
#include <string.h>

enum {
    MAX_FIELDS = 32,  /* of one message */
    LENGTH_BYTES = 5, /* a length in the skeleton, written padded and patched later */
    PAYLOAD_FIELD = 100000,
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

/* The parsed structure may take this much memory, weights aside: an empty message of two
 * bytes becomes a struct of a few hundred. */
#define MAX_STRUCTURE (UINT64_C(4) << 30)
#define MAX_SKELETON (UINT64_C(1) << 31)

struct frame {
    const ProtobufCMessageDescriptor *type;
    const ProtobufCFieldDescriptor *field; /* by which it was entered; NULL at the root */
    const uint8_t *end;
    uint64_t length_at;          /* place of its length in the skeleton */
    uint32_t payload;            /* index plus one; tensors only */
    uint32_t counts[MAX_FIELDS]; /* occurrences of each field */
};

struct walker {
    const uint8_t *start, *at;
    struct frame *frames; /* [TN_WIRE_MAX_DEPTH] */
    uint32_t depth;
    struct tn_text skeleton; /* bytes, not text */
    struct tn_arena *arena;
    struct tn_arena *lists; /* of long lists */
    struct tn__payloads payloads;
    uint64_t structure; /* bytes the parser will need */
    const char *label;
    struct tn_diag *diag;
};

static struct frame *top(struct walker *w) {
    return &w->frames[w->depth - 1];
}

/* "graph.node[3].attribute[0]", the way to the message that is being read and, when not
 * NULL, to one of its fields. */
static void print_path(
    struct walker *w, const ProtobufCFieldDescriptor *field, struct tn_text *out) {
    for (uint32_t d = 1; d <= w->depth; d++) {
        const ProtobufCFieldDescriptor *f = d < w->depth ? w->frames[d].field : field;
        if (!f) continue;
        const struct frame *in = &w->frames[d - 1];
        uint32_t count = in->counts[f - in->type->fields];
        tn__text_printf(out, "%s%s", out->size ? "." : "", f->name);
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            tn__text_printf(out, "[%u]", count ? count - 1 : 0);
    }
    if (!out->size) tn__text_puts(out, "the message itself");
}

__attribute__((format(printf, 4, 5))) static tn_status fail(struct walker *w,
    const ProtobufCFieldDescriptor *field, uint32_t rule, const char *format, ...) {
    struct tn_text path = {0};
    print_path(w, field, &path);
    if (path.size > 160) { /* the inner end tells more */
        memmove(path.data, path.data + path.size - 157, 158);
        memcpy(path.data, "...", 3);
    }
    char detail[240];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    tn_status status = tn__fail_rule(w->diag, rule, "%s: byte %llu, in %s: %s", w->label,
        (unsigned long long)(w->at - w->start), path.data ? path.data : "?", detail);
    tn__text_free(&path);
    return status;
}

static tn_status read_varint(struct walker *w, const uint8_t *end,
    const ProtobufCFieldDescriptor *field, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (w->at + shift / 7 == end)
            return fail(w, field, TN_RULE_WIRE_TRUNCATED,
                "the data ends inside a number; the file is cut short or damaged");
        uint64_t byte = w->at[shift / 7];
        if (shift == 63 && byte > 1) break;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            w->at += shift / 7 + 1;
            *out = value;
            return TN_OK;
        }
    }
    return fail(w, field, TN_RULE_WIRE_VARINT,
        "a number takes more than ten bytes or 64 bits; the file is damaged");
}

/* Steps over the value of a field that is not a message. *out_size is its payload: what
 * follows the length of a byte field. */
static tn_status skip_value(struct walker *w, const ProtobufCFieldDescriptor *field,
    unsigned wire, const uint8_t **out_content, uint64_t *out_size) {
    const uint8_t *end = top(w)->end;
    uint64_t value, left;
    *out_content = w->at;
    switch (wire) {
    case WIRE_VARINT:
        TN_TRY(read_varint(w, end, field, &value));
        *out_size = (uint64_t)(w->at - *out_content);
        return TN_OK;
    case WIRE_BYTES:
        TN_TRY(read_varint(w, end, field, &value));
        *out_content = w->at;
        break;
    default: value = wire == WIRE_FIXED32 ? 4 : 8; break;
    }
    left = (uint64_t)(end - w->at);
    if (value > left)
        return fail(w, field, TN_RULE_WIRE_TRUNCATED,
            "%llu bytes are announced where %llu are left; the file is cut short or "
            "damaged",
            (unsigned long long)value, (unsigned long long)left);
    *out_size = value;
    w->at += value;
    return TN_OK;
}

static unsigned wire_type_of(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    default: return WIRE_VARINT;
    }
}

/* A packed field must hold whole numbers; protobuf would say no more than that it failed. */
static tn_status check_packed(struct walker *w, const ProtobufCFieldDescriptor *field,
    const uint8_t *content, uint64_t size) {
    unsigned wire = wire_type_of(field->type);
    bool whole = wire == WIRE_VARINT    ? size == 0 || content[size - 1] < 0x80
                 : wire == WIRE_FIXED32 ? size % 4 == 0
                                        : size % 8 == 0;
    if (whole) return TN_OK;
    return fail(w, field, TN_RULE_WIRE_TRUNCATED,
        "a packed list of %llu bytes ends inside a number; the file is damaged",
        (unsigned long long)size);
}

/* Data of a tensor, whose place is kept instead of its bytes? */
static bool is_payload(const ProtobufCMessageDescriptor *type,
    const ProtobufCFieldDescriptor *field, bool packed) {
    if (type != &onnx__tensor_proto__descriptor) return false;
    return strcmp(field->name, "raw_data") == 0 ||
           (packed && strcmp(field->name, "dims") != 0);
}

/* The payload of the message that is being read, made when there is none. */
static tn_status open_payload(struct walker *w, struct tn__payload **out) {
    struct frame *f = top(w);
    if (!f->payload) {
        struct tn__payloads *list = &w->payloads;
        if (!tn__arena_grow(w->arena, (void **)&list->items, &list->cap, list->n + 1,
                sizeof *list->items))
            return tn__fail_memory(w->diag, "the list of tensors", list->n);
        list->items[list->n++] = (struct tn__payload){0};
        f->payload = list->n;
    }
    *out = &w->payloads.items[f->payload - 1];
    return TN_OK;
}

static tn_status keep_payload(struct walker *w, const ProtobufCFieldDescriptor *field,
    const uint8_t *content, uint64_t size) {
    struct tn__payload *payload;
    TN_TRY(open_payload(w, &payload));
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        payload->raw = content;
        payload->raw_size = size;
    } else if (payload->packed_field) {
        payload->more_field = field->id;
    } else {
        payload->packed = content;
        payload->packed_size = size;
        payload->packed_field = field->id;
    }
    return TN_OK;
}

static tn_status check_structure(struct walker *w) {
    if (w->structure <= MAX_STRUCTURE && w->skeleton.size <= MAX_SKELETON) return TN_OK;
    return tn__fail_as(w->diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_MESSAGES,
        "%s: the structure of the model, weights aside, needs more than %llu MiB",
        w->label, (unsigned long long)(MAX_STRUCTURE >> 20));
}

/* Which list of an attribute a field is, TN_LIST_KINDS: none. */
static uint32_t list_kind(
    const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field) {
    static const char *const names[TN_LIST_KINDS] = {"floats", "ints", "strings"};
    uint32_t kind = 0;
    if (type != &onnx__attribute_proto__descriptor) return TN_LIST_KINDS;
    while (kind < TN_LIST_KINDS && strcmp(field->name, names[kind]) != 0)
        kind++;
    return kind;
}

/* Decodes the elements that begin at the tag when they are a long list, or go on with one;
 * *out_taken says so. A list that the skeleton has begun stays there. */
static tn_status take_long_list(struct walker *w, const ProtobufCFieldDescriptor *field,
    const uint8_t *tag_at, bool *out_taken) {
    struct frame *f = top(w);
    uint32_t kind = list_kind(f->type, field),
             *count = &f->counts[field - f->type->fields];
    *out_taken = false;
    if (kind == TN_LIST_KINDS) return TN_OK;
    struct tn__lists *lists = f->payload ? w->payloads.items[f->payload - 1].lists : NULL;
    bool begun = lists && lists->of[kind].n;
    if (*count && !begun) return TN_OK;
    const uint8_t *end;
    uint64_t n = tn__list_measure(kind, field->id, tag_at, f->end, &end);
    if (n == 0 || (n < TN_LIST_LONG && !begun)) return TN_OK;
    w->structure += n * tn__list_element_size(kind);
    TN_TRY(check_structure(w));
    struct tn__payload *payload;
    TN_TRY(open_payload(w, &payload));
    if (!payload->lists)
        payload->lists = tn__arena_alloc(w->arena, sizeof *payload->lists);
    if (!payload->lists || !tn__list_append(&payload->lists->of[kind], w->lists, kind,
                               field->id, tag_at, end, n))
        return tn__fail_memory(w->diag, "an attribute", n * tn__list_element_size(kind));
    *count = n < UINT32_MAX - *count ? *count + (uint32_t)n : UINT32_MAX;
    w->at = end;
    *out_taken = true;
    return TN_OK;
}

static void put_varint(struct walker *w, uint64_t value) {
    uint8_t bytes[10];
    unsigned n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    tn__text_append(&w->skeleton, (const char *)bytes, n);
}

static tn_status enter(struct walker *w, const ProtobufCMessageDescriptor *type,
    const ProtobufCFieldDescriptor *field, const uint8_t *end) {
    if (w->depth == TN_WIRE_MAX_DEPTH)
        return fail(w, field, TN_RULE_WIRE_DEPTH,
            "messages nest deeper than %d levels; the file is damaged or hostile",
            TN_WIRE_MAX_DEPTH);
    assert(type->n_fields <= MAX_FIELDS);
    w->structure += type->sizeof_message + sizeof(void *);
    TN_TRY(check_structure(w));
    struct frame *f = &w->frames[w->depth++];
    memset(f, 0, sizeof *f);
    f->type = type;
    f->field = field;
    f->end = end;
    if (field) {
        static const char room[LENGTH_BYTES];
        put_varint(w, (uint64_t)field->id << 3 | WIRE_BYTES);
        f->length_at = w->skeleton.size;
        tn__text_append(&w->skeleton, room, LENGTH_BYTES);
    }
    return TN_OK;
}

static void leave(struct walker *w) {
    struct frame *f = top(w);
    if (f->payload) {
        put_varint(w, (uint64_t)PAYLOAD_FIELD << 3 | WIRE_VARINT);
        put_varint(w, f->payload);
    }
    if (f->field && !w->skeleton.failed) {
        uint64_t length = w->skeleton.size - f->length_at - LENGTH_BYTES;
        uint8_t *at = (uint8_t *)w->skeleton.data + f->length_at;
        for (unsigned i = 0; i < LENGTH_BYTES; i++)
            at[i] =
                (uint8_t)(length >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0);
    }
    w->depth--;
}

/* Copies the values of n elements of an unpacked list, each after a tag of tag_size bytes. */
static void put_values(struct walker *w, const uint8_t *first, uint64_t n,
    uint64_t tag_size, unsigned wire) {
    enum { ROOM = 4096, MOST_BYTES = 10 };
    char room[ROOM + MOST_BYTES];
    uint64_t used = 0;
    const uint8_t *at = first;
    for (uint64_t i = 0; i < n; i++) {
        at += tag_size;
        uint64_t size = wire == WIRE_FIXED32 ? 4 : 8;
        if (wire == WIRE_VARINT)
            for (size = 1; at[size - 1] >= 0x80;)
                size++;
        memcpy(room + used, at, size);
        at += size;
        used += size;
        if (used < ROOM) continue;
        tn__text_append(&w->skeleton, room, used);
        used = 0;
    }
    tn__text_append(&w->skeleton, room, used);
}

/* The rest of a list of numbers whose first element was just read and that is written
 * element by element, as most files have it: the skeleton gets it packed, since the parser
 * spends forty bytes and two passes on every element that has a tag of its own. */
static tn_status take_list(struct walker *w, const ProtobufCFieldDescriptor *field,
    unsigned wire, const uint8_t *tag_at, uint64_t tag_size, uint64_t first_size) {
    struct frame *f = top(w);
    uint32_t *count = &f->counts[field - f->type->fields];
    uint64_t n = 1, total = first_size, size;
    const uint8_t *content;
    while (
        (uint64_t)(f->end - w->at) > tag_size && memcmp(w->at, tag_at, tag_size) == 0) {
        w->at += tag_size;
        if (*count != UINT32_MAX) ++*count;
        TN_TRY(skip_value(w, field, wire, &content, &size));
        total += size;
        n++;
    }
    put_varint(w, (uint64_t)field->id << 3 | WIRE_BYTES);
    put_varint(w, total);
    put_values(w, tag_at, n, tag_size, wire);
    return TN_OK;
}

/* One known field: checks it, then enters it, keeps its place or copies it. */
static tn_status take_field(struct walker *w, const ProtobufCFieldDescriptor *field,
    unsigned wire, const uint8_t *tag_at) {
    struct frame *f = top(w);
    uint32_t *count = &f->counts[field - f->type->fields];
    bool taken;
    TN_TRY(take_long_list(w, field, tag_at, &taken));
    if (taken) return TN_OK;
    if (*count != UINT32_MAX) ++*count;
    unsigned expected = wire_type_of(field->type);
    bool packed = wire == WIRE_BYTES && expected != WIRE_BYTES &&
                  field->label == PROTOBUF_C_LABEL_REPEATED;
    if (wire != expected && !packed)
        return fail(w, field, TN_RULE_WIRE_TYPE,
            "the field has wire type %u, expected %u; this is no ONNX file or it is "
            "damaged",
            wire, expected);
    const uint8_t *content;
    uint64_t size;
    TN_TRY(skip_value(w, field, wire, &content, &size));
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (field->label != PROTOBUF_C_LABEL_REPEATED && *count > 1)
            return fail(w, field, TN_RULE_WIRE_TWICE,
                "the field occurs a second time; only one is allowed");
        w->at = content;
        return enter(w, field->descriptor, field, content + size);
    }
    if (packed) TN_TRY(check_packed(w, field, content, size));
    if (field->type == PROTOBUF_C_TYPE_STRING && memchr(content, 0, size))
        return fail(w, field, TN_RULE_WIRE_NUL, "the string holds a NUL byte");
    if (is_payload(f->type, field, packed)) return keep_payload(w, field, content, size);
    if (wire != WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED)
        return take_list(w, field, wire, tag_at, (uint64_t)(content - tag_at), size);
    if (wire == WIRE_BYTES) w->structure += sizeof(void *) * 2;
    tn__text_append(&w->skeleton, (const char *)tag_at, (uint64_t)(w->at - tag_at));
    return TN_OK;
}

static tn_status walk(struct walker *w) {
    while (w->depth) {
        struct frame *f = top(w);
        if (w->at == f->end) {
            leave(w);
            continue;
        }
        const uint8_t *tag_at = w->at;
        uint64_t tag;
        TN_TRY(read_varint(w, f->end, NULL, &tag));
        unsigned wire = tag & 7;
        uint64_t number = tag >> 3;
        bool known_wire = wire <= WIRE_BYTES || wire == WIRE_FIXED32;
        if (number == 0 || number > (1u << 29) - 1 || !known_wire) {
            w->at = tag_at;
            return fail(w, NULL, TN_RULE_WIRE_TAG,
                "there is no field here (number %llu, wire type %u); this is no ONNX "
                "file or it is damaged",
                (unsigned long long)number, wire);
        }
        const ProtobufCFieldDescriptor *field =
            number == PAYLOAD_FIELD
                ? NULL
                : protobuf_c_message_descriptor_get_field(f->type, (unsigned)number);
        if (field) {
            TN_TRY(take_field(w, field, wire, tag_at));
        } else {
            const uint8_t *content;
            uint64_t size;
            TN_TRY(skip_value(w, NULL, wire, &content, &size));
        }
    }
    return TN_OK;
}

/* What the parser allocates from: the arena, which frees everything at once. */
struct supply {
    struct tn_arena *arena;
    bool failed; /* the parser does not tell damage from lack of memory */
};

static void *supply_alloc(void *data, size_t size) {
    struct supply *supply = data;
    void *ptr = tn__arena_alloc(supply->arena, size);
    supply->failed |= ptr == NULL;
    return ptr;
}

static void supply_free(void *data, void *ptr) {
    (void)data;
    (void)ptr;
}

static tn_status parse_skeleton(
    struct walker *w, const ProtobufCMessageDescriptor *type, ProtobufCMessage **out) {
    static const uint8_t nothing[1];
    const struct tn_text *skeleton = &w->skeleton;
    if (skeleton->failed)
        return tn__fail_memory(w->diag, "the structure of the model", skeleton->size);
    struct supply supply = {w->arena, false};
    ProtobufCAllocator allocator = {supply_alloc, supply_free, &supply};
    *out = protobuf_c_message_unpack(type, &allocator, skeleton->size,
        skeleton->size ? (const uint8_t *)skeleton->data : nothing);
    if (*out) return TN_OK;
    if (supply.failed)
        return tn__fail_memory(w->diag, "the structure of the model", skeleton->size);
    return tn__fail_rule(w->diag, TN_RULE_WIRE_PARSE,
        "%s: the parser refuses the message; the file is damaged", w->label);
}

tn_status tn__wire_parse(struct tn_arena *arena, struct tn_arena *lists,
    const ProtobufCMessageDescriptor *type, const void *data, uint64_t size,
    const char *label, ProtobufCMessage **out, struct tn__payloads *out_payloads,
    struct tn_diag *diag) {
    static const uint8_t nothing[1];
    const uint8_t *start = size ? data : nothing;
    struct walker w = {.start = start,
        .at = start,
        .arena = arena,
        .lists = lists,
        .label = label,
        .diag = diag};
    w.frames = tn__alloc(TN_WIRE_MAX_DEPTH * sizeof *w.frames, 0);
    if (!w.frames) return tn__fail_memory(diag, "the wire walker", TN_WIRE_MAX_DEPTH);
    tn_status status = enter(&w, type, NULL, start + size);
    if (status == TN_OK) status = walk(&w);
    if (status == TN_OK) status = parse_skeleton(&w, type, out);
    if (status == TN_OK) *out_payloads = w.payloads;
    tn__text_free(&w.skeleton);
    tn__free(w.frames);
    return status;
}
