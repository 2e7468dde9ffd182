/* Blocks of constants: large results of folding, and aligned copies. Once weights are packed
 * most of them are read no more, and their pages go back although the addresses stay. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/graph/graph.h"

#include <sys/mman.h>

enum { PAGE = 4096, ALIGN = 64 };
#define BLOCK_SIZE (UINT64_C(2) << 20) /* from here on tn__alloc maps pages of its own */

static void *block(struct tn__model *model, uint64_t size) {
    void *data = tn__alloc_zero(size, 0);
    if (!data) return NULL;
    struct tn__resource resource = {
        .release = tn__free, .arg = data, .data = data, .size = size, .is_block = true};
    return tn__model_own(model, &resource, NULL) == TN_OK ? data : NULL;
}

void *tn__model_constant(struct tn__model *model, uint64_t size) {
    uint64_t room;
    if (size >= BLOCK_SIZE) return block(model, size);
    char *data =
        tn_add_size(size, ALIGN, &room) ? tn__arena_alloc(model->arena, room) : NULL;
    return data ? (void *)(((uintptr_t)data + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1))
                : NULL;
}

struct tn__resource *tn__model_find_block(struct tn__model *model, const void *data) {
    for (struct tn__resource *r = model->resources; r; r = r->next) {
        if (r->is_block && (uintptr_t)data - (uintptr_t)r->data < r->size) return r;
    }
    return NULL;
}

void tn__model_drop_blocks(struct tn__model *model) {
    for (struct tn__resource *r = model->resources; r; r = r->next) {
        if (!r->is_block || r->needed) continue;
        (void)madvise(r->arg, r->size & ~(uint64_t)(PAGE - 1), MADV_DONTNEED);
    }
}
