/* The frozen list against today's headers: offset, size and type of every field, the type of
 * every function pointer and function, the value of every number. What moves or changes its type
 * does not compile; appending to a growable struct does. */
#include "tenon/ext/draft/gemm.h"
#include "tenon/ext/draft/pass.h"
#include "tenon/op.h"
#include "tenon/provider.h"
#include "tenon/tenon.h"

#define MEMBER(type, field) (((struct type *)0)->field)
#define SAME(a, ...) __builtin_types_compatible_p(a, __VA_ARGS__)

/* a growable struct begins with its size; what may follow the frozen fields is not looked at */
#define GROWS(type)                                                                      \
    TN_STATIC_ASSERT(offsetof(struct type, struct_size) == 0, "the ABI moved");
#define SIZE(type, size) TN_STATIC_ASSERT(sizeof(struct type) == (size), "the ABI moved");
#define PLACE(type, field, at, size)                                                     \
    TN_STATIC_ASSERT(                                                                    \
        offsetof(struct type, field) == (at) && sizeof(MEMBER(type, field)) == (size),   \
        "the ABI moved");
#define FIELD(type, field, at, size, ...)                                                \
    PLACE(type, field, at, size)                                                         \
    TN_STATIC_ASSERT(SAME(__typeof__(MEMBER(type, field)), __VA_ARGS__),                 \
        "a type of the ABI changed");
#define TYPE(name, ...)                                                                  \
    TN_STATIC_ASSERT(SAME(name, __VA_ARGS__), "a type of the ABI changed");
#define FUNCTION(name, ...)                                                              \
    TN_STATIC_ASSERT(SAME(__typeof__(&name), __VA_ARGS__), "a function changed");
#define NUMBER(name, value)                                                              \
    TN_STATIC_ASSERT((uint64_t)(name) == (uint64_t)(value), "a number changed");

#include "freeze_v0.inc"

int main(void) {
    return 0; /* compiling is the test */
}
