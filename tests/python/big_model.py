"""A model of one large MatMul, written byte by byte: y = MatMul (x, w)."""
import os


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    """One field of a protobuf message: an int, or bytes and text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def value_info(name, *dims):
    shape = b"".join(field(1, field(1 if isinstance(d, int) else 2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def write(path, weights):
    """A model whose weights, a float32 matrix, lie in a file beside it, as those of large models
    do; the name of that file."""
    k, n = weights.shape
    data = os.path.basename(path) + ".data"
    weights.tofile(os.path.join(os.path.dirname(path), data))
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "MatMul")
    tensor = field(1, k) + field(1, n) + field(2, 1) + field(8, "w") \
        + field(13, field(1, "location") + field(2, data)) + field(14, 1)
    graph = field(1, node) + field(2, "g") + field(5, tensor) \
        + field(11, value_info("x", "m", k)) + field(12, value_info("y", "m", n))
    with open(path, "wb") as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    return path + ".data"
