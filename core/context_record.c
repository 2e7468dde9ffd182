#include "core/context_record.h"

#include "core/base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "tenon-context 1";

/* ---- text ----------------------------------------------------------------------------- */

/* Fields by name; strings first, then hashes. */
#define STRINGS(X) X(provider) X(provider_version) X(sdk) X(driver) X(arch)
#define HASHES(X) X(graph_hash) X(weights_hash) X(options_hash) X(blob_hash)

static void print_string(const char *key, const char *value, struct tn_text *out) {
    tn__text_printf(out, ";%s=", key);
    for (const char *p = value ? value : ""; *p; p++)
        tn__text_append(out, *p == ';' || *p == '\n' ? " " : p, 1);
}

static void print_hash(const char *key, const uint8_t hash[32], struct tn_text *out) {
    tn__text_printf(out, ";%s=", key);
    for (unsigned i = 0; i < 32; i++)
        tn__text_printf(out, "%02x", hash[i]);
}

void tn__record_print(const struct tn_context_record *record, struct tn_text *out) {
    tn__text_puts(out, magic);
#define PRINT_STRING(field) print_string(#field, record->field, out);
#define PRINT_HASH(field) print_hash(#field, record->field, out);
    STRINGS(PRINT_STRING)
    HASHES(PRINT_HASH)
#undef PRINT_STRING
#undef PRINT_HASH
    tn__text_printf(out, ";blob_size=%llu", (unsigned long long)record->blob_size);
}

static bool parse_hash(const char *value, size_t n, uint8_t out[32]) {
    if (n != 64) return false;
    for (unsigned i = 0; i < 64; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, value[i]);
        if (!at || !value[i]) return false;
        unsigned digit = (unsigned)(at - digits);
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    return true;
}

static bool parse_size(const char *value, size_t n, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9' || *out > UINT64_MAX / 16) return false;
        *out = *out * 10 + (uint64_t)(value[i] - '0');
    }
    return n > 0;
}

static bool parse_field(struct tn_arena *arena, const char *key, size_t n_key,
    const char *value, size_t n, struct tn_context_record *out) {
#define IS(field) (n_key == sizeof #field - 1 && memcmp(key, #field, n_key) == 0)
#define PARSE_STRING(field)                                                              \
    if (IS(field)) return (out->field = tn__arena_string(arena, value, n)) != NULL;
#define PARSE_HASH(field)                                                                \
    if (IS(field)) return parse_hash(value, n, out->field);
    STRINGS(PARSE_STRING)
    HASHES(PARSE_HASH)
#undef PARSE_STRING
#undef PARSE_HASH
    if (IS(blob_size)) return parse_size(value, n, &out->blob_size);
#undef IS
    return true; /* of a newer version */
}

bool tn__record_parse(struct tn_arena *arena, const char *text, uint64_t size,
    struct tn_context_record *out) {
    *out = (struct tn_context_record){.struct_size = TN_CONTEXT_RECORD_SIZE,
        .provider = "",
        .provider_version = "",
        .sdk = "",
        .driver = "",
        .arch = ""};
    uint64_t at = sizeof magic - 1;
    if (size < at || memcmp(text, magic, at) != 0) return false;
    while (at < size) {
        const char *key = text + at + 1, *end = text + size;
        if (text[at] != ';') return false;
        const char *stop = memchr(key, ';', (size_t)(end - key));
        if (!stop) stop = end;
        const char *equals = memchr(key, '=', (size_t)(stop - key));
        if (!equals || !parse_field(arena, key, (size_t)(equals - key), equals + 1,
                           (size_t)(stop - equals - 1), out))
            return false;
        at = (uint64_t)(stop - text);
    }
    return true;
}

/* ---- hashes --------------------------------------------------------------------------- */

static void hash_text(struct tn_sha256 *sha, const char *text) {
    tn__sha256_add(sha, text, strlen(text) + 1);
}

static void hash_type(struct tn_sha256 *sha, const struct tn_graph *g, tn_value_id v) {
    if (v == TN_NO_ID) return;
    const struct tn_type *type = &tn__value_at(g, v)->type;
    int64_t head[3] = {type->kind, type->dtype, type->rank};
    tn__sha256_add(sha, head, sizeof head);
    if (type->rank > 0)
        tn__sha256_add(sha, type->dims, (uint64_t)type->rank * sizeof *type->dims);
    hash_text(sha, tn__value_at(g, v)->name);
}

static void hash_attr(struct tn_sha256 *sha, const struct tn_attr *attr) {
    hash_text(sha, attr->name);
    tn__sha256_add(sha, &attr->type, sizeof attr->type);
    if (attr->type == TN_ATTR_FLOAT || attr->type == TN_ATTR_FLOATS)
        tn__sha256_add(sha, attr->as.floats, attr->count * sizeof(float));
    else if (attr->type == TN_ATTR_INT || attr->type == TN_ATTR_INTS)
        tn__sha256_add(sha, attr->as.ints, attr->count * sizeof(int64_t));
    for (uint32_t i = 0; i < attr->count; i++) {
        if (attr->type == TN_ATTR_STRING || attr->type == TN_ATTR_STRINGS)
            tn__sha256_add(sha, attr->as.strings[i].data, attr->as.strings[i].size);
        else if (attr->type == TN_ATTR_TENSOR || attr->type == TN_ATTR_TENSORS)
            tn__sha256_add(sha, attr->as.tensors[i].data, attr->as.tensors[i].size);
    }
}

static void hash_node(struct tn_sha256 *graph, struct tn_sha256 *weights,
    const struct tn_graph *g, const struct tn_node *node) {
    hash_text(graph, node->domain);
    hash_text(graph, node->op_type);
    tn__sha256_add(graph, &node->since, sizeof node->since);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        hash_type(graph, g, node->inputs[i]);
        const struct tn_tensor *t =
            node->inputs[i] == TN_NO_ID ? NULL : tn__constant_of(g, node->inputs[i]);
        if (t && t->dtype != TN_STRING) tn__sha256_add(weights, t->data, t->size);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        hash_type(graph, g, node->outputs[i]);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        hash_attr(graph, &node->attrs[i]);
}

void tn__record_hash_groups(
    const struct tn__unit *const *units, uint32_t n, struct tn_context_record *record) {
    struct tn_sha256 graph, weights;
    tn__sha256_begin(&graph);
    tn__sha256_begin(&weights);
    for (uint32_t u = 0; u < n; u++) {
        hash_text(&graph, units[u]->name);
        for (uint32_t i = 0; i < units[u]->n_nodes; i++)
            hash_node(&graph, &weights, units[u]->graph,
                &tn__node_at(units[u]->graph, units[u]->nodes[i])->view);
    }
    tn__sha256_end(&graph, record->graph_hash);
    tn__sha256_end(&weights, record->weights_hash);
}

void tn__record_hash_blob(
    const void *blob, uint64_t size, struct tn_context_record *record) {
    struct tn_sha256 sha;
    tn__sha256_begin(&sha);
    tn__sha256_add(&sha, blob, size);
    tn__sha256_end(&sha, record->blob_hash);
    record->blob_size = size;
}
