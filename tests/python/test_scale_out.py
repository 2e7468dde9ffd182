"""examples/scale_out: each recipe runs where its engine is installed; what they promise of every
worker (weights mapped once a host, one thread) is measured without an engine."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import big_model
import child_process
import tenon as ort
import text_model as t

RECIPES = t.SOURCE / "examples" / "scale_out"
PRELOADED = "LD_PRELOAD" in os.environ  # engines start programs that a sanitizer stops


def have(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


class Recipes(unittest.TestCase):
    def check(self, name, *arguments):
        done = subprocess.run([sys.executable, RECIPES / name, *arguments], text=True,
                              capture_output=True, timeout=250, cwd=tempfile.gettempdir())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-4000:])
        self.assertIn("540 of 540 digits", done.stdout)

    @unittest.skipUnless(have("dask", "pandas"), "no dask (Debian: python3-dask python3-pandas)")
    @unittest.skipIf(PRELOADED, "not under a sanitizer")
    def test_dask(self):
        self.check("dask_digits.py", "threads")
        self.check("dask_digits.py", "processes")

    @unittest.skipUnless(have("ray", "pandas", "pyarrow"), "no ray (pip install 'ray[data]')")
    @unittest.skipIf(PRELOADED, "not under a sanitizer")
    def test_ray(self):
        self.check("ray_digits.py")

    @unittest.skipUnless(have("pyspark", "pandas", "pyarrow") and shutil.which("java"),
                         "no pyspark (Java; pip install pyspark pandas pyarrow)")
    @unittest.skipIf(PRELOADED, "not under a sanitizer")
    def test_spark(self):
        self.check("spark_digits.py")


def mapped(path):
    """Bytes in memory of a file's mappings in this process: (all, copied)."""
    sums, inside = {"Rss": 0, "Anonymous": 0}, False
    with open("/proc/self/smaps", encoding="utf-8") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                inside = line.rstrip().endswith(path)
            elif inside and line.partition(":")[0] in sums:
                sums[line.partition(":")[0]] += int(line.split()[1]) << 10
    return sums["Rss"], sums["Anonymous"]


def anonymous():
    """Bytes of this process that no file backs."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]) << 10


def threads():
    return len(os.listdir("/proc/self/task"))


def worker(session, data, rows, pipe):
    """What a worker of any engine does with a session that it is sent; what it takes."""
    try:
        before = threads(), anonymous()
        y, = session.run(None, {"x": rows})
        pipe.send((y.sum(1).tolist(), threads() - before[0], anonymous() - before[1], mapped(data)))
    except Exception as error:
        pipe.send(error)
    pipe.close()


class Unopened:
    """Stands for a session until the worker opens it, so that the worker can weigh itself."""

    def __init__(self, path, number, prepack):
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = number
        self.options.add_session_config_entry("prepack", prepack)
        self.path = path

    def run(self, names, feed):
        self.session = ort.InferenceSession(self.path, self.options)
        return self.session.run(names, feed)


class Workers(child_process.InChild):
    SIZE = 2048, 2048  # 16 MB

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(os.path.realpath(cls.folder.name), "big.onnx")
        cls.weights = np.random.default_rng(1).integers(-8, 8, cls.SIZE).astype(np.float32)
        cls.data = big_model.write(cls.path, cls.weights)
        cls.rows = np.random.default_rng(2).integers(-8, 8, (64, cls.SIZE[0])).astype(np.float32)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def in_worker(self, session):
        answer = self.in_child("spawn", worker, session, self.data, self.rows)
        if isinstance(answer, Exception):
            raise answer
        sums, *facts = answer
        self.assertEqual(sums, (self.rows @ self.weights).sum(1).tolist())
        return facts

    @unittest.skipIf(PRELOADED, "a sanitizer has threads and memory of its own")
    def test_weights_stay_in_the_mapped_file(self):
        _, grown, (resident, copied) = self.in_worker(Unopened(self.path, 1, "0"))
        self.assertGreater(resident, self.weights.nbytes // 2)
        self.assertEqual(copied, 0)
        self.assertLess(grown, self.weights.nbytes // 2)
        _, packed, _ = self.in_worker(Unopened(self.path, 1, "1"))
        self.assertGreater(packed, self.weights.nbytes // 2)  # what the measure sees otherwise

    @unittest.skipIf(PRELOADED, "a sanitizer has threads and memory of its own")
    def test_one_thread_is_one_thread(self):
        self.assertEqual(self.in_worker(Unopened(self.path, 1, "0"))[0], 0)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertGreater(self.in_worker(Unopened(self.path, 2, "0"))[0], 0)

    def test_a_session_is_sent_as_its_path_and_settings(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.in_worker(ort.InferenceSession(self.path, options))


if __name__ == "__main__":
    unittest.main()
