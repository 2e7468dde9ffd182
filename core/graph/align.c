/* Constants that lie in a mapped file at any address. Copying them when a model is loaded
 * would double the memory of weights that a kernel is about to pack anyway, so that large
 * ones stay where they are until somebody other than the packing wants to read them. */
#include "core/graph/graph.h"

#include <string.h>

bool tn__tensor_aligned(const struct tn_tensor *tensor) {
    uint64_t align = tn_dtype_bits(tensor->dtype) / 8;
    if (align > 8 || tensor->dtype == TN_COMPLEX64) align /= 2; /* pairs */
    return align <= 1 || (uintptr_t)tensor->data % align == 0;
}

const struct tn_tensor *tn__tensor_align(
    struct tn__model *model, const struct tn_tensor *tensor) {
    if (!tensor || tn__tensor_aligned(tensor)) return tensor;
    void *copy = tn__model_constant(model, tensor->size);
    if (!copy) return NULL;
    memcpy(copy, tensor->data, tensor->size);
    tn__model_forget(model, tensor->data, tensor->size);
    /* every holder of the tensor sees the new place */
    ((struct tn_tensor *)(uintptr_t)tensor)->data = copy;
    return tensor;
}
