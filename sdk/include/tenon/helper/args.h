/* The tensors of a kernel call. */
#ifndef TENON_HELPER_ARGS_H
#define TENON_HELPER_ARGS_H

#include "tenon/helper/diag.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"

#include <stdbool.h>

/* Tensor of input i, NULL when it is omitted. */
static inline const struct tn_tensor *tn_in(const struct tn_run_args *args, uint32_t i) {
    if (i >= args->n_inputs || args->inputs[i].kind != TN_KIND_TENSOR) return NULL;
    return args->inputs[i].as.tensor;
}

/* Tensor of output o, NULL when the node does not name it or its shape is not known yet. */
static inline struct tn_tensor *tn_out(const struct tn_run_args *args, uint32_t o) {
    if (o >= args->n_outputs || args->outputs[o].kind != TN_KIND_TENSOR) return NULL;
    return args->outputs[o].as.tensor;
}

/* Output o of this call as a tensor of this type and shape: the one the host planned when
 * it has that shape, else asked of the host now. For outputs whose shape depends on data. */
static inline tn_status tn_out_shaped(const struct tn_run_args *args, uint32_t o,
    int32_t dtype, const int64_t *dims, uint32_t rank, struct tn_tensor **out) {
    struct tn_tensor *tensor = tn_out(args, o);
    bool planned = tensor && tensor->dtype == dtype &&
                   tn_dims_equal(tensor->dims, tensor->rank, dims, rank);
    if (planned && !tensor->data && tn_tensor_count(tensor) != 0) planned = false;
    if (!planned) {
        if (!args->run) return TN_INTERNAL;
        TN_TRY(args->run->output_alloc(args->run, args, o, dtype, dims, rank));
        tensor = args->outputs[o].as.tensor;
    }
    *out = tensor;
    return TN_OK;
}

#endif
