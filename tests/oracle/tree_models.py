"""Random tree ensembles as ONNX models, and what they answer: an evaluator written from the
operators' text, one row and one node at a time, comparisons in exact arithmetic."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6
ONNX_TYPE = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
             np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32,
             np.dtype(np.float16): TensorProto.FLOAT16}


class Node:
    """Interior: mode, feature, value (or members), tracks, children (indices into a tree's nodes).
    Leaf: votes, a list of (target, weight)."""

    def __init__(self, **members):
        self.mode, self.votes = None, []
        self.__dict__.update(members)


def holds(node, x):
    """x: a Python number. Python compares its integers and floats exactly."""
    if x != x:  # no comparison with a NaN holds but "not equal"
        return node.tracks or node.mode == 5
    value = node.value
    if node.mode == 0:
        return x <= value
    if node.mode == 1:
        return x < value
    if node.mode == 2:
        return x >= value
    if node.mode == 3:
        return x > value
    if node.mode == 4:
        return x == value
    return x != value if node.mode == 5 else x in node.members


def leaf_of(tree, row):
    at = 0
    while tree[at].mode is not None:
        at = tree[at].children[0 if holds(tree[at], row[tree[at].feature]) else 1]
    return tree[at]


def raw_sums(trees, x, n_targets, dtype, aggregate="SUM", start=None):
    """Aggregates, in the type of the weights and the order of the trees."""
    out = np.zeros((len(x), n_targets), dtype)
    for r, row in enumerate(x.tolist()):
        leaves = [leaf_of(tree, row) for tree in trees]
        if aggregate in ("MIN", "MAX"):
            for k in range(n_targets):
                votes = [w for leaf in leaves for target, w in leaf.votes if target == k]
                if votes:
                    out[r, k] = min(votes) if aggregate == "MIN" else max(votes)
            continue
        if start is not None:
            out[r] = start
        for leaf in leaves:
            for target, weight in leaf.votes:
                out[r, target] = dtype(out[r, target] + dtype(weight))
    return out


def random_tree(rng, depth, features, values, modes, votes, share=0.1, stop=0.2):
    """A tree, or a DAG when some child is a node that stands already. Children follow their
    parents in the list, but for the shuffle at the end."""
    nodes = []

    def grow(level):
        index = len(nodes)
        nodes.append(None)
        if level == 0 or rng.random() < stop and level < depth:
            nodes[index] = Node(votes=votes())
            return index
        children = []
        for _ in range(2):
            done = [i for i in range(index + 1, len(nodes)) if nodes[i] is not None]
            if done and rng.random() < share:
                children.append(int(rng.choice(done)))
            else:
                children.append(grow(level - 1))
        mode = int(rng.choice(modes))
        feature = int(rng.integers(features))
        nodes[index] = Node(mode=mode, feature=feature, value=values(feature),
                            tracks=bool(rng.random() < 0.3), children=children,
                            members=[values(feature) for _ in range(int(rng.integers(1, 6)))])
        return index

    grow(depth)
    order = [0] + [int(i) + 1 for i in rng.permutation(len(nodes) - 1)]
    place = {old: new for new, old in enumerate(order)}
    for node in nodes:
        if node.mode is not None:
            node.children = [place[c] for c in node.children]
    return [nodes[i] for i in order]


def chain(feature, values, votes, tracks=False):
    """x == values[0] or else x == values[1] or else …, one common target."""
    nodes = [Node(mode=4, feature=feature, value=v, tracks=tracks, children=[len(values), i + 1])
             for i, v in enumerate(values)]
    nodes[-1].children[1] = len(values) + 1
    return nodes + [Node(votes=votes()), Node(votes=votes())]


def node_lists(trees, double, rng, scatter=False):
    """nodes_* and the votes; scatter: ids neither dense nor in order, trees interleaved."""
    rows, votes = [], []
    for t, tree in enumerate(trees):
        ids = [int(i) for i in rng.permutation(3 * len(tree))[:len(tree)]] if scatter else \
            list(range(len(tree)))
        for i, node in enumerate(tree):
            leaf = node.mode is None
            rows.append((t, ids[i], 0 if leaf else node.feature, "LEAF" if leaf else
                         MODES[node.mode], 0.0 if leaf else node.value,
                         0 if leaf else ids[node.children[0]],
                         0 if leaf else ids[node.children[1]], 0 if leaf else int(node.tracks)))
            votes += [(t, ids[i], target, weight) for target, weight in node.votes]
    if scatter:  # roots stay the first of their trees
        roots = [r for i, r in enumerate(rows) if i == 0 or rows[i - 1][0] != r[0]]
        others = [r for r in rows if not any(r is root for root in roots)]
        rows = roots + [others[i] for i in rng.permutation(len(others))]
    columns = [list(c) for c in zip(*rows)]
    attrs = dict(zip(("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes",
                      "nodes_values", "nodes_truenodeids", "nodes_falsenodeids",
                      "nodes_missing_value_tracks_true"), columns))
    names = ("treeids", "nodeids", "ids", "weights")
    vote_attrs = dict(zip(names, [list(c) for c in zip(*votes)] if votes else [[]] * 4))
    if double:
        attrs["nodes_values_as_tensor"] = numpy_helper.from_array(
            np.array(attrs.pop("nodes_values"), np.float64))
        vote_attrs["weights_as_tensor"] = numpy_helper.from_array(
            np.array(vote_attrs.pop("weights"), np.float64))
    return attrs, vote_attrs


def model(op, attrs, x_dtype, outputs, version):
    attrs = {k: v for k, v in attrs.items() if v is not None and not (isinstance(v, list) and not v)}
    node = helper.make_node(op, ["X"], [name for name, _, _ in outputs], domain="ai.onnx.ml",
                            **attrs)
    graph = helper.make_graph(
        [node], "trees", [helper.make_tensor_value_info("X", ONNX_TYPE[np.dtype(x_dtype)], None)],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21),
                                                   helper.make_opsetid("ai.onnx.ml", version)])
    made.ir_version = 10
    return made


def base_values(attrs, double):
    if double and attrs.get("base_values"):
        values = np.array(attrs.pop("base_values"), np.float64)
        attrs["base_values_as_tensor"] = numpy_helper.from_array(values)
    return attrs


def regressor(trees, x_dtype, n_targets, rng, double=False, scatter=False, version=3, **attrs):
    nodes, votes = node_lists(trees, double, rng, scatter)
    attrs = base_values(attrs, double)
    nodes.update({"target_" + k: v for k, v in votes.items()})
    return model("TreeEnsembleRegressor", dict(nodes, n_targets=n_targets, **attrs), x_dtype,
                 [("Y", TensorProto.FLOAT, None)], version)


def classifier(trees, x_dtype, labels, rng, double=False, scatter=False, version=3, **attrs):
    nodes, votes = node_lists(trees, double, rng, scatter)
    attrs = base_values(attrs, double)
    nodes.update({"class_" + k: v for k, v in votes.items()})
    strings = isinstance(labels[0], str)
    nodes["classlabels_strings" if strings else "classlabels_int64s"] = labels
    kind = TensorProto.STRING if strings else TensorProto.INT64
    return model("TreeEnsembleClassifier", dict(nodes, **attrs), x_dtype,
                 [("Y", kind, None), ("Z", TensorProto.FLOAT, None)], version)


def ensemble(trees, dtype, n_targets, **attrs):
    """TreeEnsemble: leaves of one vote each; a tree that is a leaf is a node both of whose sides
    are that leaf."""
    features, modes, splits, tracks, members = [], [], [], [], []
    true_ids, true_leafs, false_ids, false_leafs = [], [], [], []
    targets, weights, roots = [], [], []
    for tree in trees:
        if tree[0].mode is None:
            tree = [Node(mode=0, feature=0, value=0, tracks=False, children=[1, 1])] + tree
        place, first = {}, len(features)
        for i, node in enumerate(tree):
            if node.mode is None:
                place[i] = (len(targets), 1)
                targets.append(node.votes[0][0])
                weights.append(node.votes[0][1])
        for i, node in enumerate(tree):
            if node.mode is not None:
                place[i] = (first + len([n for n in tree[:i] if n.mode is not None]), 0)
        roots.append(place[0][0])
        for node in tree:
            if node.mode is None:
                continue
            features.append(node.feature)
            modes.append(node.mode)
            splits.append(node.value)
            tracks.append(int(node.tracks))
            if node.mode == MEMBER:
                # a NaN ends a group and is never a member
                members += [m for m in node.members if m == m] + [float("nan")]
            for side, (ids, leafs) in enumerate(((true_ids, true_leafs), (false_ids, false_leafs))):
                ids.append(place[node.children[side]][0])
                leafs.append(place[node.children[side]][1])

    def tensor(values, kind=dtype):
        return numpy_helper.from_array(np.array(values, kind))
    lists = dict(n_targets=n_targets, tree_roots=roots, nodes_featureids=features,
                 nodes_modes=tensor(modes, np.uint8), nodes_splits=tensor(splits),
                 nodes_truenodeids=true_ids, nodes_trueleafs=true_leafs,
                 nodes_falsenodeids=false_ids, nodes_falseleafs=false_leafs,
                 nodes_missing_value_tracks_true=tracks, leaf_targetids=targets,
                 leaf_weights=tensor(weights))
    if members:
        lists["membership_values"] = tensor(members)
    return model("TreeEnsemble", dict(lists, **attrs), dtype,
                 [("Y", ONNX_TYPE[np.dtype(dtype)], None)], 5)
