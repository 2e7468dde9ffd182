/* com.example.RmsScale: y = scale * x / sqrt(mean(x²) + epsilon) over the last axis, written
 * as a function of operators of ai.onnx: no kernel, no inference, every provider that knows
 * those operators runs it. */
#include "custom.h"

#define RMS_SCALE_ATTRS(X, S) X(S, FLOAT, epsilon, 1e-5f)
TN_ATTR_TABLE(rms_scale, RMS_SCALE_ATTRS)

/* clang-format off */
const struct tn_op_def custom_rms_scale = {
    TN_DEF("com.example", "RmsScale"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}, {"scale", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT) | TN_BIT(DOUBLE) | TN_BIT(FLOAT16)}),
    TN_ATTRS(rms_scale),
    .expansion = "<opset_import: [\"\" : 20]>\n"
        "f <epsilon: float = 0.00001> (X, scale) => (Y) {\n"
        "  eps = Constant <value_float: float = @epsilon> ()\n"
        "  e = CastLike (eps, X)\n"
        "  axis = Constant <value_ints = [-1]> ()\n"
        "  square = Mul (X, X)\n"
        "  mean = ReduceMean (square, axis)\n"
        "  padded = Add (mean, e)\n"
        "  root = Sqrt (padded)\n"
        "  unit = Div (X, root)\n"
        "  Y = Mul (unit, scale)\n"
        "}",
    .doc = "x over its root mean square, times a scale"};
/* clang-format on */
