/* Decoding of long lists: see wire_lists.h. */
#include "core/model/wire_lists.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5, KNOWN_STRINGS = 4 };

uint64_t tn__list_element_size(uint32_t kind) {
    static const uint8_t sizes[TN_LIST_KINDS] = {
        sizeof(float), sizeof(int64_t), sizeof(struct tn_string)};
    return sizes[kind];
}

/* ---- reading -------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
};

static bool read_varint(struct cursor *c, uint64_t *out) {
    uint64_t value = 0;
    const uint8_t *at = c->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at == c->end) return false;
        uint64_t byte = *at++;
        if (shift == 63 && byte > 1) return false;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            c->at = at;
            *out = value;
            return true;
        }
    }
    return false;
}

/* The content of a field of bytes. */
static bool read_bytes(struct cursor *c, struct cursor *out) {
    uint64_t size;
    if (!read_varint(c, &size) || size > (uint64_t)(c->end - c->at)) return false;
    out->at = c->at;
    out->end = c->at += size;
    return true;
}

/* ---- elements ------------------------------------------------------------------------- */

/* Where elements go; NULL items: they are counted only. */
struct sink {
    void *items;
    uint64_t n;
    struct tn_arena *arena;
    struct tn_string known[KNOWN_STRINGS]; /* the newest different texts, in a ring */
    uint32_t n_known;
    bool failed;
};

static void put_int(struct sink *sink, uint64_t value) {
    if (sink->items && value) ((int64_t *)sink->items)[sink->n] = (int64_t)value;
    sink->n++;
}

static void put_float(struct sink *sink, const uint8_t *bytes) {
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    if (sink->items && bits) memcpy((float *)sink->items + sink->n, &bits, sizeof bits);
    sink->n++;
}

/* Modes of nodes and the like are few texts many times. */
static void put_string(struct sink *sink, struct cursor text) {
    uint64_t size = (uint64_t)(text.end - text.at), index = sink->n++;
    if (!sink->items) return;
    struct tn_string *out = (struct tn_string *)sink->items + index;
    for (uint32_t i = 0; i < sink->n_known && i < KNOWN_STRINGS; i++) {
        *out = sink->known[i];
        if (out->size == size && memcmp(out->data, text.at, size) == 0) return;
    }
    *out = (struct tn_string){
        tn__arena_string(sink->arena, (const char *)text.at, size), size};
    sink->failed = sink->failed || !out->data;
    sink->known[sink->n_known % KNOWN_STRINGS] = *out;
    if (!sink->failed) sink->n_known++;
}

/* What follows the tag: one element, or a packed list of them. */
static bool take(struct cursor *c, uint32_t kind, unsigned wire, struct sink *sink) {
    struct cursor content;
    uint64_t value;
    if (kind == TN_LIST_INTS && wire == WIRE_VARINT) {
        if (!read_varint(c, &value)) return false;
        put_int(sink, value);
        return true;
    }
    if (kind == TN_LIST_FLOATS && wire == WIRE_FIXED32) {
        if (c->end - c->at < 4) return false;
        put_float(sink, c->at);
        c->at += 4;
        return true;
    }
    if (wire != WIRE_BYTES || !read_bytes(c, &content)) return false;
    if (kind == TN_LIST_STRINGS) {
        put_string(sink, content);
        return true;
    }
    uint64_t before = sink->n;
    while (kind == TN_LIST_INTS && content.at != content.end) {
        if (!read_varint(&content, &value)) {
            sink->n = before;
            return false;
        }
        put_int(sink, value);
    }
    if ((content.end - content.at) % 4 != 0) return false;
    for (; content.at != content.end; content.at += 4)
        put_float(sink, content.at);
    return true;
}

/* ---- the common way of writing -------------------------------------------------------- */

/* Elements one by one, each behind the same tag of one byte, numbers of up to three bytes and
 * short texts: most of every long list. Each loop stops in front of what is not so. */

static const uint8_t *quick_ints(const uint8_t *at, const uint8_t *end, uint8_t tag,
    uint64_t most, struct sink *sink) {
    int64_t *items = sink->items;
    uint64_t n = sink->n;
    while (end - at >= 4 && *at == tag && n < most) {
        uint32_t size = at[1] < 0x80 ? 1 : at[2] < 0x80 ? 2 : 3;
        if (size == 3 && at[3] >= 0x80) break;
        uint32_t value = at[1] & 0x7fu;
        if (size > 1) value |= (at[2] & 0x7fu) << 7;
        if (size > 2) value |= (uint32_t)at[3] << 14;
        if (items && value) items[n] = value;
        n++;
        at += 1 + size;
    }
    sink->n = n;
    return at;
}

static const uint8_t *quick_floats(const uint8_t *at, const uint8_t *end, uint8_t tag,
    uint64_t most, struct sink *sink) {
    for (; end - at >= 5 && *at == tag && sink->n < most; at += 5)
        put_float(sink, at + 1);
    return at;
}

static const uint8_t *quick_strings(const uint8_t *at, const uint8_t *end, uint8_t tag,
    uint64_t most, struct sink *sink) {
    while (end - at >= 2 && *at == tag && at[1] < 0x80 && end - at - 2 >= at[1] &&
           sink->n < most && !sink->failed) {
        const uint8_t *next = at + 2 + at[1];
        put_string(sink, (struct cursor){at + 2, next});
        at = next;
    }
    return at;
}

static const struct {
    const uint8_t *(*take)(const uint8_t *at, const uint8_t *end, uint8_t tag,
        uint64_t most, struct sink *sink);
    uint8_t wire;
} quick[TN_LIST_KINDS] = {
    [TN_LIST_FLOATS] = {quick_floats, WIRE_FIXED32},
    [TN_LIST_INTS] = {quick_ints, WIRE_VARINT},
    [TN_LIST_STRINGS] = {quick_strings, WIRE_BYTES},
};

/* Elements of the field from a tag on, at most `most`. */
static const uint8_t *take_run(uint32_t kind, uint32_t id, const uint8_t *at,
    const uint8_t *end, uint64_t most, struct sink *sink) {
    const uint8_t *done = at;
    uint64_t tag;
    for (;;) {
        if (id < 16)
            done = quick[kind].take(
                done, end, (uint8_t)(id << 3 | quick[kind].wire), most, sink);
        struct cursor c = {done, end};
        if (sink->n >= most || sink->failed || !read_varint(&c, &tag) || tag >> 3 != id ||
            !take(&c, kind, tag & 7, sink))
            return done;
        done = c.at;
    }
}

uint64_t tn__list_measure(uint32_t kind, uint32_t id, const uint8_t *at,
    const uint8_t *end, const uint8_t **out_end) {
    struct sink sink = {0};
    *out_end = take_run(kind, id, at, end, UINT64_MAX, &sink);
    return sink.n;
}

static bool reserve(
    struct tn__list *list, struct tn_arena *arena, uint64_t n, uint64_t size) {
    if (n <= list->cap) return true;
    uint64_t cap = list->cap && n < list->cap * 2 ? list->cap * 2 : n;
    void *items = tn__arena_array(arena, cap, size);
    if (!items) return false;
    if (list->n) memcpy(items, list->items, list->n * size);
    list->items = items;
    list->cap = cap;
    return true;
}

bool tn__list_append(struct tn__list *list, struct tn_arena *arena, uint32_t kind,
    uint32_t id, const uint8_t *at, const uint8_t *end, uint64_t n) {
    if (!reserve(list, arena, list->n + n, tn__list_element_size(kind))) return false;
    struct sink sink = {.items = list->items, .n = list->n, .arena = arena};
    take_run(kind, id, at, end, list->n + n, &sink);
    list->n = sink.n;
    return !sink.failed;
}
