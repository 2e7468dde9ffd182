/* Deep copies of values into one piece of memory. */
#ifndef TENON_VALUE_PACK_H
#define TENON_VALUE_PACK_H

#include "core/base/diag.h"
#include "tenon/types.h"

/* Bytes that tn__value_pack will use. Refuses values nested too deep, strided tensors,
 * kinds it cannot copy, and sizes that do not fit. */
tn_status tn__value_bytes(
    const struct tn_value_ref *src, uint64_t *out, struct tn_diag *diag);
/* Copies src into `memory` (aligned to 64, of the size above); *out points into it. */
void tn__value_pack(
    const struct tn_value_ref *src, void *memory, struct tn_value_ref *out);
/* The same with tables of maps spread into maps. */
tn_status tn__value_bytes_spread(
    const struct tn_value_ref *src, uint64_t *out, struct tn_diag *diag);
void tn__value_pack_spread(
    const struct tn_value_ref *src, void *memory, struct tn_value_ref *out);

#endif
