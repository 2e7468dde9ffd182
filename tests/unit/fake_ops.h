/* A small plugin of made-up operators (domain "fake", provider "fake"), linked into the
 * tests of inference, optimisation and execution:
 *
 *   Copy(x) → y             elides to x; a view
 *   Plus(a, b) → c          float and int64, equal shapes or one a scalar; in place
 *   Times(a, b) → c         the same
 *   Gain(x) <k = 1.0> → y   x * k, float
 *   Twice(x) → y            no kernel; its expansion text is Plus(x, x)
 *   Boost(x) <k = 3.0> → y  no kernel; its expansion text is Plus(Gain<k = @k>(x), x)
 *   Lift(x) → y             no kernel; its expansion is Shift(x, x), importing nothing
 *   Swell(x) <n> → y        no kernel; its builder adds x n times, declines n < 0
 *   Const() <value> → y     no kernel; content known at load
 *   Dims(x) → shape         int64 sizes of x
 *   Fill(shape) <value>     a float tensor of that shape
 *   Reform(x, shape) → y    the content of x in another shape, -1 wanted once; a view
 *   Join(x…) → y            along axis 0; of scalars a vector
 *   Pick(x) → i             int64 indices where float x is not 0: known when run
 *   Branch(cond) <then_branch, else_branch> → y…
 *   Repeat(n, state…) <body> → state…   body(i, state…) → (state…)
 *   Noise(x) → y            x + 1, but nondeterministic
 *   Shift(x, by) → y        since 3; versions 1 and 2 have an attribute `amount` instead
 *   Trail(x) → y            copies; version 1 becomes Trail and Gain, appended at the end
 *   Gone(x) → y             deprecated since 2
 *   Blind(x) → y            copies, has no inference */
#ifndef TENON_FAKE_OPS_H
#define TENON_FAKE_OPS_H

#include "tenon/plugin.h"

/* For tn__registry_add_static. */
tn_status tn__fake_plugin(const struct tn_host_info *host, const struct tn_plugin **out);

#endif
