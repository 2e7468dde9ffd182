/* Shared by the operators on sequences and optionals. */
#ifndef TENON_CPU_SEQUENCE_H
#define TENON_CPU_SEQUENCE_H

#include "ops/ops.h"

/* The element types of sequences before bfloat16 joined. */
#define TN_TYPES_SEQUENCE (TN_TYPES_CLASSIC & ~TN_BIT(BFLOAT16))

/* Sequence of input i; refused when it holds anything but tensors. */
tn_status tn__sequence_in(
    const struct tn_run_args *args, uint32_t i, const struct tn_sequence **out);
/* Memory for n items of this size until the end of the run. */
tn_status tn__sequence_memory(
    const struct tn_run *run, uint64_t n, uint64_t size, void **out);
/* Output o becomes a copy of this sequence of tensors. */
tn_status tn__sequence_emit(const struct tn_run_args *args, uint32_t o,
    struct tn_value_ref *items, uint64_t count, int32_t dtype);

/* Output o is a sequence of tensors of this type. */
tn_status tn__sequence_set_type(const struct tn_infer *infer, uint32_t o, int32_t dtype,
    int32_t rank, const int64_t *dims);
/* What is known of every element of a sequence as the type of one tensor: symbols of the
 * sequence's shape may stand for another size in each element. dims[] has TN_RANK_MAX. */
struct tn_type tn__sequence_element(const struct tn_type *sequence, int64_t *dims);

#endif
