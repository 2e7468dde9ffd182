"""Small data sets for the fixtures. Every number is a multiple of 1/8 or has few bits, so that it
is the same in float and in double and midpoints between values (the trees' thresholds) are exact
in both."""
import numpy as np


def _rng():
    return np.random.default_rng(7)


def _grid(x, step=0.125):
    return np.round(np.asarray(x) / step) * step


def features(n, width=4):
    return _grid(_rng().normal(size=(n, width)) * 1.5)


def _scores(x):
    return x[:, 0] - 0.7 * x[:, 1] + 0.4 * x[:, 2] * x[:, 3] + _rng().normal(size=len(x)) * 0.3


def binary(labels=(0, 1)):
    x = features(90)
    y = np.array(labels)[(_scores(x) > 0).astype(int)]
    return x[:70], y[:70], x[70:]


def multi(labels=(0, 1, 2)):
    x = features(110)
    y = np.array(labels)[np.digitize(_scores(x), [-0.8, 0.8])]
    return x[:90], y[:90], x[90:]


def regression(targets=1):
    x = features(80)
    y = np.stack([_scores(x) + k * x[:, 1] for k in range(targets)], axis=1)
    return x[:60], (y[:60, 0] if targets == 1 else y[:60]), x[60:]


def positive_target():
    x = features(80)
    y = np.exp(0.4 * _scores(x)) + 0.1
    return x[:60], y[:60], x[60:]


def scattered(kind):
    """Rows whose distances to each other all differ: nearest neighbours without ties."""
    rng = _rng()
    x = rng.normal(size=(60, 4)).astype(np.float32).astype(float)
    s = _scores(x)
    y = {"binary": (s > 0).astype(int), "multi": np.array(list("abc"))[np.digitize(s, [-1, 1])],
         "regression": s, "targets": np.stack([s, x[:, 1]], axis=1)}[kind]
    return x[:45], y[:45], x[45:]


def counts(classes=2):
    x = _rng().integers(0, 6, size=(80, 4)).astype(float)
    y = np.digitize(x[:, 0] - x[:, 1], [0.5] if classes == 2 else [-1.5, 1.5])
    return x[:60], y[:60], x[60:]


def multilabel():
    x = features(90)
    s = _scores(x)
    y = np.stack([s > 0, x[:, 1] > 0.3], axis=1).astype(int)
    return x[:70], y[:70], x[70:]


def holes(x, share=0.25):
    """The same rows with some numbers missing; the first rows stay whole."""
    x = x.copy()
    hit = _rng().random(x.shape) < share
    hit[:2] = False
    x[hit] = np.nan
    return x


WORDS = "red green blue round square small large heavy light new".split()


def sentences(n=24):
    rng = _rng()
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 7))) for _ in range(n)]
    texts += ["Red, GREEN!", "blue blue blue", "nothing known here", "round-square", ""]
    return np.array(texts).reshape(-1, 1)


def categories(n=40):
    rng = _rng()
    return np.stack([rng.choice(["paris", "rome", "oslo"], n), rng.choice(["a", "b"], n)], axis=1)
