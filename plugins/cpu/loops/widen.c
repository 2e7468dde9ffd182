/* See widen.h. */
#include "loops/widen.h"

#include "ops/narrow.h"

/* clang-format off */
#define PAIR(name, dtype) \
    static void load_##name(void *dst, const void *src, size_t n, const void *param) { \
        (void)param; \
        tn__widen(dst, src, dtype, n); \
    } \
    static void store_##name(void *dst, const void *src, size_t n, const void *param) { \
        (void)param; \
        tn__round(dst, src, dtype, n); \
    }
PAIR(f16, TN_FLOAT16)
PAIR(bf16, TN_BFLOAT16)
#undef PAIR
/* clang-format on */

void tn__widen_init(struct tn__cpu *cpu) {
    cpu->narrow_load[TN_FLOAT16] = load_f16;
    cpu->narrow_store[TN_FLOAT16] = store_f16;
    cpu->narrow_load[TN_BFLOAT16] = load_bf16;
    cpu->narrow_store[TN_BFLOAT16] = store_bf16;
}
