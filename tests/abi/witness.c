/* One exported function for each type of the ABI, so that abidiff sees every struct by itself
 * (through the entry's `const void *` it would see none). Compiled, compared, never run. */
#include "tenon/ext/draft/gemm.h"
#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"
#include "tenon/provider.h"
#include "tenon/tenon.h"

#define WITNESS(name, type)                                                              \
    __attribute__((visibility("default"))) void tn_witness_##name(const type *p);        \
    void tn_witness_##name(const type *p) {                                              \
        (void)p;                                                                         \
    }
#define GROWS(type) WITNESS(type, struct type)
#define SIZE(type, size) WITNESS(type, struct type)
#define TYPE(name, ...) WITNESS(name, name)
#define PLACE(type, field, at, size)
#define FIELD(type, field, at, size, ...)
#define FUNCTION(name, ...)
#define NUMBER(name, value)

#include "freeze_v0.inc"
