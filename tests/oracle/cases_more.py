"""Cases of the operators beyond the common ones: sampling, signals, attention, unpooling."""
import numpy as np

from cases import F32, Case, op


@op("GridSample")
def grid_sample(m, name):
    spatial = m.pick([2, 2, 3])
    x = [m.pick([1, 2]), m.pick([1, 3])] + [m.pick([1, 2, 3, 5, 7]) for _ in range(spatial)]
    grid = [x[0]] + [m.pick([1, 2, 4]) for _ in range(spatial)] + [spatial]
    mode = m.pick(["linear", "nearest"] + (["cubic"] if spatial == 2 else []))
    return Case([m.data(np.float32, x), m.data(np.float32, grid, low=-1.6, high=1.6)],
                {"mode": mode, "padding_mode": m.pick(["zeros", "border", "reflection"]),
                 "align_corners": int(m.r.integers(2))}, opset=20, tolerance=100)


@op("AffineGrid")
def affine_grid(m, name):
    n, spatial = m.pick([1, 2]), m.pick([2, 3])
    size = np.array([n, 2] + [m.pick([1, 2, 5]) for _ in range(spatial)], np.int64)
    return Case([m.data(m.pick(F32), [n, spatial, spatial + 1]), size], {"align_corners": int(m.r.integers(2))},
                opset=20, tolerance=10)


@op("RoiAlign")
def roi_align(m, name):
    x, n = [m.pick([1, 2]), m.pick([1, 3]), m.pick([4, 7]), m.pick([5, 9])], m.pick([1, 3])
    corner = m.r.uniform(0, 6, [n, 2])
    rois = np.concatenate([corner, corner + m.r.uniform(0.1, 7, [n, 2])], 1).astype(np.float32)
    return Case([m.data(np.float32, x), rois, m.r.integers(0, x[0], n)],
                {"mode": "avg", "output_height": int(m.pick([1, 2, 3])), "output_width": int(m.pick([1, 4])),
                 "sampling_ratio": int(m.pick([0, 1, 2, 3])), "spatial_scale": m.pick([1.0, 0.5, 0.25]),
                 "coordinate_transformation_mode": m.pick(["half_pixel", "output_half_pixel"])}, opset=16, tolerance=20)


@op("Col2Im")
def col2im(m, name):
    image, block = [m.pick([3, 5, 6]), m.pick([4, 7])], [m.pick([1, 2, 3]), m.pick([1, 2, 3])]
    strides, dilations = [m.pick([1, 2]), m.pick([1, 2])], [1, m.pick([1, 2])]
    pads = [int(m.r.integers(0, 2)) for _ in range(4)]
    blocks = 1
    for i in range(2):
        blocks *= (image[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
    x = [m.pick([1, 2]), m.pick([1, 3]) * block[0] * block[1], blocks]
    if blocks <= 0:
        return None
    return Case([m.data(np.float32, x), np.array(image), np.array(block)],
                {"strides": strides, "dilations": dilations, "pads": pads}, opset=18, constant=m.pick([(), (1, 2)]),
                tolerance=10)


@op("DFT")
def dft(m, name):
    n = m.pick([1, 2, 3, 4, 5, 8, 12, 17, 32])
    real = m.chance(0.5)
    x = [m.pick([1, 3]), n, m.pick([1, 4]), 1 if real else 2]
    inverse = 0 if real else int(m.r.integers(2))
    length = np.array(m.pick([1, 4, 7, n, 20]), np.int64) if m.chance(0.4) else None
    return Case([m.data(m.pick(F32), x), length, np.array(m.pick([1, -3]), np.int64)],
                {"inverse": inverse, "onesided": int(m.r.integers(2)) if real else 0}, opset=20, tolerance=300)


@op("STFT")
def stft(m, name):
    n, length, step = m.pick([16, 33, 64]), m.pick([4, 8, 15]), m.pick([1, 3, 8])
    window = m.data(np.float32, [length]) if m.chance(0.6) else None
    return Case([m.data(np.float32, [m.pick([1, 2]), n, 1]), np.array(step, np.int64), window,
                 np.array(length, np.int64)], {"onesided": int(m.r.integers(2))}, opset=17, tolerance=300)


@op("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(m, name):
    return Case([np.array(m.pick([1, 2, 3, 10, 33]), np.int64)], {"periodic": int(m.r.integers(2))}, opset=17,
                tolerance=20)


@op("Det", "MeanVarianceNormalization", "CenterCropPad")
def various(m, name):
    if name == "Det":
        n = m.pick([1, 2, 3, 5])
        return Case([m.data(m.pick(F32), m.pick([[], [3], [2, 0], [2, 2]]) + [n, n])], opset=11, tolerance=100)
    if name == "MeanVarianceNormalization":
        return Case([m.data(np.float32, m.shape(4, 4, empty=False))], {"axes": m.pick([[0, 2, 3], [2, 3], [1]])},
                    opset=13, tolerance=2000)
    x = m.shape(1, 3)
    axes = [int(a) for a in m.r.permutation(len(x))[:m.r.integers(1, len(x) + 1)]]
    return Case([m.data(m.pick([np.float32, np.int64]), x), m.r.integers(0, 9, len(axes))], {"axes": axes}, opset=18,
                exact=True)


@op("MaxUnpool")
def max_unpool(m, name):
    x = [1, m.pick([1, 2]), m.pick([1, 2, 3]), m.pick([2, 4])]
    out = [1, x[1], x[2] * 2, x[3] * 2]
    i = m.r.permutation(int(np.prod(out)))[:int(np.prod(x))].reshape(x).astype(np.int64)
    return Case([m.data(np.float32, x), i], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11, exact=True)


@op("Attention")
def attention(m, name):
    b, s, t, d = (int(m.pick([1, 2, 3, 5, 8])) for _ in range(4))
    heads, groups = m.pick([(1, 1), (2, 2), (4, 2), (4, 1)])
    attrs = {"is_causal": int(m.r.integers(2))}
    if m.chance(0.3):
        attrs["scale"] = 0.3
    if m.chance(0.2):
        attrs["softcap"] = 2.0
    shape = lambda h, n: [b, h, n, d]
    if m.chance(0.4):
        attrs |= {"q_num_heads": heads, "kv_num_heads": groups}
        shape = lambda h, n: [b, n, h * d]
    f = np.float32
    mask = None
    if m.chance(0.5):
        ms = m.pick([[s, t], [1, 1, s, t], [b, 1, s, t], [b, heads, s, t]])
        mask = m.data(f, ms) if m.chance(0.6) else (m.r.random(ms) < 0.8) | (np.arange(t) == 0)
    return Case([m.data(f, shape(heads, s)), m.data(f, shape(groups, t)), m.data(f, shape(groups, t)), mask], attrs,
                opset=23, tolerance=40)


@op("RotaryEmbedding")
def rotary(m, name):
    b, s, h, d = m.pick([1, 2]), m.pick([1, 3, 5]), m.pick([1, 2, 4]), m.pick([4, 8])
    attrs = {"interleaved": int(m.r.integers(2))}
    x = [b, h, s, d]
    if m.chance(0.5):
        x, attrs["num_heads"] = [b, s, h * d], h
    cache = [8, d // 2]
    return Case([m.data(np.float32, x), m.data(np.float32, cache), m.data(np.float32, cache),
                 m.r.integers(0, 8, [b, s])], attrs, opset=23, tolerance=20)
