// com.example.SoftCap: y = cap * tanh(x / cap). The same as a plugin in C, from C++17: rows are
// built by constexpr functions, so that nothing runs when the library is loaded, and no
// exception leaves a function that the host calls.
#include "tenon/helper/plugin.h"
#include "tenon/helper/test.h"

#include <algorithm>
#include <cmath>

#define SOFT_CAP_ATTRS(X, S) X(S, FLOAT, cap, 30.0f)
TN_ATTR_TABLE(soft_cap, SOFT_CAP_ATTRS)

namespace {

struct soft_cap {
    tn_kernel_head head;
    soft_cap_attrs attrs;
};

tn_status infer(const tn_infer *in) {
    return tn_infer_like(in, 0, 0);
}

tn_status create(const tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(soft_cap), out));
    auto *kernel = static_cast<soft_cap *>(*out);
    return tn_kernel_ready(
        TN_ATTRS_READ(soft_cap, ctx->node, &kernel->attrs, ctx->diag), out);
}

template <typename T> void apply(const tn_tensor *x, tn_tensor *y, T cap) {
    const T *in = static_cast<const T *>(x->data);
    std::transform(in, in + tn_tensor_count(x), static_cast<T *>(y->data),
        [cap](T v) { return cap * std::tanh(v / cap); });
}

tn_status compute(void *object, const tn_run_args *args) {
    const float cap = static_cast<const soft_cap *>(object)->attrs.cap;
    if (tn_in(args, 0)->dtype == TN_FLOAT)
        apply<float>(tn_in(args, 0), tn_out(args, 0), cap);
    else
        apply<double>(tn_in(args, 0), tn_out(args, 0), double(cap));
    return TN_OK;
}

constexpr tn_op_version versions[] = {{1, 0, nullptr}};
constexpr tn_formal inputs[] = {{"x", "T", 0, 0, 0}}, outputs[] = {{"y", "T", 0, 0, 0}};
constexpr tn_type_var vars[] = {{"T", TN_BIT(FLOAT) | TN_BIT(DOUBLE), 0, 0, 0}};

constexpr tn_op_def make_def() {
    tn_op_def def{};
    def.struct_size = TN_OP_DEF_SIZE;
    def.domain = "com.example";
    def.op_type = "SoftCap";
    def.versions = versions;
    def.inputs = inputs;
    def.outputs = outputs;
    def.type_vars = vars;
    def.attrs = soft_cap_attr_defs;
    def.n_versions = def.n_inputs = def.n_outputs = def.n_type_vars = def.n_attrs = 1;
    def.infer = infer;
    return def;
}

constexpr tn_kernel_def make_kernel() {
    tn_kernel_def def{};
    def.struct_size = TN_KERNEL_DEF_SIZE;
    def.provider = "cpu";
    def.domain = "com.example";
    def.op_type = "SoftCap";
    def.since = 1;
    def.create = create;
    def.destroy = tn_kernel_destroy;
    def.compute = compute;
    return def;
}

constexpr tn_op_def def = make_def();
constexpr tn_kernel_def kernel = make_kernel();

} // namespace

TN_PLUGIN("com.example.soft_cap", "1.0.0", (&def), (&kernel));

TN_TESTS("com.example",
    {"g (float[3] x) => (float[3] y) { y = com.example.SoftCap <cap = 2.0> (x) }",
        {TN_TENSOR(FLOAT, (3), 0, 2, -200)}, {TN_TENSOR(FLOAT, (3), 0, 1.5231884, -2)}},
    {"g (double[1] x) => (double[1] y) { y = com.example.SoftCap (x) }",
        {TN_TENSOR(DOUBLE, (1), 30)}, {TN_TENSOR(DOUBLE, (1), 22.847825)}},
    {"g (int32[1] x) => (int32[1] y) { y = com.example.SoftCap (x) }",
        {TN_TENSOR(INT32, (1), 1)}, {}, "int32"});
