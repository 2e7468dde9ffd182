"""One fixture: a converted model, inputs, and the library's own answers, in one .npz archive.

Members: `model` (the bytes of the .onnx file), `in_0`, `in_1`, ... (a map: `in_0_keys` and
`in_0_values`), `out_0`, ... (a sequence of maps by ZipMap: the matrix, and `out_1_keys`), and
`wrong`: rows on which the file itself differs from the library, by the converter's rounding."""
import io
import pathlib
import re
import warnings
import zipfile

import numpy as np
import onnx
import onnx.reference
import onnxruntime

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)

STRICT = 1e-5  # the relative error that needs no reason


class Case:
    """`outputs`: per output of the model the library's answer, or None where it has none.
    `limits`: per output "=" (the same bits), or the largest relative error."""

    def __init__(self, name, source, model, inputs, outputs, limits=None, reason="",
                 zipmap=()):
        self.name, self.source, self.model = name, source, _plain(model)
        self.inputs = [np.asarray(x) if not isinstance(x, dict) else x for x in inputs]
        self.zipmap = dict(zipmap)
        self.limits = limits or [STRICT] * len(outputs)
        self.reason, self.wrong, self.other_shape = reason, None, False
        self.rival, self.second = self._ask_rival(), self._ask_reference()
        self.outputs = [None if y is None else self._fit(i, y) for i, y in enumerate(outputs)]

    def _ask_rival(self):
        """ONNX Runtime's answers, or its refusal. Where it refuses because the converter declares
        double for an output that an operator of ai.onnx.ml gives as float, the declaration is
        mended: that is what a user of the file must do too."""
        for _ in range(len(self.model.graph.output) + 1):
            try:
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                session = onnxruntime.InferenceSession(
                    self.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
                feeds = {i.name: x for i, x in zip(session.get_inputs(), self.inputs)}
                return session.run(None, feeds)
            except Exception as fault:  # noqa: BLE001 - any refusal is reported, none is ours
                text = str(fault).splitlines()[0]
                if not self._mend(text):
                    return text[:200]
        return "refused"

    def _mend(self, text):
        found = re.search(r"of output arg \((\w+)\) .* expected type \(tensor\((\w+)\)\)", text)
        for output in self.model.graph.output:
            if found and output.name == found[1]:
                number = {"float": 1, "double": 11, "int64": 7, "string": 8}[found[2]]
                output.type.tensor_type.elem_type = number
                return True
        return False

    def _ask_reference(self):
        """The answers of onnx's own evaluator: a second reading of the file, or None."""
        try:
            names = [i.name for i in self.model.graph.input]
            return onnx.reference.ReferenceEvaluator(self.model).run(
                None, dict(zip(names, self.inputs)))
        except Exception:  # noqa: BLE001 - it has no operators of other domains, and its faults
            return None

    def _fit(self, index, y):
        """The library's answer in the type and shape that the model declares."""
        info = self.model.graph.output[index].type
        y = np.asarray(y.todense() if hasattr(y, "todense") else y)
        if index in self.zipmap:
            return y.astype(np.float32)
        if info.HasField("sequence_type"):
            item = self.rival[index][0] if isinstance(self.rival, list) else np.float32(0)
            return y.astype(item.dtype)
        number = info.tensor_type.elem_type
        if number == onnx.TensorProto.STRING:
            y = y.astype(str)
        else:
            y = y.astype(onnx.helper.tensor_dtype_to_np_dtype(number))
        return _shaped(y, self._shape(index, info))

    def _shape(self, index, info):
        for answers in (self.rival, self.second):
            if isinstance(answers, list) and hasattr(answers[index], "shape"):
                return answers[index].shape
        return [d.dim_value for d in info.tensor_type.shape.dim]

    # ---- judging ----

    def _errors(self, answers):
        """Per output the error of every row of a reading of the file: 0 or infinite for labels;
        None where its shape is another."""
        errors = []
        for i, y in enumerate(self.outputs):
            if y is None:
                continue
            got = answers[i]
            if i in self.zipmap:
                got = np.array([[row[k] for k in self.zipmap[i]] for row in got], y.dtype)
            got = np.stack(got) if isinstance(got, list) else np.asarray(got)
            if got.size != y.size:
                return None
            got, rows = got.reshape(y.shape), len(y)
            if y.dtype.kind in "USOib":
                error = np.where(got.astype(y.dtype) == y, 0.0, np.inf)
            else:
                error = relative_error(got, y)
                if self.limits[i] == "=":
                    error = np.where((got == y) | (np.isnan(got) & np.isnan(y)), 0.0, np.inf)
            if y.ndim == 3 and rows < y.shape[1]:  # [outputs, rows, classes]
                error = error.max(axis=(0, 2))
            errors.append(error.reshape(len(error), -1).max(axis=1, initial=0))
        return errors

    def judge(self):
        """Rows that every reading of the file answers otherwise than the library: there the file
        is wrong. Returns the text of the report."""
        readings = {"ORT": self.rival, "reference": self.second}
        text, bad = [], []
        self.bad = {}
        for name, answers in readings.items():
            if not isinstance(answers, list):
                text.append(f"{name}: {'none' if answers is None else answers}")
                continue
            try:
                errors = self._errors(answers)
            except (ValueError, TypeError, KeyError) as fault:
                text.append(f"{name}: {fault}")
                continue
            if errors is None:
                self.other_shape = True
                text.append(f"{name}: other shapes")
                continue
            limits = [1 if x == "=" else x for x, y in zip(self.limits, self.outputs)
                      if y is not None]
            text.append(f"{name}: " + " ".join(f"{e.max(initial=0):.1e}" for e in errors))
            rows = max(len(e) for e in errors)
            self.bad[name] = np.any([e > x for e, x in zip(errors, limits) if len(e) == rows], axis=0)
            bad.append(self.bad[name])
        if bad and np.logical_and.reduce(bad).any():
            self.wrong = np.logical_and.reduce(bad)
            text.append(f"{self.wrong.sum()} of {len(self.wrong)} rows wrong in the file")
        return "; ".join(text)

    # ---- packing ----

    def write(self, folder):
        members = {"model": np.frombuffer(self.model.SerializeToString(), np.uint8)}
        for i, x in enumerate(self.inputs):
            if isinstance(x, dict):
                members[f"in_{i}_keys"] = np.array(list(x.keys()))
                members[f"in_{i}_values"] = np.array(list(x.values()), np.float32)
            else:
                members[f"in_{i}"] = x.astype(str) if x.dtype.kind in "OU" else x
        for i, y in enumerate(self.outputs):
            if y is not None:
                members[f"out_{i}"] = y
        for i, keys in self.zipmap.items():
            members[f"out_{i}_keys"] = np.array(keys)
        if self.wrong is not None:
            members["wrong"] = self.wrong
        path = pathlib.Path(folder) / f"{self.name}.npz"
        _pack(path, members)
        return path.stat().st_size

    def row(self):
        limits = " ".join(x if x == "=" else f"{x:g}" for x in self.limits)
        wrong = 0 if self.wrong is None else int(self.wrong.sum())
        return f"{self.name}\t{limits}\t{wrong}\t{self.reason}"


def relative_error(got, y):
    """Element by element: relative to the answer, or to 0.1 where that is smaller."""
    got, y = got.astype(np.float64), y.astype(np.float64)
    same = (got == y) | (np.isnan(got) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - y) / np.maximum(np.abs(y), 0.1))
    return np.where(np.isnan(error), np.inf, error)


def _shaped(y, shape):
    if 0 not in shape and y.size == np.prod(shape):
        return y.reshape(shape)
    if y.ndim == 1 and len(shape) == 2:
        if shape[1] == 2:
            return np.stack([-y, y], axis=1)  # a decision function of two classes
        return y.reshape(-1, 1)
    return y


def _plain(model):
    """Names and notes of the converter's own run left out: the same file whenever it is made."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.doc_string = ""
    copy.graph.doc_string = ""
    copy.graph.name = "fixture"
    del copy.metadata_props[:]
    return copy


def _pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in members.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data.getvalue(), compresslevel=9)
