/* Context nodes of a model: their binaries are taken out of the graph and held against
 * their records, before any provider sees the graph. */
#include "core/base/alloc.h"
#include "core/context_record.h"
#include "core/objects.h"
#include "core/os/file.h"

#include <string.h>
#include <sys/stat.h>

static struct tn_string text_attr(const struct tn_node *node, const char *name) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    if (!attr || attr->type != TN_ATTR_STRING || attr->count != 1)
        return (struct tn_string){"", 0};
    return attr->as.strings[0];
}

static bool is_true(const struct tn_node *node, const char *name) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    return !attr || attr->type != TN_ATTR_INT || attr->as.ints[0] != 0;
}

static const char *copy_text(struct tn_session *session, struct tn_string text) {
    const char *copy = tn__arena_string(session->arena, text.data, text.size);
    return copy ? copy : "";
}

/* ---- files ---------------------------------------------------------------------------- */

/* Whether a path stays below its folder and names each part plainly. */
static bool stays_below(const char *path) {
    if (path[0] == '\0' || path[0] == '/') return false;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if ((n == 2 && p[0] == '.' && p[1] == '.') || strchr(p, '\\')) return false;
        p += n + (p[n] == '/');
    }
    return true;
}

static void release_mapping(void *arg) {
    struct tn__mapping *mapping = arg;
    tn__file_unmap(mapping);
}

/* Maps a file beside the model; it stays as long as the model does. */
static tn_status map_beside(struct tn_session *session, const struct tn_model *source,
    const char *name, struct tn__context_node *out, struct tn_diag *diag) {
    if (!stays_below(name))
        return tn_fail(diag, TN_INVALID_MODEL,
            "its binary lies at '%.200s', expected a relative path without '..'", name);
    const char *slash = source->path ? strrchr(source->path, '/') : NULL;
    const char *dir = source->base_dir;
    if (!dir && slash)
        dir = tn__arena_string(
            session->arena, source->path, (uint64_t)(slash - source->path));
    if (!dir && source->path) dir = ".";
    if (!dir)
        return tn_fail(diag, TN_NOT_FOUND,
            "its binary is a file, but the model came from memory without a folder");
    struct tn__mapping *mapping = tn__arena_alloc(session->arena, sizeof *mapping);
    char *path = tn__path_join(dir, name);
    struct stat info;
    tn_status status = path && mapping ? TN_OK : tn__fail_memory(diag, "a context", 64);
    if (status == TN_OK && lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        status = tn_fail(
            diag, TN_INVALID_MODEL, "its binary '%.200s' is a symbolic link", name);
    if (status == TN_OK) status = tn__file_map(path, mapping, diag);
    tn__free(path);
    if (status != TN_OK) return status;
    out->blob = mapping->data;
    out->size = mapping->size;
    struct tn__resource resource = {.release = release_mapping, .arg = mapping};
    return tn__model_own(session->model, &resource, diag);
}

/* ---- records -------------------------------------------------------------------------- */

/* A binary of somebody else's file has no record: what its attributes say is taken. */
static void read_record(struct tn_session *session, const struct tn_node *node,
    struct tn_context_record *record) {
    struct tn_string notes = text_attr(node, "notes");
    if (tn__record_parse(session->arena, notes.data, notes.size, record)) return;
    *record = (struct tn_context_record){.struct_size = TN_CONTEXT_RECORD_SIZE,
        .provider = "",
        .provider_version = "",
        .sdk = copy_text(session, text_attr(node, "ep_sdk_version")),
        .driver = "",
        .arch = copy_text(session, text_attr(node, "hardware_architecture"))};
}

static tn_status check_blob(
    const struct tn__context_node *context, struct tn_diag *diag) {
    struct tn_context_record *record = context->record;
    static const uint8_t unknown[32];
    uint8_t stated[32];
    uint64_t size = record->blob_size;
    memcpy(stated, record->blob_hash, sizeof stated);
    tn__record_hash_blob(context->blob, context->size, record);
    if (memcmp(stated, unknown, sizeof stated) == 0 && size == 0) return TN_OK;
    if (size != context->size)
        return tn_fail(diag, TN_INVALID_MODEL,
            "its binary has %llu bytes, its record says %llu",
            (unsigned long long)context->size, (unsigned long long)size);
    if (memcmp(stated, record->blob_hash, sizeof stated) != 0)
        return tn_fail(
            diag, TN_INVALID_MODEL, "its binary is not the one that its record is of");
    return TN_OK;
}

/* Takes the binary out of the node, so that a provider that looks at the graph does not
 * find it there. */
static void detach(const struct tn_node *node) {
    const struct tn_attr *attr = tn_node_attr(node, "ep_cache_context");
    if (!attr || attr->type != TN_ATTR_STRING || attr->count != 1) return;
    *(struct tn_string *)(uintptr_t)attr->as.strings = (struct tn_string){"", 0};
}

static tn_status read_blob(struct tn_session *session, const struct tn_model *source,
    const struct tn_node *node, struct tn__context_node *out, struct tn_diag *diag) {
    struct tn_string text = text_attr(node, "ep_cache_context");
    if (is_true(node, "embed_mode")) {
        out->blob = text.data;
        out->size = text.size;
        return TN_OK;
    }
    return map_beside(session, source, copy_text(session, text), out, diag);
}

static tn_status read_node(struct tn_session *session, const struct tn_model *source,
    struct tn_graph *g, const struct tn_node *node, struct tn__context_node *out,
    struct tn_diag *diag) {
    *out = (struct tn__context_node){.graph = g,
        .node = node->id,
        .source = copy_text(session, text_attr(node, "source")),
        .name = copy_text(session, text_attr(node, "partition_name")),
        .is_main = is_true(node, "main_context"),
        .problem = ""};
    out->record = tn__arena_alloc(session->arena, sizeof *out->record);
    if (!out->record) return tn__fail_memory(diag, "a context", sizeof *out->record);
    read_record(session, node, out->record);
    struct tn_diag own = {0};
    if (out->is_main && (read_blob(session, source, node, out, &own) != TN_OK ||
                            check_blob(out, &own) != TN_OK)) {
        out->problem = tn__arena_format(session->arena, "%s", own.message);
        if (!out->problem) return tn__fail_memory(diag, "a context", 512);
    }
    detach(node);
    return TN_OK;
}

/* Nodes without a binary of their own are in that of their source's main node. */
static void share_blobs(struct tn__context_node *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n && !nodes[i].is_main; k++) {
            if (!nodes[k].is_main || strcmp(nodes[k].source, nodes[i].source) != 0)
                continue;
            nodes[i].blob = nodes[k].blob;
            nodes[i].size = nodes[k].size;
            nodes[i].record = nodes[k].record;
            nodes[i].problem = nodes[k].problem;
            break;
        }
        if (!nodes[i].blob && nodes[i].problem[0] == '\0')
            nodes[i].problem = "no node of the model holds its binary";
    }
}

static uint32_t list_nodes(
    const struct tn__model *model, const struct tn_node **out, struct tn_graph **graphs) {
    uint32_t n = 0;
    for (struct tn_graph *g = model->graphs; g; g = g->next_graph) {
        for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next) {
            const struct tn__node *node = tn__node_at(g, id);
            if (!node->def || !(node->def->flags & TN_OP_CONTEXT)) continue;
            if (out) {
                out[n] = &node->view;
                graphs[n] = g;
            }
            n++;
        }
    }
    return n;
}

tn_status tn__contexts_read(struct tn_session *session, const struct tn_model *source,
    struct tn__plan_options *options, struct tn_diag *diag) {
    uint32_t n = list_nodes(session->model, NULL, NULL);
    if (n == 0) return TN_OK;
    const struct tn_node **nodes = tn__arena_array(session->arena, n, sizeof *nodes);
    struct tn_graph **graphs = tn__arena_array(session->arena, n, sizeof *graphs);
    session->contexts = tn__arena_array(session->arena, n, sizeof *session->contexts);
    if (!nodes || !graphs || !session->contexts)
        return tn__fail_memory(diag, "contexts", n * 64);
    list_nodes(session->model, nodes, graphs);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(
            read_node(session, source, graphs[i], nodes[i], &session->contexts[i], diag));
    share_blobs(session->contexts, n);
    session->n_contexts = n;
    options->contexts = session->contexts;
    options->n_contexts = n;
    return TN_OK;
}
