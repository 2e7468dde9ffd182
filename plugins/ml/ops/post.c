/* See post.h. */
#include "ops/post.h"

#include <math.h>

tn_status tn__post_read(struct tn_string text, enum tn__post *out, struct tn_diag *diag) {
    static const char *const names[] = {[TN__POST_NONE] = "NONE",
        [TN__POST_SOFTMAX] = "SOFTMAX",
        [TN__POST_LOGISTIC] = "LOGISTIC",
        [TN__POST_SOFTMAX_ZERO] = "SOFTMAX_ZERO",
        [TN__POST_PROBIT] = "PROBIT"};
    for (uint32_t i = 0; i < TN_COUNT(names); i++) {
        if (!tn_string_is(text, names[i])) continue;
        *out = (enum tn__post)i;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'post_transform' is '%.*s', expected NONE, SOFTMAX, LOGISTIC, "
        "SOFTMAX_ZERO or PROBIT",
        (int)(text.size < 60 ? text.size : 60), text.data);
}

#define REAL float
#define EXP expf
#define LOG logf
#define SQRT sqrtf
#define ABS fabsf
#define NAME(name) name##_f32
#include "ops/post_tmpl.h"

#define REAL double
#define EXP exp
#define LOG log
#define SQRT sqrt
#define ABS fabs
#define NAME(name) name##_f64
#include "ops/post_tmpl.h"
