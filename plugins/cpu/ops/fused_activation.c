/* Activations that fused operators apply to finished runs of f32. */
#include "ops/fused_activation.h"

/* clang-format off */
static const struct {
    const char *name;
    enum tn_vmath row;
    float defaults[2];
} rows[] = {
    {"elu", TN_VMATH_ELU, {1.0f}},
    {"celu", TN_VMATH_CELU, {1.0f}},
    {"gelu", TN_VMATH_GELU, {0}},
    {"gelu_tanh", TN_VMATH_GELU_TANH, {0}},
    {"mish", TN_VMATH_MISH, {0}},
    {"selu", TN_VMATH_SELU, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"sigmoid", TN_VMATH_SIGMOID, {0}},
    {"silu", TN_VMATH_SILU, {0}},
    {"softplus", TN_VMATH_SOFTPLUS, {0}},
    {"swish", TN_VMATH_SWISH, {1.0f}},
    {"tanh", TN_VMATH_TANH, {0}},
};
/* clang-format on */

tn_status tn__activation_find(const struct tn__cpu *cpu, struct tn_string name,
    struct tn_attr_floats params, struct tn__activation *out, struct tn_diag *diag) {
    memset(out, 0, sizeof *out);
    if (name.size == 0) return TN_OK;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        if (!tn_string_is(name, rows[i].name)) continue;
        out->fn = cpu->vmath.f32[rows[i].row];
        for (uint32_t p = 0; p < 2; p++)
            out->params[p] = p < params.n ? params.v[p] : rows[i].defaults[p];
        return TN_OK;
    }
    return tn_fail(diag, TN_UNSUPPORTED, "activation '%.*s' is not known",
        (int)(name.size < 60 ? name.size : 60), name.data);
}

void tn__activation_post(const void *arg, float *const *runs, size_t count, size_t n) {
    const struct tn__activation *activation = arg;
    for (size_t i = 0; i < count; i++)
        activation->fn(runs[i], runs[i], n, activation->params);
}
