"""Threads, forks, pickles, and many sessions: nothing leaks, nothing crashes."""
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import child_process
import tenon as ort
import text_model as t

IMAGES = np.load(t.SOURCE / "examples" / "digits" / "images.npy")
SCORES = np.load(t.SOURCE / "examples" / "digits" / "scores.npy")
# A sanitized library is slow, and keeps freed memory for a while.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def largest_difference(session, rows):
    return float(np.abs(session.run(None, {"image": IMAGES[rows]})[0] - SCORES[rows]).max())


def send_difference(session, rows, pipe):
    pipe.send(largest_difference(session, rows))
    pipe.close()


class Threads(unittest.TestCase):
    def test_eight_threads_run_one_session_a_thousand_times_each(self):
        session = ort.InferenceSession(t.DIGITS)
        want = [session.run(None, {"image": IMAGES[i:i + 1]})[0] for i in range(100)]
        wrong, failures = [], []

        def work(seed):
            try:
                for i in range(1000):
                    row = (seed * 31 + i) % 100
                    n = 1 + (i % 7 == 0)  # other shapes in between
                    got = session.run(None, {"image": IMAGES[row:row + n]})[0]
                    if not np.array_equal(got[0], want[row][0]):
                        wrong.append(row)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, failures), ([], []))

    def test_other_threads_go_on_during_a_run(self):
        n = 400
        model = ort.InferenceSession(t.model(
            f"g (float[{n}, {n}] x) => (float[{n}, {n}] y) <int64 turns = {{1000000}}, bool go = {{1}}> "
            f"{{ y = Loop (turns, go, x) <body = b (int64 i, bool c, float[{n}, {n}] a) => "
            f"(bool d, float[{n}, {n}] e) {{ d = Identity (c) e = MatMul (a, a) }}> }}"))
        run = ort.RunOptions()
        errors = []

        def work():
            try:
                model.run(None, {"x": np.eye(n, dtype=np.float32)}, run)
            except ort.errors.Fail as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        turns = 0
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            turns += 1
        self.assertTrue(thread.is_alive())
        run.terminate = True
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertIn("cancelled", str(errors[0]))
        self.assertGreater(turns, 100)


class Forks(child_process.InChild):
    def test_a_session_works_after_a_fork(self):
        session = ort.InferenceSession(t.DIGITS)
        self.assertLess(largest_difference(session, slice(0, 540)), 1e-5)
        self.assertLess(self.in_child("fork", send_difference, session, slice(0, 540)), 1e-5)
        self.assertLess(largest_difference(session, slice(0, 9)), 1e-5)

    def test_sessions_can_be_made_after_a_fork(self):
        largest_difference(ort.InferenceSession(t.DIGITS), slice(0, 540))

        def child(pipe):
            send_difference(ort.InferenceSession(t.DIGITS), slice(0, 540), pipe)

        self.assertLess(self.in_child("fork", child), 1e-5)

    def test_run_async_works_after_a_fork(self):
        session = ort.InferenceSession(t.DIGITS)

        def ask(pipe):
            session.run_async(None, {"image": IMAGES}, lambda results, _, error: pipe.send(error), 0)
            time.sleep(0)

        event = threading.Event()
        session.run_async(None, {"image": IMAGES}, lambda *_: event.set(), None)
        self.assertTrue(event.wait(60))
        self.assertEqual(self.in_child("fork", ask), "")

    def test_a_spawned_process_gets_the_session(self):
        session = ort.InferenceSession(t.DIGITS)
        self.assertLess(self.in_child("spawn", send_difference, session, slice(0, 9)), 1e-5)


class Pickles(unittest.TestCase):
    def test_path_bytes_and_options_come_back(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("level", "basic")
        with open(t.DIGITS, "rb") as file:
            content = file.read()
        for source in (t.DIGITS, content):
            session = pickle.loads(pickle.dumps(ort.InferenceSession(source, options, ["cpu"])))
            self.assertLess(largest_difference(session, slice(0, 9)), 1e-5)
            self.assertEqual(session.get_session_options().intra_op_num_threads, 1)
            self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        self.assertLess(len(pickle.dumps(ort.InferenceSession(t.DIGITS))), 4096)
        model = pickle.loads(pickle.dumps(ort.Model(content, {"threads": "1"})))
        self.assertEqual(model.settings, {"threads": "1"})


class Leaks(unittest.TestCase):
    def measure(self, act, n):
        for _ in range(n // 10):
            act()
        gc.collect()
        before = resident_bytes()
        for _ in range(n):
            act()
        gc.collect()
        return resident_bytes() - before

    def test_ten_thousand_sessions(self):
        x = np.array([[-1, 2, 3]], np.float32)
        results = []

        def act():
            session = ort.InferenceSession(t.RELU)
            results[:] = session.run(None, {"x": x})

        grown = self.measure(act, 300 if SANITIZED else 10000)
        np.testing.assert_array_equal(results[0], [[0, 2, 3]])
        if not SANITIZED:
            self.assertLess(grown, 4 << 20)

    def test_a_thousand_sessions_of_digits(self):
        grown = self.measure(lambda: largest_difference(ort.InferenceSession(t.DIGITS),
                                                        slice(0, 1)), 100 if SANITIZED else 1000)
        if not SANITIZED:
            self.assertLess(grown, 4 << 20)

    def test_runs_of_every_way_round(self):
        session, nonzero = ort.InferenceSession(t.DIGITS), ort.InferenceSession(t.NONZERO)
        split, text = ort.InferenceSession(t.SPLIT), ort.InferenceSession(t.IDENTITY_TEXT)
        words = np.array(["a word that is long enough"] * 50, object)
        six = np.arange(6, dtype=np.float32)
        value = ort.OrtValue.ortvalue_from_numpy(IMAGES[:3])

        def act():
            session.run(None, {"image": IMAGES[:2].tolist()})
            session.run(None, {"image": IMAGES[4:0:-1]})
            session.run_with_ort_values(None, {"image": value})
            nonzero.run(None, {"x": six})
            split.run(None, {"x": six})
            text.run(None, {"x": words})
            try:
                session.run(None, {"image": six})
            except ort.errors.InvalidArgument:
                pass

        grown = self.measure(act, 50 if SANITIZED else 1000)
        if not SANITIZED:
            self.assertLess(grown, 4 << 20)

    def test_failed_sessions_leave_nothing(self):
        def act():
            try:
                ort.InferenceSession(t.RELU[:-3])
            except ort.TenonError:
                pass

        grown = self.measure(act, 100 if SANITIZED else 3000)
        if not SANITIZED:
            self.assertLess(grown, 4 << 20)


class Cycles(unittest.TestCase):
    def test_sessions_in_cycles_of_garbage(self):
        # the collector finalizes them in any order; the library must be left in one
        for _ in range(50):
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            session = ort.InferenceSession(t.DIGITS, options)
            results = session.run(None, {"image": IMAGES[:2]})
            model = ort.Model(t.NONZERO, {"threads": 1})
            for thing in (session, model):
                thing.self = [thing, results]
            model.run({"x": IMAGES[0]})
            del session, model, results, thing
            gc.collect()

    def test_handles_go_in_order(self):
        from tenon._counted import Counted
        gone = []
        runtime = Counted(lambda _: gone.append("runtime"))
        session = Counted(lambda _: gone.append("session"), runtime)
        context = Counted(lambda _: gone.append("context"), session)
        for handle in (runtime, session, context):
            handle.release()
        self.assertEqual(gone, ["context", "session", "runtime"])


class Ends(unittest.TestCase):
    def test_a_process_may_end_at_any_time(self):
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "import numpy as np, tenon, text_model as t\n"
            "s = tenon.InferenceSession(t.DIGITS)\n"
            "y = s.run(None, {'image': np.zeros((9, 64), np.float32)})\n"
            "s.run_async(None, {'image': np.zeros((9, 64), np.float32)}, print, None)\n"
            "keep = [s, y, tenon.Runtime()]; keep.append(keep)\n")
        folder = os.path.dirname(os.path.abspath(__file__))
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
