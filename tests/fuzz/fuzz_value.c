/* Any bytes as a serialised value; the first byte says which kind. */
#include "core/model/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    struct tn_type type = {.kind = data[0] % 6u,
        .elem_kind = data[0] / 6u % 6u,
        .dtype = TN_FLOAT,
        .rank = -1};
    struct tn_arena *arena = tn__arena_create();
    struct tn_value_ref value = {0};
    struct tn_diag diag = {0};
    tn_status status = tn__value_decode(arena, data + 1, size - 1, &type, &value, &diag);
    if (status != TN_OK && (diag.code != status || !diag.message[0])) abort();
    tn__arena_destroy(arena);
    return 0;
}
