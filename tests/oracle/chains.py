"""Random graphs of several nodes for the differential test: what the optimiser fuses, moves and
folds. Each kind is a pseudo-operator of cases.OPS."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import cases


class Chain:
    """A graph in the making; values are names, shapes are kept beside."""

    def __init__(self, m):
        self.m, self.nodes, self.initializers, self.shapes, self.inputs = m, [], [], {}, {}

    def input(self, shape):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.m.data(np.float32, shape, low=-2, high=2)
        self.shapes[name] = list(shape)
        return name

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, positive=False):
        w = self.m.data(np.float32, list(shape), low=-1, high=1)
        return self.constant(abs(w) + np.float32(0.2) if positive else w)

    def node(self, op, inputs, shape, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        self.shapes[name] = list(shape)
        return name


def activation(g, x):
    op = g.m.pick(["Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSwish", "Elu", "Silu", "Gelu",
                   "HardSigmoid", "Softplus", "Mish"])
    shape = g.shapes[x]
    if op == "Clip":
        return g.node("Clip", [x, g.constant(np.float32(0)), g.constant(np.float32(6))], shape)
    if op == "Silu":
        return g.node("Mul", [x, g.node("Sigmoid", [x], shape)], shape)
    if op == "Gelu":
        half = g.node("Div", [x, g.constant(np.float32(2 ** 0.5))], shape)
        one = g.node("Add", [g.node("Erf", [half], shape), g.constant(np.float32(1))], shape)
        return g.node("Mul", [g.node("Mul", [x, one], shape), g.constant(np.float32(0.5))], shape)
    return g.node(op, [x], shape)


def conv(g, x, keep=False):
    m, (n, c, h, w) = g.m, g.shapes[x]
    k = m.pick([1, 1, 3, 3, 5])
    group = m.pick([1, 1, 1, c, 2 if c % 2 == 0 else 1])
    out = c if keep else group * m.pick([1, 2]) if group == c else m.pick([2, 4, 8, 16, 17 if group == 1 else 18])
    out += -out % group
    stride = 1 if keep or h < 3 or w < 3 else m.pick([1, 1, 2])
    pads = [k // 2] * 4
    inputs = [x, g.weight(out, c // group, k, k)] + ([g.weight(out)] if m.chance(0.6) else [])
    size = [(d + 2 * (k // 2) - k) // stride + 1 for d in (h, w)]
    y = g.node("Conv", inputs, [n, out, *size], kernel_shape=[k, k], pads=pads, group=group,
               strides=[stride, stride])
    if m.chance(0.4):
        y = g.node("BatchNormalization", [y, g.weight(out), g.weight(out), g.weight(out),
                                          g.weight(out, positive=True)], g.shapes[y])
    elif m.chance(0.2):
        y = g.node("Mul", [y, g.weight(*m.pick([(out, 1, 1), (1, out, 1, 1), (1,)]))], g.shapes[y])
    elif m.chance(0.2):
        y = g.node("Add", [g.weight(*m.pick([(out, 1, 1), (1, out, 1, 1), (1,)])), y], g.shapes[y])
    return y


def image(g):
    m = g.m
    x = g.input([m.pick([1, 2]), m.pick([2, 3, 4, 8, 16]), m.pick([4, 7, 9, 16]), m.pick([5, 8, 13])])
    for _ in range(m.r.integers(2, 7)):
        n, c, h, w = g.shapes[x]
        step = m.pick(["conv", "conv", "conv", "residual", "act", "pool", "se", "concat", "resize", "perm", "pad",
                       "affine", "split"])
        if step == "conv":
            x = conv(g, x)
            if m.chance(0.7):
                x = activation(g, x)
        elif step == "residual":
            y = conv(g, x, keep=True)
            if m.chance(0.5):
                y = conv(g, activation(g, y), keep=True)
            x = g.node("Add", m.pick([[x, y], [y, x]]), g.shapes[x])
            if m.chance(0.6):
                x = activation(g, x)
        elif step == "act":
            x = activation(g, x)
        elif step == "pool" and min(h, w) >= 2:
            op = m.pick(["MaxPool", "AveragePool"])
            x = g.node(op, [x], [n, c, h // 2, w // 2], kernel_shape=[2, 2], strides=[2, 2])
        elif step == "se":
            y = g.node("GlobalAveragePool", [x], [n, c, 1, 1])
            y = g.node("Conv", [y, g.weight(c, c, 1, 1)], [n, c, 1, 1])
            x = g.node("Mul", [x, g.node("Sigmoid", [y], [n, c, 1, 1])], g.shapes[x])
        elif step == "concat":
            y = conv(g, x, keep=True)
            x = g.node("Concat", [x, y], [n, 2 * c, h, w], axis=m.pick([1, -3]))
        elif step == "resize" and h * w < 200:
            x = g.node("Resize", [x, "", g.constant(np.array([1, 1, 2, 2], np.float32))], [n, c, 2 * h, 2 * w],
                       mode=m.pick(["nearest", "linear"]), coordinate_transformation_mode="asymmetric",
                       **{"nearest_mode": "floor"})
        elif step == "perm":
            y = activation(g, g.node("Transpose", [x], [n, h, w, c], perm=[0, 2, 3, 1]))
            if m.chance(0.5):
                y = g.node("Add", [y, g.weight(c)], [n, h, w, c])
            x = g.node("Transpose", [y], [n, c, h, w], perm=[0, 3, 1, 2])
        elif step == "pad":
            pads = g.constant(np.array([0, 0, 1, 0, 0, 0, 1, 2], np.int64))
            x = g.node("Pad", [x, pads], [n, c, h + 2, w + 2], mode=m.pick(["constant", "reflect", "edge"])) \
                if min(h, w) > 2 else x
        elif step == "affine":
            x = g.node("Mul", [x, g.weight(c, 1, 1)], g.shapes[x])
            x = g.node("Sub", [x, g.weight(1, c, 1, 1)], g.shapes[x])
        elif step == "split" and c % 2 == 0:
            parts = [f"s{len(g.nodes)}a", f"s{len(g.nodes)}b"]
            g.nodes.append(helper.make_node("Split", [x], parts, axis=1, num_outputs=2))
            for part in parts:
                g.shapes[part] = [n, c // 2, h, w]
            x = g.node("Concat", [activation(g, parts[1]), conv(g, parts[0], keep=True)], [n, c, h, w], axis=1)
    if m.chance(0.5):
        n, c, h, w = g.shapes[x]
        x = g.node("Flatten", [g.node("GlobalAveragePool", [x], [n, c, 1, 1])], [n, c])
        x = g.node("Gemm", [x, g.weight(5, c), g.weight(5)], [n, 5], transB=1)
    return x


def norm(g, x):
    d = g.shapes[x][-1]
    return g.node("LayerNormalization", [x, g.weight(d), g.weight(d)], g.shapes[x], axis=-1)


def linear(g, x, out):
    d = g.shapes[x][-1]
    shape = g.shapes[x][:-1] + [out]
    y = g.node("MatMul", [x, g.weight(d, out)], shape)
    return g.node("Add", g.m.pick([[y, b := g.weight(out)], [b, y]]), shape) if g.m.chance(0.8) else y


def attention(g, x):
    b, s, d = g.shapes[x]
    heads = 2 if d % 2 == 0 else 1
    split = g.constant(np.array([0, 0, heads, d // heads], np.int64))
    def part(perm, shape):
        y = g.node("Reshape", [linear(g, x, d), split], [b, s, heads, d // heads])
        return g.node("Transpose", [y], shape, perm=perm)
    q = part([0, 2, 1, 3], [b, heads, s, d // heads])
    k = part([0, 2, 3, 1], [b, heads, d // heads, s])
    v = part([0, 2, 1, 3], [b, heads, s, d // heads])
    scores = g.node("MatMul", [q, k], [b, heads, s, s])
    scores = g.node(*g.m.pick([("Div", [scores, g.constant(np.float32((d // heads) ** 0.5))]),
                               ("Mul", [scores, g.constant(np.float32(0.3))])]), [b, heads, s, s])
    y = g.node("MatMul", [g.node("Softmax", [scores], [b, heads, s, s], axis=-1), v], [b, heads, s, d // heads])
    y = g.node("Transpose", [y], [b, s, heads, d // heads], perm=[0, 2, 1, 3])
    return g.node("Reshape", [y, g.constant(np.array([0, 0, d], np.int64))], [b, s, d])


def sequence(g):
    m = g.m
    x = g.input([m.pick([1, 2, 3]), m.pick([1, 3, 8, 17]), m.pick([4, 8, 15, 16])])
    for _ in range(m.r.integers(2, 6)):
        b, s, d = g.shapes[x]
        step = m.pick(["linear", "ffn", "attention", "norm", "act", "gate", "reduce", "cast", "slice", "where"])
        if step == "linear":
            x = linear(g, x, m.pick([4, 8, 16, 33]))
        elif step == "ffn":
            y = linear(g, activation(g, linear(g, norm(g, x), 2 * d)), d)
            x = g.node("Add", m.pick([[x, y], [y, x]]), g.shapes[x])
        elif step == "attention":
            x = g.node("Add", [attention(g, x), x], g.shapes[x])
        elif step == "norm":
            x = norm(g, x)
        elif step == "act":
            x = activation(g, x)
        elif step == "gate":
            x = g.node("Mul", [activation(g, linear(g, x, d)), linear(g, x, d)], g.shapes[x])
        elif step == "reduce":
            y = g.node("ReduceMean", [x, g.constant(np.array([m.pick([-1, 1])], np.int64))], g.shapes[x], keepdims=1)
            x = g.node("Sub", [x, y], g.shapes[x])
            y = g.node("Pow", [x, g.constant(np.float32(2))], g.shapes[x])
            y = g.node("Sqrt", [g.node("Add", [y, g.constant(np.float32(1e-5))], g.shapes[x])], g.shapes[x])
            x = g.node("Div", [x, y], g.shapes[x])
        elif step == "cast":
            y = g.node("Cast", [x], g.shapes[x], to=TensorProto.DOUBLE)
            x = g.node("Cast", [g.node("Neg", [y], g.shapes[x])], g.shapes[x], to=TensorProto.FLOAT)
        elif step == "slice" and d > 2:
            c = lambda *v: g.constant(np.array(v, np.int64))
            left = g.node("Slice", [x, c(0), c(d // 2), c(-1)], [b, s, d // 2])
            right = g.node("Slice", [x, c(d // 2), c(2 ** 62), c(2)], [b, s, d - d // 2])
            x = g.node("Concat", [g.node("Neg", [right], g.shapes[right]), left], g.shapes[x], axis=-1)
        elif step == "where":
            mask = g.node("Greater", [x, g.constant(np.float32(0.1))], g.shapes[x])
            x = g.node("Where", [mask, x, g.node("Mul", [x, g.weight(d)], g.shapes[x])], g.shapes[x])
    return x


def quantized(g):
    m = g.m
    x = g.input([m.pick([1, 2]), m.pick([3, 4, 8]), m.pick([5, 8]), m.pick([6, 9])])
    zero_type = m.pick([np.uint8, np.int8])

    def qdq(v):
        scale, zero = g.constant(np.float32(0.05)), g.constant(zero_type(m.pick([0, 3, 100])))
        y = g.node("QuantizeLinear", [v, scale, zero], g.shapes[v])
        return g.node("DequantizeLinear", [y, scale, zero], g.shapes[v])

    for _ in range(m.r.integers(1, 4)):
        n, c, h, w = g.shapes[x]
        out, k = m.pick([2, 8, 16]), m.pick([1, 3])
        weight = g.constant(m.data(np.int8, [out, c, k, k], 1))
        per = m.chance(0.5)
        scale = g.constant(m.r.uniform(0.01, 0.03, [out] if per else []).astype(np.float32))
        zero = g.constant(np.zeros([out] if per else [], np.int8))
        weight = g.node("DequantizeLinear", [weight, scale, zero], [out, c, k, k], axis=0)
        y = g.node("Conv", [qdq(x), weight, g.weight(out)], [n, out, h, w], kernel_shape=[k, k], pads=[k // 2] * 4)
        x = qdq(g.node("Relu", [y], g.shapes[y]) if m.chance(0.6) else y)
    return x


KINDS = {"image": image, "sequence": sequence, "quantized": quantized}


def make(m, name):
    g = Chain(m)
    g.output = KINDS[name](g)
    case = cases.Case(list(g.inputs.values()), opset=20, tolerance=-2 if name == "quantized" else 400)
    case.graph = g
    return case


for kind in KINDS:
    cases.op(kind)(make)


def build(m, case):
    g = case.graph
    symbolic = m.chance(0.5)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch"] + list(x.shape[1:]) if symbolic
                                            else x.shape) for name, x in g.inputs.items()]
    outputs = [helper.make_tensor_value_info(g.output, TensorProto.FLOAT, [None] * len(g.shapes[g.output]))]
    graph = helper.make_graph(g.nodes, "g", inputs, outputs, g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
    return model, g.inputs, None
