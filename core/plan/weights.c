/* Packed weights, one copy a process: an entry is a buffer with the references to it.
 *
 * Equal content is found without hashing all of it: a hash of a few samples proposes, and
 * a comparison with the original of any holder decides; so the first session to load a
 * model pays nothing, and no two different weights can ever be taken for each other. A
 * buffer that is still being filled is not waited for: the late-comer gets its own. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/plan.h"

#include <string.h>

enum { N_BUCKETS = 1024, N_SAMPLES = 32, SAMPLE_BYTES = 64 };

struct entry {
    struct entry *next;
    uint64_t key;
    char *layout; /* "plugin\0layout" behind the struct */
    uint64_t layout_size;
    void *buffer;
    uint64_t size;
    bool ready;
    struct tn__weight_ref *refs; /* linked by `sibling` */
};

struct tn__weight_ref {
    struct tn__weight_ref *next;    /* of one kernel */
    struct tn__weight_ref *sibling; /* of one entry */
    struct tn__weights *weights;
    struct entry *entry;
    const struct tn_tensor *source;
};

struct tn__weights {
    pthread_mutex_t lock;
    uint64_t bytes;
    struct entry *buckets[N_BUCKETS];
};

struct tn__weights *tn__weights_create(void) {
    struct tn__weights *weights = tn__alloc_zero(sizeof *weights, 0);
    if (weights) pthread_mutex_init(&weights->lock, NULL);
    return weights;
}

void tn__weights_destroy(struct tn__weights *weights) {
    if (!weights) return;
    pthread_mutex_destroy(&weights->lock);
    tn__free(weights);
}

static uint64_t sample_key(const struct tn_tensor *t, const char *layout, uint64_t n) {
    uint64_t key = tn__hash_bytes(layout, n, t->size ^ (uint64_t)t->dtype);
    key = tn__hash_bytes(t->dims, t->rank * sizeof *t->dims, key);
    const char *data = t->data;
    if (t->size <= N_SAMPLES * SAMPLE_BYTES) return tn__hash_bytes(data, t->size, key);
    uint64_t stride = (t->size - SAMPLE_BYTES) / (N_SAMPLES - 1);
    for (uint64_t i = 0; i < N_SAMPLES; i++)
        key = tn__hash_bytes(data + i * stride, SAMPLE_BYTES, key);
    return key;
}

static bool same_content(const struct tn_tensor *a, const struct tn_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->size == b->size &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0 &&
           (a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

/* The entry that can be shared, with the reference added while the lock is held. */
static struct entry *find_entry(struct tn__weights *weights, struct tn__weight_ref *ref,
    uint64_t key, const char *layout, uint64_t layout_size, uint64_t size) {
    for (struct entry *e = weights->buckets[key % N_BUCKETS]; e; e = e->next) {
        if (e->key == key && e->ready && e->size == size &&
            e->layout_size == layout_size &&
            memcmp(e->layout, layout, layout_size) == 0 &&
            same_content(e->refs->source, ref->source))
            return e;
    }
    return NULL;
}

static struct entry *make_entry(struct tn__weights *weights, uint64_t key,
    const char *layout, uint64_t layout_size, uint64_t size) {
    struct entry *e = tn__alloc_zero(sizeof *e + layout_size, 0);
    void *buffer = e ? tn__alloc(size, 64) : NULL;
    if (!buffer) {
        tn__free(e);
        return NULL;
    }
    e->key = key;
    e->layout = (char *)(e + 1);
    e->layout_size = layout_size;
    memcpy(e->layout, layout, layout_size);
    e->buffer = buffer;
    e->size = size;
    e->next = weights->buckets[key % N_BUCKETS];
    weights->buckets[key % N_BUCKETS] = e;
    weights->bytes += size;
    return e;
}

tn_status tn__weights_get(struct tn__weights *weights, const struct tn_tensor *source,
    const char *plugin, const char *layout, uint64_t size, bool share,
    struct tn__weight_ref **list, void **out_buffer, int32_t *out_filled,
    struct tn_diag *diag) {
    char name[256];
    int n = snprintf(name, sizeof name, "%s%c%s", plugin, 0, layout);
    if (n < 0 || (size_t)n >= sizeof name)
        return tn_fail(diag, TN_PLUGIN,
            "plugin %s names a weight layout of %zu characters; at most %zu fit", plugin,
            strlen(layout), sizeof name - strlen(plugin) - 2);
    struct tn__weight_ref *ref = tn__alloc_zero(sizeof *ref, 0);
    if (!ref) return tn__fail_memory(diag, "packed weights", sizeof *ref);
    ref->weights = weights;
    ref->source = source;
    uint64_t key = sample_key(source, name, (uint64_t)n);
    pthread_mutex_lock(&weights->lock);
    struct entry *e =
        share ? find_entry(weights, ref, key, name, (uint64_t)n, size) : NULL;
    int32_t filled = e != NULL;
    if (!e) e = make_entry(weights, key, name, (uint64_t)n, size);
    if (e) {
        ref->entry = e;
        ref->sibling = e->refs;
        e->refs = ref;
    }
    pthread_mutex_unlock(&weights->lock);
    if (!e) {
        tn__free(ref);
        return tn__fail_memory(diag, "packed weights", size);
    }
    ref->next = *list;
    *list = ref;
    *out_buffer = e->buffer;
    *out_filled = filled;
    return TN_OK;
}

void tn__weights_ready(struct tn__weight_ref *list, const struct tn__weight_ref *end) {
    for (; list != end; list = list->next) {
        pthread_mutex_lock(&list->weights->lock);
        list->entry->ready = true;
        pthread_mutex_unlock(&list->weights->lock);
    }
}

static void drop_entry(struct tn__weights *weights, struct entry *entry) {
    struct entry **at = &weights->buckets[entry->key % N_BUCKETS];
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    weights->bytes -= entry->size;
    tn__free(entry->buffer);
    tn__free(entry);
}

void tn__weights_release(struct tn__weight_ref **list, const struct tn__weight_ref *end) {
    while (*list != end) {
        struct tn__weight_ref *ref = *list;
        struct tn__weights *weights = ref->weights;
        pthread_mutex_lock(&weights->lock);
        struct tn__weight_ref **at = &ref->entry->refs;
        while (*at != ref)
            at = &(*at)->sibling;
        *at = ref->sibling;
        if (!ref->entry->refs) drop_entry(weights, ref->entry);
        pthread_mutex_unlock(&weights->lock);
        *list = ref->next;
        tn__free(ref);
    }
}

uint64_t tn__weights_bytes(struct tn__weights *weights) {
    pthread_mutex_lock(&weights->lock);
    uint64_t bytes = weights->bytes;
    pthread_mutex_unlock(&weights->lock);
    return bytes;
}

uint64_t tn__weights_list_bytes(const struct tn__weight_ref *list) {
    uint64_t bytes = 0;
    for (; list; list = list->next)
        bytes += list->entry->size;
    return bytes;
}
