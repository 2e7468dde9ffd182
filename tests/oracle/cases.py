"""Random cases for the differential test: one generator an operator. A generator takes a Maker
(the random source) and returns a Case; shapes have sizes 0, 1, odd and large ones."""
import dataclasses

import ml_dtypes
import numpy as np

F = [np.float32, np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
F32 = [np.float32, np.float32, np.float64]
INTS = [np.int32, np.int64, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]
ANY = F + INTS + [np.bool_, object]


@dataclasses.dataclass
class Case:
    inputs: list            # arrays; None where an optional input is left out
    attrs: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    opset: int = 21
    constant: tuple = ()    # inputs that are initializers always
    exact: bool = False
    domain: str = ""
    tolerance: float = 1.0  # factor; -1: integers one apart, -2: so many steps of a quantiser
    graph: object = None


class Maker:
    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def pick(self, items):
        return items[self.r.integers(len(items))]

    def chance(self, p):
        return self.r.random() < p

    def size(self):
        return self.pick([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67])

    def shape(self, low=0, high=4, empty=True):
        while True:
            shape = [self.size() for _ in range(self.r.integers(low, high + 1))]
            if 0 in shape and (not empty or self.chance(0.6)):
                continue
            if np.prod(shape or [1]) <= 30000:
                return shape

    def data(self, dtype, shape, wild=0.0, low=-4.0, high=4.0):
        dtype = np.dtype(dtype)
        if dtype == object:
            return np.array([f"s{v}" for v in self.r.integers(0, 9, int(np.prod(shape)))],
                            dtype=object).reshape(shape)
        if dtype == np.bool_:
            return self.r.random(shape) < 0.5
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            near = self.r.integers(max(info.min, -9), 10, shape).astype(dtype)
            far = self.r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return np.where(self.r.random(shape) < wild, far, near).astype(dtype)
        x = self.r.uniform(low, high, shape)
        special = self.r.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 6e4, -3e38, 88.8, -104.0],
                                size=shape)
        return np.where(self.r.random(shape) < wild, special, x).astype(dtype)

    def axis(self, rank):
        return int(self.r.integers(-rank, rank)) if rank else 0

    def axes(self, rank):
        n = self.r.integers(0, rank + 1)
        axes = self.r.permutation(rank)[:n]
        return [int(a) - (rank if self.chance(0.3) else 0) for a in axes]

    def broadcast(self, count=2, high=4):
        full = self.shape(0, high)
        out = []
        for _ in range(count):
            part = full[self.r.integers(0, len(full) + 1):] if self.chance(0.4) else full
            out.append([1 if self.chance(0.25) else d for d in part])
        return out


OPS = {}


def op(*names):
    def add(fn):
        for name in names:
            OPS[name] = (lambda m, fn=fn, name=name: fn(m, name))
        return fn
    return add


# ---- element by element ------------------------------------------------------------------

@op("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
    "Log", "Reciprocal", "Round", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Softplus",
    "Softsign", "Mish", "HardSwish", "IsNaN")
def unary(m, name):
    return Case([m.data(m.pick(F), m.shape(), m.pick([0, 0, 0.3]), -9, 9)], opset=22)


@op("Abs", "Neg", "Sign", "Relu")
def unary_number(m, name):
    types = F + INTS if name in ("Abs", "Sign") else F + [np.int8, np.int16, np.int32, np.int64]
    return Case([m.data(m.pick(types), m.shape(), m.pick([0, 0.3]))], opset=14)


@op("IsInf")
def isinf(m, name):
    return Case([m.data(m.pick(F), m.shape(), 0.4)], {"detect_negative": int(m.r.integers(2)),
                "detect_positive": int(m.r.integers(2))}, opset=20)


@op("Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Gelu")
def activation(m, name):
    names = {"Elu": ["alpha"], "Selu": ["alpha", "gamma"], "Celu": ["alpha"], "LeakyRelu": ["alpha"],
             "HardSigmoid": ["alpha", "beta"], "ThresholdedRelu": ["alpha"], "Shrink": ["bias", "lambd"]}
    attrs = {n: float(m.r.uniform(0.1, 2)) for n in names.get(name, []) if m.chance(0.7)}
    if name == "Gelu":
        attrs = m.pick([{}, {"approximate": "tanh"}])
    types = F32 + [np.float16] if name == "Shrink" else F
    return Case([m.data(m.pick(types), m.shape(), m.pick([0, 0, 0.2]))], attrs, opset=22)


@op("Add", "Sub", "Mul", "Div")
def arithmetic(m, name):
    a, b = m.broadcast()
    t, wild = m.pick(F + INTS), m.pick([0, 0, 0.3])
    y = m.data(t, b, wild)
    if name == "Div" and np.dtype(t).kind in "iu":
        y = np.where(y == 0, np.array(3, t), y).astype(t)
        wild = 0
    return Case([m.data(t, a, wild), y], opset=14)


@op("Pow")
def power(m, name):
    a, b = m.broadcast()
    t, u = m.pick(F32 + [np.int32, np.int64]), m.pick(F32 + [np.int32, np.int64])
    x = m.data(t, a)
    return Case([x, abs(m.data(u, b, low=-3, high=3))], opset=15, tolerance=4)


@op("Mod")
def mod(m, name):
    a, b = m.broadcast()
    t = m.pick(F32 + INTS + [np.float16])
    y = m.data(t, b)
    y = np.where(y == 0, np.array(2, t), y).astype(t)
    return Case([m.data(t, a), y], {"fmod": 1} if np.dtype(t).kind == "f" or m.chance(0.4) else {},
                opset=13)


@op("PRelu")
def prelu(m, name):
    x = m.shape(0, 4)
    slope = m.pick([x, [1], [x[1]] + [1] * (len(x) - 2) if len(x) > 1 else x])
    t = m.pick(F)
    return Case([m.data(t, x), m.data(t, slope)], opset=16)


@op("And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def compare(m, name):
    a, b = m.broadcast()
    t = np.bool_ if name in ("And", "Or", "Xor") else m.pick(F + INTS)
    if name == "Equal" and m.chance(0.2):
        t = m.pick([object, np.bool_])
    return Case([m.data(t, a, 0.2), m.data(t, b, 0.2)], opset=19)


@op("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
def bits(m, name):
    a, b = m.broadcast()
    t = m.pick([np.uint8, np.uint16, np.uint32, np.uint64] if name == "BitShift" else INTS)
    y = m.data(t, b, 0.0 if name == "BitShift" else 0.8)
    return Case([m.data(t, a, 0.8), y % np.array(8, t) if name == "BitShift" else y],
                {"direction": m.pick(["LEFT", "RIGHT"])} if name == "BitShift" else {}, opset=18)


@op("Not", "BitwiseNot")
def nots(m, name):
    return Case([m.data(np.bool_ if name == "Not" else m.pick(INTS), m.shape(), 0.5)], opset=18)


@op("Max", "Min", "Sum", "Mean")
def variadic(m, name):
    shapes = m.broadcast(m.r.integers(1, 5))
    t = m.pick(F + INTS if name in ("Max", "Min") else F)
    return Case([m.data(t, s, m.pick([0, 0.1])) for s in shapes], opset=13, tolerance=2)


@op("Where")
def where(m, name):
    a, b, s = m.broadcast(3)
    t = m.pick(ANY)
    return Case([m.data(np.bool_, s), m.data(t, a), m.data(t, b)], opset=16, exact=True)


@op("Clip")
def clip(m, name):
    t = m.pick(F + INTS)
    low, high = sorted(m.data(t, [2], low=-3, high=3).tolist())
    return Case([m.data(t, m.shape(), m.pick([0, 0.2])), np.array(low, t) if m.chance(0.8) else None,
                 np.array(high, t) if m.chance(0.8) else None], opset=13)


@op("Cast")
def cast(m, name):
    import onnx
    t, u = m.pick(F + INTS + [np.bool_]), m.pick(F + INTS + [np.bool_])
    x = m.data(t, m.shape(), 0 if np.dtype(u).kind in "iu" else 0.2)
    if np.dtype(u).kind == "u" and np.dtype(t).kind not in "iub":
        x = abs(x)
    return Case([x], {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(u))}, opset=21)


# ---- reductions --------------------------------------------------------------------------

@op("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
def reduce(m, name):
    x = m.shape(0, 5)
    t = m.pick(F32 + [np.int32, np.int64] + ([np.float16, np.int8, np.uint8] if name in
               ("ReduceMax", "ReduceMin") else [np.float16]))
    data = m.data(t, x, 0, *((0.5, 2) if name in ("ReduceLogSum", "ReduceProd") else (-2, 2)))
    if np.dtype(t).kind in "iu" and name in ("ReduceLogSum", "ReduceMean"):
        data = abs(data) + np.array(1, t)
    axes, keep = m.axes(len(x)), int(m.r.integers(2))
    if 0 in x and name not in ("ReduceSum", "ReduceProd"):
        return None
    attrs = {"keepdims": keep}
    if m.chance(0.5):
        if not axes:
            return Case([data], attrs, opset=11, tolerance=8)
        return Case([data], {**attrs, "axes": axes}, opset=11, tolerance=8)
    if m.chance(0.3):
        attrs["noop_with_empty_axes"] = 1
    return Case([data, np.array(axes, np.int64)], attrs, opset=18, constant=(1,) if m.chance(0.5)
                else (), tolerance=8)


@op("ArgMax", "ArgMin")
def argreduce(m, name):
    x = m.shape(1, 4, empty=False)
    return Case([m.data(m.pick(F32 + [np.int32, np.int8, np.uint8, np.float16]), x)],
                {"axis": m.axis(len(x)), "keepdims": int(m.r.integers(2)),
                 "select_last_index": int(m.r.integers(2))}, opset=13)


@op("CumSum")
def cumsum(m, name):
    x = m.shape(1, 4)
    return Case([m.data(m.pick(F32 + [np.int32, np.int64]), x), np.array(m.axis(len(x)), np.int64)],
                {"exclusive": int(m.r.integers(2)), "reverse": int(m.r.integers(2))}, opset=14,
                tolerance=8)


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax(m, name):
    x = m.shape(1, 4)
    return Case([m.data(m.pick(F32 + [np.float16]), x)], {"axis": m.axis(len(x))},
                opset=m.pick([11, 13, 13]), tolerance=4)


@op("LpNormalization")
def lpnorm(m, name):
    x = m.shape(1, 4)
    return Case([m.data(m.pick(F32), x)], {"axis": m.axis(len(x)), "p": int(m.r.integers(1, 3))},
                opset=1, tolerance=4)


@op("TopK")
def topk(m, name):
    x = m.shape(1, 3, empty=False)
    axis = m.axis(len(x))
    k = np.array([m.r.integers(0, x[axis] + 1)], np.int64)
    return Case([m.data(m.pick(F32 + [np.int32, np.int64, np.float16]), x), k],
                {"axis": axis, "largest": int(m.r.integers(2)), "sorted": 1}, 2, opset=11)


# ---- products ----------------------------------------------------------------------------

def matmul_shapes(m):
    n, k, p = m.size(), m.size(), m.size()
    batch_a, batch_b = m.broadcast(2, 2)
    if np.prod(batch_a or [1]) * n * k * p > 3e5:
        batch_a, batch_b = [], []
    a, b = batch_a + [n, k], batch_b + [k, p]
    if m.chance(0.15):
        a = [k]
    elif m.chance(0.15):
        b = [k]
    return a, b


@op("MatMul")
def matmul(m, name):
    a, b = matmul_shapes(m)
    t = m.pick(F32 + [np.float16, np.int32, np.int64, np.uint32])
    return Case([m.data(t, a), m.data(t, b)], opset=13, constant=m.pick([(), (1,), (0,)]), tolerance=20)


@op("MatMulInteger")
def matmul_integer(m, name):
    a, b = matmul_shapes(m)
    t, u = m.pick([np.uint8, np.int8]), m.pick([np.uint8, np.int8])
    if len(a) < 2 or len(b) < 2:
        return Case([m.data(t, a, 1), m.data(u, b, 1)], opset=10)
    za = m.data(t, [], 1) if m.chance(0.6) else None
    zb = m.data(u, m.pick([[], [b[-1]]]), 1) if m.chance(0.5) else None
    return Case([m.data(t, a, 1), m.data(u, b, 1), za, zb], opset=10, constant=m.pick([(), (1, 3)]))


@op("Gemm")
def gemm(m, name):
    n, k, p = m.size(), m.size(), m.size()
    ta, tb = int(m.r.integers(2)), int(m.r.integers(2))
    t = m.pick(F32 + [np.float16])
    c = m.pick([None, [n, p], [p], [1, p], [n, 1], [1], []])
    return Case([m.data(t, [k, n] if ta else [n, k]), m.data(t, [p, k] if tb else [k, p]),
                 None if c is None else m.data(t, c)],
                {"transA": ta, "transB": tb, "alpha": m.pick([1.0, 0.5]), "beta": m.pick([1.0, 2.0, 0.0])},
                opset=13, constant=m.pick([(), (1,), (1, 2)]), tolerance=20)


@op("Einsum")
def einsum(m, name):
    equation = m.pick(["ij,jk->ik", "ii->i", "ii", "ij->ji", "bij,bjk->bik", "...ij,...jk->...ik", "i,j->ij",
                       "abc,cd->abd", "ij,ij->", "abcd,abde->abce", "aij->a", "a,ab,b", "bhwc,hkc->bhwk",
                       "abc,abd->acd", " ij , jk -> ik ", "iij->ij", "abcd->dbca"])
    sizes, inputs, t = {}, [], m.pick(F + [np.int32])
    for term in equation.split("->")[0].replace(" ", "").split(","):
        head = [2, 3] if "..." in term else []
        inputs.append(m.data(t, head + [sizes.setdefault(ch, m.pick([1, 2, 3, 5])) for ch in
                      term.replace("...", "")]))
    return Case(inputs, {"equation": equation}, opset=28 if t == ml_dtypes.bfloat16 else 12, tolerance=8)


# ---- windows -----------------------------------------------------------------------------

def window(m, spatial, kernel_most=5, pads=True, dilated=True):
    kernel = [int(m.r.integers(1, kernel_most + 1)) for _ in range(spatial)]
    attrs = {"strides": [int(m.r.integers(1, 4)) for _ in range(spatial)] if m.chance(0.6) else [1] * spatial}
    if dilated and m.chance(0.3):
        attrs["dilations"] = [int(m.r.integers(1, 4)) for _ in range(spatial)]
    mode = m.pick(["NOTSET"] * 4 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode != "NOTSET":
        attrs["auto_pad"] = mode
    elif pads and m.chance(0.7):
        attrs["pads"] = [int(m.r.integers(0, k)) for k in kernel * 2]
    return kernel, attrs


def extent(m, kernel, attrs):
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, attrs.get("dilations", [1] * len(kernel)))]
    return [int(r + m.pick([0, 1, 2, 5, 8, 13])) for r in reach]


@op("Conv", "ConvTranspose", "ConvInteger", "QLinearConv")
def conv(m, name):
    spatial = m.pick([1, 2, 2, 2, 3])
    kernel, attrs = window(m, spatial, 5 if spatial < 3 else 3)
    if m.chance(0.3):
        kernel = [m.pick([1, 3])] * spatial
    group = m.pick([1, 1, 1, 2, 3, 8])
    depthwise = m.chance(0.3)
    if depthwise:
        group = m.pick([1, 4, 8, 17, 32])
    cin = group * (1 if depthwise else m.pick([1, 2, 3, 8, 16]))
    per = m.pick([1, 1, 2]) if depthwise else m.pick([1, 2, 5, 8, 16])
    attrs["group"] = group
    if m.chance(0.8):
        attrs["kernel_shape"] = kernel
    size = extent(m, kernel, attrs)
    batch = m.pick([1, 1, 2, 3])
    x = [batch, cin] + size
    if np.prod(x) > 60000:
        return None
    if name == "ConvTranspose":
        w = [cin, per] + kernel
        if m.chance(0.3):
            attrs["output_padding"] = [int(m.r.integers(0, max(s, d))) for s, d in
                                       zip(attrs["strides"], attrs.get("dilations", [1] * spatial))]
        if attrs.get("auto_pad", "NOTSET").startswith("SAME"):
            attrs.pop("output_padding", None)
    else:
        w = [group * per, cin // group] + kernel
    out = group * per
    bias = m.chance(0.5)
    if name in ("Conv", "ConvTranspose"):
        t = m.pick([np.float32] * 4 + [np.float64, np.float16])
        return Case([m.data(t, x), m.data(t, w), m.data(t, [out]) if bias else None], attrs,
                    opset=11, constant=m.pick([(), (1,), (1, 2), (1, 2)]), tolerance=30)
    tx, tw = m.pick([np.uint8, np.int8]), m.pick([np.uint8, np.int8])
    if name == "ConvInteger":
        tx, tw = np.uint8, np.uint8
        return Case([m.data(tx, x, 1), m.data(tw, w, 1), m.data(tx, [], 1) if m.chance(0.6) else None,
                     m.data(tw, [], 1) if m.chance(0.3) else None], attrs, opset=10,
                    constant=m.pick([(), (1, 3)]))
    scale = lambda shape: m.r.uniform(0.01, 0.05, shape).astype(np.float32)
    wz = m.pick([[], [out]])
    return Case([m.data(tx, x, 1), scale([]), m.data(tx, [], 1), m.data(tw, w, 1), scale(wz),
                 np.zeros(wz, tw) if tw == np.int8 else m.data(tw, [], 1) if wz == [] else np.full(wz, 7, tw),
                 np.float32(0.3), m.data(tx, [], 1), m.data(np.int32, [out]) * 50 if bias else None],
                attrs, opset=10, constant=(1, 2, 3, 4, 5, 6, 7, 8), tolerance=-1)


@op("QLinearMatMul")
def qlinear_matmul(m, name):
    a, b = matmul_shapes(m)
    if len(a) < 2 or len(b) < 2:
        return None
    t, u = m.pick([np.uint8, np.int8]), m.pick([np.uint8, np.int8])
    s = lambda: np.float32(m.r.uniform(0.01, 0.05))
    return Case([m.data(t, a, 1), s(), m.data(t, [], 1), m.data(u, b, 1), s(), m.data(u, [], 1),
                 np.float32(0.4), m.data(t, [], 1)], opset=10, constant=(1, 2, 4, 5, 6, 7), tolerance=-1)


@op("MaxPool", "AveragePool", "LpPool")
def pool(m, name):
    spatial = m.pick([1, 2, 2, 3])
    kernel, attrs = window(m, spatial, 4, dilated=name != "LpPool" or True)
    attrs["kernel_shape"] = kernel
    if m.chance(0.4) and "auto_pad" not in attrs:
        attrs["ceil_mode"] = 1
    x = [m.pick([1, 2]), m.pick([1, 3, 8, 16, 17])] + extent(m, kernel, attrs)
    if np.prod(x) > 60000:
        return None
    if name == "AveragePool":
        attrs["count_include_pad"] = int(m.r.integers(2))
    if name == "LpPool":
        attrs["p"] = int(m.r.integers(1, 4))
    t = m.pick([np.float32, np.float32, np.float64, np.float16])
    outputs = 1
    if name == "MaxPool":
        t = m.pick([np.float32, np.float32, np.float64, np.int8, np.uint8])
        outputs = m.pick([1, 1, 2])
        attrs["storage_order"] = m.pick([0, 0, 1]) if outputs == 2 else 0
    return Case([m.data(t, x)], attrs, outputs, opset=22 if name != "MaxPool" else m.pick([12, 22]), tolerance=4)


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(m, name):
    x = m.shape(3, 5, empty=False)
    return Case([m.data(m.pick(F32), x)], opset=2, tolerance=8)


# ---- normalisation -----------------------------------------------------------------------

@op("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "LayerNormalization",
    "RMSNormalization")
def norm(m, name):
    x = m.shape(3 if name == "InstanceNormalization" else 2, 5, empty=False)
    t = m.pick(F32)
    eps = {"epsilon": m.pick([1e-5, 1e-2])}
    c = x[1]
    per = lambda n=c: m.data(t, [n])
    if name == "BatchNormalization":
        return Case([m.data(t, x), per(), per(), per(), abs(per()) + np.array(0.1, t)], eps, opset=15,
                    constant=m.pick([(), (1, 2, 3, 4)]), tolerance=20)
    if name == "InstanceNormalization":
        return Case([m.data(t, x), per(), per()], eps, opset=6, tolerance=200)
    if name == "GroupNormalization":
        x[1], groups = m.pick([(4, 2), (6, 3), (8, 8), (8, 1)])
        return Case([m.data(t, x), per(x[1]), per(x[1])], {**eps, "num_groups": groups}, opset=21,
                    tolerance=200)
    if name == "LRN":
        return Case([m.data(np.float32, x)], {"size": int(m.pick([1, 3, 5, 2, 4])), "alpha": 0.1, "beta": 0.7,
                                        "bias": 1.5}, opset=13, tolerance=8)
    axis = m.axis(len(x))
    tail = x[axis:]
    b = m.data(t, tail) if m.chance(0.6) and name[0] == "L" else None
    return Case([m.data(t, x), m.data(t, tail)] + ([b] if name[0] == "L" else []), {**eps, "axis": axis},
                opset=17 if name[0] == "L" else 23, tolerance=200)


# ---- recurrent ---------------------------------------------------------------------------

@op("LSTM", "GRU", "RNN")
def recurrent(m, name):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[name]
    steps, batch, width, hidden = (int(m.pick([1, 2, 3, 5, 8])) for _ in range(4))
    direction = m.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    attrs = {"hidden_size": hidden, "direction": direction}
    t = np.float32
    if m.chance(0.2):
        attrs["clip"] = 0.5
    if name == "GRU":
        attrs["linear_before_reset"] = int(m.r.integers(2))
    if m.chance(0.3):
        names = {"LSTM": ["Sigmoid", "Tanh", "Relu"], "GRU": ["HardSigmoid", "Softsign"], "RNN": ["Relu"]}[name]
        attrs["activations"] = names * d
    if name == "LSTM" and m.chance(0.2):
        attrs["input_forget"] = 1
    x = m.data(t, [steps, batch, width], low=-1, high=1)
    w = lambda *s: m.data(t, list(s), low=-0.7, high=0.7)
    lens = m.r.integers(1, steps + 1, batch).astype(np.int32) if m.chance(0.4) else None
    inputs = [x, w(d, gates * hidden, width), w(d, gates * hidden, hidden),
              w(d, 2 * gates * hidden) if m.chance(0.6) else None, lens,
              w(d, batch, hidden) if m.chance(0.5) else None]
    if name == "LSTM":
        inputs += [w(d, batch, hidden) if m.chance(0.5) else None, w(d, 3 * hidden) if m.chance(0.3) else None]
    return Case(inputs, attrs, 3 if name == "LSTM" else 2, opset=14, constant=m.pick([(), (1, 2, 3)]),
                tolerance=20)


# ---- quantisation ------------------------------------------------------------------------

@op("QuantizeLinear", "DequantizeLinear")
def quantize(m, name):
    x = m.shape(1, 4)
    t = m.pick([np.uint8, np.int8, np.uint16, np.int16])
    axis = m.axis(len(x))
    per = m.pick([[], [x[axis]]])
    scale, zero = m.r.uniform(0.05, 1, per).astype(np.float32), m.data(t, per, 0.5)
    attrs = {"axis": axis} if per else {}
    if m.chance(0.2):
        block = m.pick([1, 2, 3])
        shape = list(x)
        shape[axis] = -(-x[axis] // block)
        if 0 in x or x[axis] % block:
            return None
        scale, zero = m.r.uniform(0.05, 1, shape).astype(np.float32), m.data(t, shape, 0.5)
        attrs = {"axis": axis, "block_size": block}
    if name == "QuantizeLinear":
        return Case([m.data(np.float32, x, 0, -40, 40), scale, zero], attrs, opset=21)
    if m.chance(0.1) and not attrs.get("block_size"):
        return Case([m.data(np.int32, x, 0.2), scale], attrs, opset=21)
    return Case([m.data(t, x, 1), scale, zero if m.chance(0.8) else None], attrs, opset=21)


@op("DynamicQuantizeLinear")
def dynamic_quantize(m, name):
    return Case([m.data(np.float32, m.shape(1, 3, empty=False), low=m.pick([-3, 1]), high=5)], outputs=3, opset=11)


# ---- moving ------------------------------------------------------------------------------

@op("Transpose")
def transpose(m, name):
    x = m.shape(0, 6)
    attrs = {"perm": [int(p) for p in m.r.permutation(len(x))]} if m.chance(0.85) and x else {}
    return Case([m.data(m.pick(ANY), x)], attrs, opset=13, exact=True)


@op("Reshape")
def reshape(m, name):
    x = m.shape(1, 4)
    target, total = list(m.r.permutation(x)), int(np.prod(x))
    if len(target) > 1 and m.chance(0.5):
        target[:2] = [target[0] * target[1]]
    allow = {}
    if total and m.chance(0.4):
        target[m.r.integers(len(target))] = -1
    elif 0 in target:
        allow = {"allowzero": 1}
    return Case([m.data(m.pick(ANY), x), np.array(target, np.int64)], allow, opset=14,
                constant=m.pick([(), (1,)]), exact=True)


@op("Flatten", "Shape", "Size", "Identity")
def flat(m, name):
    x = m.shape(1 if name == "Flatten" else 0, 4)
    attrs = {"axis": int(m.r.integers(-len(x), len(x) + 1))} if name == "Flatten" else {}
    if name == "Shape" and m.chance(0.6):
        attrs = {"start": int(m.r.integers(-5, 5)), "end": int(m.r.integers(-5, 6))}
    return Case([m.data(m.pick(ANY), x)], attrs, opset=15, exact=True)


@op("Squeeze", "Unsqueeze")
def squeeze(m, name):
    x = m.shape(0, 4)
    if name == "Squeeze":
        x = [1 if m.chance(0.4) else d for d in x]
        ones = [i - (len(x) if m.chance(0.3) else 0) for i, d in enumerate(x) if d == 1 and m.chance(0.7)]
        return Case([m.data(m.pick(ANY), x), np.array(ones, np.int64) if ones else None], opset=13, exact=True)
    rank = len(x) + m.r.integers(1, 3)
    axes = m.r.permutation(rank)[:rank - len(x)]
    axes = np.array([a - (rank if m.chance(0.3) else 0) for a in axes], np.int64)
    return Case([m.data(m.pick(ANY), x), axes], opset=13, exact=True)


@op("Expand", "Tile")
def expand(m, name):
    a, b = m.broadcast()
    if name == "Expand":
        return Case([m.data(m.pick(ANY), a), np.array(b, np.int64)], opset=13, exact=True)
    a = m.shape(1, 4)
    return Case([m.data(m.pick(ANY), a), m.r.integers(0, 4, len(a))], opset=13, exact=True)


@op("Concat")
def concat(m, name):
    x = m.shape(1, 4)
    axis, t, inputs = m.axis(len(x)), m.pick(ANY), []
    for _ in range(m.r.integers(1, 5)):
        x[axis] = m.size() % 12
        inputs.append(m.data(t, x))
    return Case(inputs, {"axis": axis}, opset=13, exact=True)


@op("Split")
def split(m, name):
    x = m.shape(1, 4)
    axis, n = m.axis(len(x)), int(m.r.integers(1, 4))
    t = m.pick(ANY)
    if m.chance(0.5):
        parts = m.r.integers(0, 5, n)
        x[axis] = int(parts.sum())
        return Case([m.data(t, x), parts], {"axis": axis}, n, opset=18, exact=True)
    if x[axis] < n:
        return None
    return Case([m.data(t, x)], {"axis": axis, "num_outputs": n}, n, opset=18, exact=True)


@op("Slice")
def slices(m, name):
    x = m.shape(1, 4)
    axes = m.r.permutation(len(x))[:m.r.integers(1, len(x) + 1)]
    ends = lambda: np.array([m.pick([-2**63, 2**63 - 1, *range(-9, 9)]) for _ in axes], np.int64)
    steps = np.array([m.pick([1, 1, 2, 3, -1, -2, -5]) for _ in axes], np.int64)
    signed = np.array([a - (len(x) if m.chance(0.3) else 0) for a in axes], np.int64)
    return Case([m.data(m.pick(ANY), x), ends(), ends(), signed, steps], opset=13, exact=True,
                constant=m.pick([(), (1, 2, 3, 4)]))


@op("Pad")
def pad(m, name):
    x = m.shape(1, 4)
    mode = m.pick(["constant", "constant", "reflect", "edge", "wrap"])
    t = m.pick(F32 + [np.int32, np.int64, np.int8, np.uint8, np.bool_])
    most = lambda d: d if mode == "wrap" else d - 1 if mode == "reflect" else 4
    if mode != "constant" and 0 in x:
        return None
    pads = [int(m.r.integers(-min(1, d // 3), max(most(d), 0) + 1)) for d in x * 2]
    if mode != "constant":
        pads = [max(p, 0) for p in pads]
    value = m.data(t, []) if mode == "constant" and m.chance(0.6) else None
    return Case([m.data(t, x), np.array(pads, np.int64), value], {"mode": mode}, opset=19, exact=True)


@op("DepthToSpace", "SpaceToDepth")
def depth(m, name):
    b = m.pick([1, 2, 3])
    x = [m.pick([1, 2]), m.pick([1, 2, 3]), m.pick([1, 3, 4]), m.pick([1, 2, 5])]
    if name == "DepthToSpace":
        x[1] *= b * b
    else:
        x[2], x[3] = x[2] * b, x[3] * b
    return Case([m.data(m.pick([np.float32, np.float64]), x)],
                {"blocksize": b, **({"mode": m.pick(["DCR", "CRD"])} if name[0] == "D" else {})}, opset=13, exact=True)


@op("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND")
def gather(m, name):
    x = m.shape(1, 4, empty=False)
    t, axis = m.pick(ANY), m.axis(len(x))
    it = m.pick([np.int32, np.int64])
    if name == "Gather":
        i = m.r.integers(-x[axis], x[axis], m.shape(0, 2)).astype(it)
        return Case([m.data(t, x), i], {"axis": axis}, opset=13, exact=True)
    if name in ("GatherElements", "ScatterElements"):
        shape = [int(m.r.integers(1, d + 1)) for d in x]
        if name[0] == "G":
            i = m.r.integers(-x[axis], x[axis], shape).astype(it)
            return Case([m.data(t, x), i], {"axis": axis}, opset=13, exact=True)
        attrs = {"axis": axis}
        t = m.pick([np.float32, np.float64, np.int32, np.int64])
        if m.chance(0.5):
            attrs["reduction"] = m.pick(["add", "mul", "max", "min"])
            i = m.r.integers(-x[axis], x[axis], shape).astype(it)
        else:
            i = np.argsort(m.r.random(shape[:0] + [d if k == axis % len(x) else s for k, (d, s) in
                           enumerate(zip(x, shape))]), axis=axis)
            i = np.take(i, range(shape[axis]), axis=axis).astype(it)
        return Case([m.data(t, x), i, m.data(t, shape)], attrs, opset=18, tolerance=4)
    q = int(m.r.integers(1, len(x) + 1))
    batch = int(m.r.integers(0, q)) if name == "GatherND" and m.chance(0.4) else 0
    outer = x[:batch] + [int(v) for v in m.r.integers(1, 4, m.r.integers(1 if not batch else 0, 3))]
    depth_ = q - batch
    i = np.stack([m.r.integers(-d, d, outer) for d in x[batch:q]], axis=-1).astype(np.int64).reshape(outer + [depth_])
    if name == "GatherND":
        return Case([m.data(t, x), i], {"batch_dims": batch} if batch else {}, opset=13, exact=True)
    t = m.pick([np.float32, np.float64, np.int32, np.int64])
    reduction = m.pick(["add", "mul", "max", "min", "none"])
    if reduction == "none":
        flat_ = m.r.permutation(int(np.prod(x[:q])))[:int(np.prod(outer))]
        outer = [len(flat_)]
        i = np.stack(np.unravel_index(flat_, x[:q]), axis=-1).astype(np.int64)
    return Case([m.data(t, x), i, m.data(t, outer + x[q:])], {"reduction": reduction}, opset=18, tolerance=4)


@op("Resize")
def resize(m, name):
    x = [m.pick([1, 2]), m.pick([1, 3]), m.pick([1, 2, 3, 5, 8]), m.pick([1, 2, 4, 7])]
    mode = m.pick(["nearest", "linear", "cubic"])
    attrs = {"mode": mode, "coordinate_transformation_mode": m.pick(
        ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"])}
    if mode == "nearest":
        attrs["nearest_mode"] = m.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    elif m.chance(0.3):
        attrs["antialias"] = 1
    if mode == "cubic":
        attrs["cubic_coeff_a"] = m.pick([-0.75, -0.5])
        attrs["exclude_outside"] = int(m.r.integers(2))
    if m.chance(0.5):
        sizes = np.array(x[:2] + [int(m.pick([1, 2, 3, 5, 9])), int(m.pick([1, 3, 4, 8]))], np.int64)
        return Case([m.data(np.float32, x), None, None, sizes], attrs, opset=19, constant=m.pick([(), (3,)]), tolerance=40)
    scales = np.array([1, 1, m.pick([0.5, 1, 1.5, 2, 3]), m.pick([0.5, 1, 2, 2.5])], np.float32)
    if 0 in np.floor(np.array(x) * scales):
        return None
    return Case([m.data(np.float32, x), None, scales], attrs, opset=19, constant=m.pick([(), (2,)]), tolerance=40)


@op("NonZero", "Unique", "Compress", "OneHot", "EyeLike", "Trilu", "Range", "ConstantOfShape")
def select(m, name):
    x = m.shape(1, 3)
    t = m.pick([np.float32, np.int64, np.int32, np.int8])
    if name == "NonZero":
        return Case([m.data(m.pick([np.float32, np.int64, np.bool_, np.uint8]), m.shape(0, 4))], opset=13)
    if name == "Unique":
        if 0 in x:
            return None
        attrs = {"sorted": int(m.r.integers(2)), **({"axis": m.axis(len(x))} if m.chance(0.6) else {})}
        return Case([m.data(m.pick([np.float32, np.int64, np.int8]), x).round()], attrs, 4, opset=11)
    if name == "Compress":
        axis = m.axis(len(x)) if m.chance(0.7) else None
        n = int(np.prod(x)) if axis is None else x[axis]
        return Case([m.data(m.pick(ANY), x), m.r.random(max(1, n - m.r.integers(0, 3))) < 0.5],
                    {} if axis is None else {"axis": axis}, opset=11, exact=True)
    if name == "OneHot":
        depth_ = int(m.r.integers(1, 6))
        i = m.r.integers(-depth_, depth_, m.shape(0, 2)).astype(m.pick([np.int64, np.int32]))
        return Case([i, np.array(depth_, np.int64), np.array([2, 5], np.float32)],
                    {"axis": int(m.r.integers(-i.ndim - 1, i.ndim + 1))}, opset=11)
    if name == "EyeLike":
        return Case([m.data(t, [m.size(), m.size()])], {"k": int(m.r.integers(-4, 5)), "dtype": m.pick([1, 6, 7, 11])}, opset=9)
    if name == "Trilu":
        x = m.shape(2, 4)
        return Case([m.data(m.pick([np.float32, np.int64, np.float64]), x), np.array(m.r.integers(-5, 6), np.int64)],
                    {"upper": int(m.r.integers(2))}, opset=14)
    if name == "Range":
        t = m.pick([np.float32, np.int32, np.int64, np.float64, np.int16])
        return Case([m.data(t, []), m.data(t, []), np.array(m.pick([1, 2, -1, 3]), t)], opset=11)
    import onnx
    return Case([np.array(m.shape(0, 3), np.int64)], {"value": onnx.numpy_helper.from_array(m.data(t, [1]))}, opset=9)


@op("NonMaxSuppression")
def nms(m, name):
    n, boxes, classes = int(m.pick([1, 2])), int(m.pick([1, 3, 9, 20])), int(m.pick([1, 3]))
    corner = m.r.uniform(0, 1, [n, boxes, 4]).astype(np.float32)
    return Case([corner, m.r.uniform(0, 1, [n, classes, boxes]).astype(np.float32),
                 np.array([m.r.integers(0, 8)], np.int64), np.array([m.r.uniform(0, 1)], np.float32),
                 np.array([m.r.uniform(0, 0.8)], np.float32) if m.chance(0.7) else None],
                {"center_point_box": int(m.r.integers(2))}, opset=11)


@op("ReverseSequence")
def reverse(m, name):
    time, batch = int(m.pick([1, 3, 5])), int(m.pick([1, 2, 4]))
    first = int(m.r.integers(2))
    x = ([batch, time] if first else [time, batch]) + m.shape(0, 1)
    return Case([m.data(m.pick([np.float32, np.int64, np.uint8]), x), m.r.integers(1, time + 1, batch)],
                {"batch_axis": 0 if first else 1, "time_axis": 1 if first else 0}, opset=10, exact=True)
