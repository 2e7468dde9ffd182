/* Tensors of all element types from their three storages: raw bytes, typed fields,
 * external files. Data stays where it is when its bytes are already what the runtime
 * wants (raw, external, packed floats) and it is aligned to its elements. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/model/reader.h"

#include <string.h>

enum { OWN_BLOCK = 256 << 10 };

/* Numbers of the typed fields in TensorProto. */
enum {
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11
};

/* How a typed field holds an element type: the field, the bytes that one entry of it
 * becomes, and the entries' range. A complex element has two entries; of the sub-byte
 * types several share one entry, as they do in a raw byte. */
struct storage {
    uint8_t field, width;
    int64_t low, high;
};

/* clang-format off */
static const struct storage storages[TN_DTYPE_COUNT] = {
    [TN_FLOAT]          = {FLOAT_DATA, 4, 0, 0},
    [TN_COMPLEX64]      = {FLOAT_DATA, 4, 0, 0},
    [TN_DOUBLE]         = {DOUBLE_DATA, 8, 0, 0},
    [TN_COMPLEX128]     = {DOUBLE_DATA, 8, 0, 0},
    [TN_INT64]          = {INT64_DATA, 8, INT64_MIN, INT64_MAX},
    [TN_UINT32]         = {UINT64_DATA, 4, 0, UINT32_MAX},
    [TN_UINT64]         = {UINT64_DATA, 8, INT64_MIN, INT64_MAX},
    [TN_INT32]          = {INT32_DATA, 4, INT32_MIN, INT32_MAX},
    [TN_UINT8]          = {INT32_DATA, 1, 0, 255},
    [TN_INT8]           = {INT32_DATA, 1, -128, 127},
    [TN_UINT16]         = {INT32_DATA, 2, 0, 65535},
    [TN_INT16]          = {INT32_DATA, 2, -32768, 32767},
    [TN_BOOL]           = {INT32_DATA, 1, 0, 1},
    /* bit patterns, which a writer may have sign-extended */
    [TN_FLOAT16]        = {INT32_DATA, 2, -32768, 65535},
    [TN_BFLOAT16]       = {INT32_DATA, 2, -32768, 65535},
    [TN_FLOAT8E4M3FN]   = {INT32_DATA, 1, -128, 255},
    [TN_FLOAT8E4M3FNUZ] = {INT32_DATA, 1, -128, 255},
    [TN_FLOAT8E5M2]     = {INT32_DATA, 1, -128, 255},
    [TN_FLOAT8E5M2FNUZ] = {INT32_DATA, 1, -128, 255},
    [TN_FLOAT8E8M0]     = {INT32_DATA, 1, -128, 255},
    [TN_UINT4]          = {INT32_DATA, 1, -128, 255},
    [TN_INT4]           = {INT32_DATA, 1, -128, 255},
    [TN_FLOAT4E2M1]     = {INT32_DATA, 1, -128, 255},
    [TN_UINT2]          = {INT32_DATA, 1, -128, 255},
    [TN_INT2]           = {INT32_DATA, 1, -128, 255},
    [TN_STRING]         = {STRING_DATA, 16, 0, 0},
};
/* clang-format on */

/* The numbers of one typed field: packed bytes, or what the parser made of single ones. */
struct numbers {
    uint32_t field;
    const char *name;
    const uint8_t *packed;
    uint64_t packed_size;
    const void *items;
    uint64_t n_items;
};

/* Fails with "tensor 'w' (float[2,3]): …". */
__attribute__((format(printf, 4, 5))) static tn_status fail(
    const Onnx__TensorProto *proto, struct tn_diag *diag, uint32_t rule,
    const char *format, ...) {
    const char *name = tn__text_or_empty(proto->name);
    char shape[96] = "", detail[240];
    size_t used = 0;
    for (size_t i = 0; i < proto->n_dims && used < sizeof shape - 24; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld",
            i ? "," : "", (long long)proto->dims[i]);
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    if (diag) tn__diag_name(diag, diag->tensor, name);
    return tn__fail_rule(diag, rule, "tensor '%.120s' (%s[%s]): %s", name,
        tn_dtype_name(proto->data_type), shape, detail);
}

tn_status tn__reader_room(
    struct tn__reader *r, uint64_t size, bool zero, void **out, struct tn_diag *diag) {
    if (r->model && size >= OWN_BLOCK) { /* the arena would always clear it */
        void *block = zero ? tn__alloc_zero(size, 0) : tn__alloc(size, 0);
        if (!block) return tn__fail_memory(diag, "a constant tensor", size);
        TN_TRY(tn__model_own(
            r->model, &(struct tn__resource){.release = tn__free, .arg = block}, diag));
        *out = block;
        return TN_OK;
    }
    *out = tn__arena_alloc(r->arena, size);
    return *out ? TN_OK : tn__fail_memory(diag, "a constant tensor", size);
}

static tn_status count_bytes(struct tn__reader *r, const Onnx__TensorProto *proto,
    uint64_t *out_n, uint64_t *out_bytes, struct tn_diag *diag) {
    if (tn_dtype_bits(proto->data_type) == 0)
        return fail(proto, diag, TN_RULE_TYPE_ELEMENT,
            "element type %d is unknown, expected 1 to %d", proto->data_type,
            TN_DTYPE_COUNT - 1);
    if (proto->n_dims > TN_MAX_RANK)
        return fail(proto, diag, TN_RULE_TENSOR_RANK,
            "it has %zu dimensions, at most %d are supported", proto->n_dims,
            TN_MAX_RANK);
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0)
            return fail(proto, diag, TN_RULE_TENSOR_DIM,
                "dimension %zu is %lld, expected 0 or more", i,
                (long long)proto->dims[i]);
    }
    uint32_t rank = (uint32_t)proto->n_dims;
    if (!tn_count_elements(proto->dims, rank, out_n) ||
        !tn_element_bytes(proto->data_type, *out_n, out_bytes))
        return fail(proto, diag, TN_RULE_TENSOR_OVERFLOW,
            "the product of its dimensions does not fit in 64 bits");
    if (*out_bytes > r->limits.max_tensor_bytes)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_TENSOR,
            "tensor '%.120s' has %llu bytes, the limit is %llu",
            tn__text_or_empty(proto->name), (unsigned long long)*out_bytes,
            (unsigned long long)r->limits.max_tensor_bytes);
    if (!tn_add_size(r->total_bytes, *out_bytes, &r->total_bytes) ||
        r->total_bytes > r->limits.max_total_bytes)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_TOTAL,
            "the tensors up to '%.120s' have more bytes together than the limit of %llu",
            tn__text_or_empty(proto->name),
            (unsigned long long)r->limits.max_total_bytes);
    return TN_OK;
}

static tn_status fail_size(const Onnx__TensorProto *proto, const char *where,
    uint64_t found, uint64_t expected, const char *unit, struct tn_diag *diag) {
    return fail(proto, diag,
        found < expected ? TN_RULE_TENSOR_SHORT : TN_RULE_TENSOR_LONG,
        "%s holds %llu %s, its shape needs %llu", where, (unsigned long long)found, unit,
        (unsigned long long)expected);
}

/* How long bytes live: until loading ends, or as long as the model. */
enum home { HOME_BRIEF, HOME_KEPT };

/* Bytes that are already what the runtime wants: in place when they live and lie right. */
static tn_status take_bytes(struct tn__reader *r, const void *bytes, uint64_t size,
    enum home home, struct tn_tensor *out, struct tn_diag *diag) {
    if (size == 0) return TN_OK;
    out->data = (void *)(uintptr_t)bytes;
    /* large ones are aligned when somebody needs it: see align.c */
    if (home != HOME_BRIEF && (size >= OWN_BLOCK || tn__tensor_aligned(out)))
        return TN_OK;
    TN_TRY(tn__reader_room(r, size, false, &out->data, diag));
    memcpy(out->data, bytes, size);
    return TN_OK;
}

static enum home payload_home(const struct tn__reader *r) {
    return r->copy ? HOME_BRIEF : HOME_KEPT;
}

static tn_status find_numbers(struct tn__reader *r, const Onnx__TensorProto *proto,
    struct numbers *out, uint32_t *out_n, struct tn_diag *diag) {
    const struct {
        uint32_t field;
        const char *name;
        const void *items;
        uint64_t n;
    } fields[] = {
        {FLOAT_DATA, "float_data", proto->float_data, proto->n_float_data},
        {INT32_DATA, "int32_data", proto->int32_data, proto->n_int32_data},
        {STRING_DATA, "string_data", proto->string_data, proto->n_string_data},
        {INT64_DATA, "int64_data", proto->int64_data, proto->n_int64_data},
        {DOUBLE_DATA, "double_data", proto->double_data, proto->n_double_data},
        {UINT64_DATA, "uint64_data", proto->uint64_data, proto->n_uint64_data},
    };
    const struct tn__payload *payload =
        proto->payload ? &r->payloads.items[proto->payload - 1] : NULL;
    *out_n = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bool packed = payload && payload->packed_field == fields[i].field;
        bool more = payload && payload->more_field == fields[i].field;
        if (fields[i].n == 0 && !more && !(packed && payload->packed_size)) continue;
        if (*out_n || more || (packed && fields[i].n))
            return fail(proto, diag, TN_RULE_TENSOR_TWICE,
                "it keeps data in more than one place, expected one (found %s too)",
                fields[i].name);
        *out = (struct numbers){
            fields[i].field, fields[i].name, NULL, 0, fields[i].items, fields[i].n};
        if (packed) {
            out->packed = payload->packed;
            out->packed_size = payload->packed_size;
        }
        ++*out_n;
    }
    return TN_OK;
}

static uint64_t next_varint(const uint8_t **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = *(*at)++;
        if (shift < 64) value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

/* Integers of a typed field, narrowed; the number of entries was checked. */
static tn_status narrow(const Onnx__TensorProto *proto, const struct numbers *numbers,
    uint64_t n, void *dst, struct tn_diag *diag) {
    const struct storage *storage = &storages[proto->data_type];
    const uint8_t *at = numbers->packed;
    char *to = dst;
    for (uint64_t i = 0; i < n; i++, to += storage->width) {
        int64_t value;
        if (at)
            value = (int64_t)next_varint(&at);
        else if (numbers->field == INT32_DATA)
            value = ((const int32_t *)numbers->items)[i];
        else
            value = ((const int64_t *)numbers->items)[i];
        if (numbers->field == INT32_DATA) value = (int32_t)value;
        if (value < storage->low || value > storage->high)
            return fail(proto, diag, TN_RULE_TENSOR_VALUE,
                "entry %llu of %s is %lld, expected %lld to %lld", (unsigned long long)i,
                numbers->name, (long long)value, (long long)storage->low,
                (long long)storage->high);
        memcpy(to, &value, storage->width);
    }
    return TN_OK;
}

static uint64_t count_varints(const struct numbers *numbers) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < numbers->packed_size; i++)
        n += numbers->packed[i] < 0x80;
    return n;
}

static tn_status take_numbers(struct tn__reader *r, const Onnx__TensorProto *proto,
    const struct numbers *numbers, uint64_t bytes, struct tn_tensor *out,
    struct tn_diag *diag) {
    const struct storage *storage = &storages[proto->data_type];
    if (numbers->field != storage->field)
        return fail(proto, diag, TN_RULE_TENSOR_FIELD, "%s cannot hold its element type",
            numbers->name);
    bool floating = numbers->field == FLOAT_DATA || numbers->field == DOUBLE_DATA;
    uint64_t expected = bytes / storage->width, n = numbers->n_items;
    if (numbers->packed)
        n = floating ? numbers->packed_size / storage->width : count_varints(numbers);
    if (n != expected)
        return fail_size(proto, numbers->name, n, expected, "entries", diag);
    if (floating) {
        enum home home = numbers->packed ? payload_home(r) : HOME_BRIEF;
        const void *from = numbers->packed ? numbers->packed : numbers->items;
        return take_bytes(r, from, bytes, home, out, diag);
    }
    TN_TRY(tn__reader_room(r, bytes, false, &out->data, diag));
    return narrow(proto, numbers, n, out->data, diag);
}

static tn_status take_strings(struct tn__reader *r, const Onnx__TensorProto *proto,
    uint64_t n, struct tn_tensor *out, struct tn_diag *diag) {
    if (proto->n_string_data != n)
        return fail_size(proto, "string_data", proto->n_string_data, n, "strings", diag);
    if (n == 0) return TN_OK;
    struct tn_string *strings = tn__arena_array(r->arena, n, sizeof *strings);
    if (!strings) return tn__fail_memory(diag, "a string tensor", n * sizeof *strings);
    for (uint64_t i = 0; i < n; i++) {
        const ProtobufCBinaryData *from = &proto->string_data[i];
        char *copy = tn__arena_string(r->arena, (const char *)from->data, from->len);
        if (!copy) return tn__fail_memory(diag, "a string tensor", from->len);
        strings[i] = (struct tn_string){copy, from->len};
        if (!tn_add_size(r->total_bytes, from->len, &r->total_bytes)) break;
    }
    out->data = strings;
    return TN_OK;
}

static tn_status external_room(
    void *reader, uint64_t size, void **out, struct tn_diag *diag) {
    return tn__reader_room(reader, size, false, out, diag);
}

static tn_status take_external(struct tn__reader *r, const Onnx__TensorProto *proto,
    uint64_t bytes, struct tn_tensor *out, struct tn_diag *diag) {
    struct tn__external_place place = {NULL, NULL, NULL, NULL};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const char *key = tn__text_or_empty(proto->external_data[i]->key);
        const char *value = tn__text_or_empty(proto->external_data[i]->value);
        if (strcmp(key, "location") == 0) place.location = value;
        if (strcmp(key, "offset") == 0) place.offset = value;
        if (strcmp(key, "length") == 0) place.length = value;
        if (strcmp(key, "checksum") == 0) place.checksum = value;
    }
    if (proto->data_type == TN_STRING)
        return fail(proto, diag, TN_RULE_EXTERNAL_STRING,
            "strings cannot be stored in an external file");
    if (bytes == 0) return TN_OK;
    const void *data;
    struct tn__external_room room = {external_room, r};
    TN_TRY(tn__external_data(&r->externals, &place, tn__text_or_empty(proto->name), bytes,
        &room, &data, diag));
    if (r->externals.source && r->externals.source->read) {
        out->data = (void *)(uintptr_t)data;
        return TN_OK;
    }
    return take_bytes(r, data, bytes, HOME_KEPT, out, diag);
}

/* Raw bytes: the walker's record, or the field when the text parser filled it. */
static bool find_raw(struct tn__reader *r, const Onnx__TensorProto *proto,
    const void **out_bytes, uint64_t *out_size) {
    if (proto->payload && r->payloads.items[proto->payload - 1].raw) {
        *out_bytes = r->payloads.items[proto->payload - 1].raw;
        *out_size = r->payloads.items[proto->payload - 1].raw_size;
        return true;
    }
    *out_bytes = proto->raw_data.data;
    *out_size = proto->raw_data.len;
    return proto->has_raw_data;
}

static tn_status take_data(struct tn__reader *r, const Onnx__TensorProto *proto,
    uint64_t n, uint64_t bytes, struct tn_tensor *out, struct tn_diag *diag) {
    struct numbers numbers = {0};
    uint32_t n_fields;
    const void *raw;
    uint64_t raw_size;
    TN_TRY(find_numbers(r, proto, &numbers, &n_fields, diag));
    bool has_raw = find_raw(r, proto, &raw, &raw_size) && (raw_size || !n_fields);
    if (proto->data_location == 1) {
        if (n_fields || (has_raw && raw_size))
            return fail(proto, diag, TN_RULE_EXTERNAL_TWICE,
                "its data is external and in the model too, expected one of them");
        return take_external(r, proto, bytes, out, diag);
    }
    if (has_raw && n_fields)
        return fail(proto, diag, TN_RULE_TENSOR_TWICE,
            "it keeps data in raw_data and in %s, expected one of them", numbers.name);
    if (proto->data_type == TN_STRING) {
        if (n_fields && numbers.field != STRING_DATA)
            return fail(proto, diag, TN_RULE_TENSOR_FIELD,
                "%s cannot hold its element type", numbers.name);
        if (has_raw && raw_size)
            return fail(proto, diag, TN_RULE_TENSOR_FIELD,
                "raw_data cannot hold its element type");
        return take_strings(r, proto, n, out, diag);
    }
    if (n_fields) return take_numbers(r, proto, &numbers, bytes, out, diag);
    if (!has_raw) raw_size = 0;
    if (raw_size != bytes)
        return fail_size(proto, "raw_data", raw_size, bytes, "bytes", diag);
    return take_bytes(r, raw, bytes, payload_home(r), out, diag);
}

tn_status tn__read_weight(struct tn__reader *r, const Onnx__TensorProto *proto,
    struct tn_tensor *out, struct tn_diag *diag) {
    uint64_t n = 0, bytes = 0;
    TN_TRY(count_bytes(r, proto, &n, &bytes, diag));
    if (proto->segment)
        return fail(proto, diag, TN_RULE_TENSOR_SEGMENT,
            "it is a segment of a larger tensor, which is not supported");
    *out = (struct tn_tensor){.dtype = proto->data_type,
        .rank = (uint32_t)proto->n_dims,
        .size = bytes,
        .flags = TN_TENSOR_CONST};
    if (proto->n_dims) {
        out->dims =
            tn__arena_copy(r->arena, proto->dims, proto->n_dims * sizeof *proto->dims);
        if (!out->dims) return tn__fail_memory(diag, "a shape", proto->n_dims);
    }
    return take_data(r, proto, n, bytes, out, diag);
}

tn_status tn__read_tensor(struct tn__reader *r, const Onnx__TensorProto *proto,
    struct tn_tensor *out, struct tn_diag *diag) {
    TN_TRY(tn__read_weight(r, proto, out, diag));
    if (tn__tensor_aligned(out)) return TN_OK;
    const void *from = out->data;
    TN_TRY(tn__reader_room(r, out->size, false, &out->data, diag));
    memcpy(out->data, from, out->size);
    return TN_OK;
}
