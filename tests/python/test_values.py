"""Arrays, texts, sequences and the rest, in and out."""
import gc
import unittest

import numpy as np

import tenon
import text_model as t

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def run(model, **feed):
    return tenon.InferenceSession(model).run(None, feed)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.session = tenon.InferenceSession(t.RELU)
        self.x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
        self.want = np.array([[0, 2, 0], [4, 0, 6]], np.float32)

    def check(self, x, want=None):
        got = self.session.run(None, {"x": x})[0]
        np.testing.assert_array_equal(got, self.want if want is None else want)
        self.assertEqual(got.dtype, np.float32)

    def test_runs_of_ever_other_shapes_and_layouts(self):
        for n in (1, 2, 5, 2, 0, 1, 70, 2):
            x = np.arange(3 * n, dtype=np.float32).reshape(n, 3) - 4
            for form in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x[::-1],
                         x.astype(">f4")):
                self.check(form, np.maximum(form.astype(np.float32), 0))
                self.check(form, np.maximum(form.astype(np.float32), 0))

    def test_misaligned_arrays_are_copied(self):
        raw = np.zeros(self.x.nbytes + 1, np.uint8)
        odd = raw[1:].view(np.float32).reshape(2, 3)
        odd[...] = self.x
        self.assertFalse(odd.flags.aligned)
        self.check(odd)

    def test_read_only_arrays_are_used(self):
        self.x.flags.writeable = False
        self.check(self.x)

    def test_lists_take_the_wanted_type(self):
        self.check([[-1, 2, -3], [4, -5, 6]])
        self.check(((-1, 2, -3), (4.0, -5, 6)))

    def test_subclasses_and_things_with_an_array(self):
        class Mine(np.ndarray):
            pass

        class Holder:
            def __init__(self, array):
                self.array = array

            def __array__(self, dtype=None, copy=None):
                return self.array

        self.check(self.x.view(Mine))
        self.check(Holder(self.x))
        self.check(memoryview(self.x))

    def test_a_result_stays_when_others_run(self):
        results = [self.session.run(None, {"x": self.x + i})[0] for i in range(50)]
        del self.session
        gc.collect()
        for i, got in enumerate(results):
            np.testing.assert_array_equal(got, np.maximum(self.x + i, 0))
            got += 1  # its own memory

    def test_an_input_is_never_written(self):
        model = t.model("g (float[n] x) => (float[n] y, float[n] z) "
                        "{ y = Relu (x) z = Neg (y) }")
        x = np.array([-1, 2], np.float32)
        session = tenon.InferenceSession(model)
        for _ in range(3):
            y, z = session.run(None, {"x": x})
            np.testing.assert_array_equal(x, [-1, 2])
            np.testing.assert_array_equal(z, [0, -2])
            y += 1
            z += 1

    def test_scalars_of_rank_0(self):
        model = t.model("g (float x) => (float y) { y = Neg (x) }")
        for x in (np.array(3, np.float32), np.float32(3), 3, 3.0):
            got = run(model, x=x)[0]
            self.assertEqual((got.shape, float(got)), ((), -3.0))

    def test_outputs_that_are_inputs_or_constants(self):
        model = t.model("g (float[n] x) => (float[n] y, float[2] w, float[n] same) "
                        "<float[2] w = {5, 6}> { y = Identity (x) same = Identity (x) }")
        session = tenon.InferenceSession(model)
        x = np.array([1, 2, 3], np.float32)
        for _ in range(3):
            y, w, same = session.run(None, {"x": x})
            np.testing.assert_array_equal(y, x)
            np.testing.assert_array_equal(same, x)
            np.testing.assert_array_equal(w, [5, 6])
            y[0] = w[0] = 9
            self.assertEqual(x[0], 1)
            self.assertEqual(same[0], 1)
            x, y = np.array([1, 2, 3], np.float32), None

    def test_shapes_that_depend_on_data(self):
        session = tenon.InferenceSession(t.NONZERO)
        for x in ([0, 1, 2], [0, 0, 0], [3, 4, 5], [0, 0, 1]):
            got = session.run(None, {"x": np.array(x, np.float32)})[0]
            np.testing.assert_array_equal(got, np.nonzero(x))

    def test_every_plain_type_goes_through(self):
        for name in ("float uint8 int8 uint16 int16 int32 int64 bool float16 double uint32 uint64 "
                     "complex64 complex128").split():
            number = tenon._dtypes.NUMBER_OF_TEXT[name]
            x = np.array([0, 1, 1], tenon._dtypes.NUMPY[number])
            model = t.model(f"g ({name}[n] x) => ({name}[n] y) {{ y = Identity (x) }}")
            got = run(model, x=x)[0]
            self.assertEqual(got.dtype, x.dtype, name)
            np.testing.assert_array_equal(got, x)

    def test_dlpack(self):
        class Foreign:  # nothing but DLPack
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **kwargs):
                return self.array.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        self.check(Foreign(self.x))


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
class NarrowTypes(unittest.TestCase):
    def test_each_goes_in_and_comes_out(self):
        for name in ("bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 "
                     "uint4 int4 float4e2m1 uint2 int2").split():
            dtype = tenon._dtypes.NUMPY[tenon._dtypes.NUMBER_OF_TEXT[name]]
            if dtype is None:
                continue
            model = t.model(f"g ({name}[n] x) => ({name}[n] y) {{ y = Identity (x) }}", 25)
            session = tenon.InferenceSession(model)
            for n in (0, 1, 3, 4, 9):
                x = np.array([(1, 2, 1)[i % 3] for i in range(n)], np.float32)
                x = np.minimum(x, 1).astype(dtype) if name == "int2" else x.astype(dtype)
                for _ in range(2):
                    got = session.run(None, {"x": x})[0]
                    self.assertEqual(got.dtype, dtype)
                    np.testing.assert_array_equal(got.astype(np.float32), x.astype(np.float32))

    def test_packing_is_low_bits_first_and_keeps_signs(self):
        x = np.array([-8, 7, -1], ml_dtypes.int4)
        packed = tenon._dtypes.pack(x, 4)
        self.assertEqual(packed.tolist(), [0x78, 0x0F])
        back = tenon._dtypes.unpack(packed, x.dtype, (3,), 4, True)
        self.assertEqual(back.astype(int).tolist(), [-8, 7, -1])


class Texts(unittest.TestCase):
    def test_forms_of_text(self):
        session = tenon.InferenceSession(t.IDENTITY_TEXT)
        for x in (np.array(["a", "bé", ""], object), np.array(["a", "bé", ""]), ["a", "bé", ""],
                  np.array([b"a", "bé".encode(), b""], object)):
            got = session.run(None, {"x": x})[0]
            self.assertEqual(got.tolist(), ["a", "bé", ""])
            self.assertEqual(got.dtype, object)
        self.assertEqual(session.run(None, {"x": np.array([], object)})[0].shape, (0,))

    def test_a_nul_inside_stays(self):
        got = run(t.IDENTITY_TEXT, x=np.array(["a\0b"], object))[0]
        self.assertEqual(got[0], "a\0b")


class Others(unittest.TestCase):
    def test_sequences(self):
        session = tenon.InferenceSession(t.SPLIT)
        for _ in range(2):
            parts = session.run(None, {"x": np.arange(6, dtype=np.float32)})[0]
            self.assertEqual([p.tolist() for p in parts], [[0, 1], [2, 3], [4, 5]])
        length = tenon.InferenceSession(t.LENGTH)
        x = np.zeros(2, np.float32)
        for n in (0, 1, 3):
            self.assertEqual(int(length.run(None, {"x": [x] * n})[0]), n)
        with self.assertRaisesRegex(tenon.errors.InvalidArgument, "pass a list"):
            length.run(None, {"x": x})
        with self.assertRaisesRegex(tenon.errors.InvalidArgument, "double"):
            length.run(None, {"x": [np.zeros(2)]})

    def test_lists_of_dicts_and_the_matrix(self):
        x = np.array([[0.25, 0.75], [1, 0]], np.float32)
        for keys, want in (('classlabels_strings = ["no", "yes"]', ["no", "yes"]),
                           ("classlabels_int64s = [3, 5]", [3, 5])):
            key = "string" if want[0] == "no" else "int64"
            model = t.model(
                f"g (float[n, 2] x) => (seq(map({key}, float)) y) "
                f"{{ y = ai.onnx.ml.ZipMap <{keys}> (x) }}").replace(
                    b'"" : 18', b'"" : 18, "ai.onnx.ml" : 3')
            session = tenon.InferenceSession(model)
            self.assertEqual(session.get_outputs()[0].type, f"seq(map({key},tensor(float)))")
            for _ in range(2):
                self.assertEqual(session.run(None, {"x": x})[0],
                                 [dict(zip(want, row)) for row in x.tolist()])
            self.assertEqual(session.run(None, {"x": x[:0]})[0], [])
            matrix = tenon.InferenceSession(model, zipmap=False).run(None, {"x": x})[0]
            np.testing.assert_array_equal(matrix, x)
            value = session.run_with_ort_values(
                None, {"x": tenon.OrtValue.ortvalue_from_numpy(x)})[0]
            self.assertEqual(value.value()[0], dict(zip(want, x[0].tolist())))

    def test_maps_go_in(self):
        model = t.model(
            "g (map(string, float) x) => (float[1, 3] y) { y = ai.onnx.ml.DictVectorizer "
            '<string_vocabulary = ["a", "b", "c"]> (x) }').replace(
                b'"" : 18', b'"" : 18, "ai.onnx.ml" : 3')
        session = tenon.InferenceSession(model)
        self.assertEqual(session.run(None, {"x": {"c": 2.0, "a": 1.0}})[0].ravel().tolist(),
                         [1, 0, 2])
        with self.assertRaisesRegex(tenon.errors.InvalidArgument, "dict"):
            session.run(None, {"x": [1, 2]})

    def test_maps_are_taken_as_they_are(self):
        """What is no key or value of the wanted type is refused by the input's name; nothing
        becomes another key."""
        def session(key, value, words):
            return tenon.InferenceSession(t.model(
                f"g (map({key}, {value}) x) => ({value}[1, 2] y) {{ y = "
                f"ai.onnx.ml.DictVectorizer <{words}> (x) }}").replace(
                    b'"" : 18', b'"" : 18, "ai.onnx.ml" : 3'))
        texts = session("string", "float", 'string_vocabulary = ["1", "2"]')
        numbers = session("int64", "float", "int64_vocabulary = [1, 2]")
        to_texts = session("int64", "string", "int64_vocabulary = [1, 2]")
        for refusing, feed in (
                (texts, {1: 1.0}), (texts, {None: 1.0}), (texts, {"1": "x"}),
                (texts, {"1": [1, 2]}), (texts, {"1": 10 ** 400}), (numbers, {1.5: 1}),
                (numbers, {"1": 1}), (numbers, {2 ** 70: 1}), (numbers, {float("nan"): 1}),
                (to_texts, {1: 2})):
            with self.assertRaisesRegex(tenon.errors.InvalidArgument, "input 'x'"):
                refusing.run(None, {"x": feed})
        self.assertEqual(numbers.run(None, {"x": {np.int32(2): 3}})[0].tolist(), [[0, 3]])

    def test_plain_values_that_do_not_fit(self):
        for dtype, value in (("int64", [2 ** 70]), ("int64", [1.5]), ("int64", [float("inf")]),
                             ("uint8", [300]), ("uint8", [-1]), ("float", [10 ** 400]),
                             ("int64", ["a"]), ("int64", [1, [2]])):
            session = tenon.InferenceSession(
                t.model(f"g ({dtype}[a] x) => ({dtype}[a] y) {{ y = Identity (x) }}"))
            with self.assertRaisesRegex(tenon.errors.InvalidArgument, "input 'x'"):
                session.run(None, {"x": value})
        texts = tenon.InferenceSession(
            t.model("g (string[a] x) => (string[a] y) { y = Identity (x) }"))
        with self.assertRaisesRegex(tenon.errors.InvalidArgument, "no Unicode"):
            texts.run(None, {"x": np.array(["\ud800"], object)})

    def test_failures_name_the_node(self):
        session = tenon.InferenceSession(t.model(
            "g (int64[a] x) => (float[a] y) <float[2] w = {1, 2}> { y = Gather (w, x) }"))
        with self.assertRaisesRegex(tenon.errors.TenonError, "Gather"):
            session.run(None, {"x": np.array([7])})

    def test_optionals(self):
        session = tenon.InferenceSession(t.HAS)
        x = np.zeros(2, np.float32)
        for feed, want in (({"x": x}, True), ({"x": None}, False), ({}, False), ({"x": x}, True)):
            self.assertEqual(bool(session.run(None, feed)[0]), want)

    def test_overridable_initializers(self):
        session = tenon.InferenceSession(t.OVERRIDE)
        self.assertEqual([i.name for i in session.get_inputs()], ["x"])
        self.assertEqual([i.name for i in session.get_overridable_initializers()], ["w"])
        x, w = np.zeros(2, np.float32), np.array([7, 8], np.float32)
        for feed, want in (({"x": x}, [1, 2]), ({"x": x, "w": w}, [7, 8]), ({"x": x}, [1, 2])):
            self.assertEqual(session.run(None, feed)[0].tolist(), want)


if __name__ == "__main__":
    unittest.main()
