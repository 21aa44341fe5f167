#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports the tests of libonnx-testdata with symbols in place of sizes, and compares them with ONNX Runtime at the
given and at two other sizes. Prints a section of docs/onnx_report.md.

    python3 -m venv onnx && onnx/bin/pip install onnx onnxruntime
    onnx/bin/python scripts/onnx_symbolic.py --build build/release --work /tmp/onnx_symbolic >> docs/onnx_report.md

Each distinct extent above 1 of a test's inputs is one symbol; other sizes change as many symbols as ONNX Runtime
allows. The elements of inputs are drawn anew from the values that the test has. Exits with 1 if a result differs, if
fewer than 650 tests are imported, or if fewer than 95 % of these are equal at all sizes.
"""
import argparse
import collections
import itertools
import os
import re
import shutil
import subprocess
import sys
import textwrap

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

DATA = "/usr/share/libonnx-testdata/data/node"
NUM_SIZES = 2
MAX_ELEMENTS = 1 << 20  # of an input, at the other sizes
onnxruntime.set_default_logger_severity(4)

Row = collections.namedtuple("Row", "name op result given dims reason")


class Reason:
    """Why a test that is imported is not compared at two other sizes, or not with ONNX Runtime. There are no others."""

    NO_EXTENT = "no input has an extent above 1"
    NO_ORACLE = "ONNX Runtime does not run the model"
    FIXED = "the values of inputs allow no two other sizes"
    OTHER_RESULT = "ONNX Runtime differs from onnx's reference evaluator, which is equal"
    FORBIDDEN = "a run refuses the sizes, which an attribute of the node forbids; ONNX Runtime does not"


def read_tensor(path):
    tensor = TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return tensor


def run_table(build, folder):
    """Name, op, result ("equal", "refused" or "DIFFERS"), inputs given, inputs that became dims, and reason."""
    environment = dict(os.environ, MILLRACE_ONNX_TESTS=folder)
    command = [os.path.join(build, "tests/test_onnx"), "--no-skip", "-tc=table: symbolic ONNX tests"]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
    line = r"^node/(\S+) \((\w*)\): (equal|refused|DIFFERS)(?:; given ([^;:\n]*))?(?:; dims ([^:\n]*))?(?:: (.*))?$"
    for name, op, result, given, dims, reason in re.findall(line, output, re.MULTILINE):
        names = lambda text: text.split(", ") if text else []
        yield Row(name, op, result, names(given), names(dims), reason)


def draw(given, shape, random):
    """Some of the given elements. Distinct integers stay distinct: a scatter must not name a place twice."""
    elements, count = given.ravel(), int(numpy.prod(shape))
    is_distinct = given.dtype.kind in "iu" and 1 < elements.size == len(set(elements.tolist()))
    if is_distinct and count > elements.size:
        first, has_zero = int(elements.min()), 0 in elements  # a divisor must not become 0
        elements = numpy.arange(first, max(int(elements.max()), first + count) + 1).astype(given.dtype)
        elements = elements if has_zero else elements[elements != 0]
    return random.choice(elements, shape, replace=not is_distinct).astype(given.dtype).reshape(shape)


class Test:
    """A test at the given size, and what ONNX Runtime computes at others."""

    def __init__(self, folder, given, dims):
        self.model = onnx.load(os.path.join(folder, "model.onnx"))
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        self.names = [info.name for info in self.model.graph.input if info.name not in initialized]
        data = os.path.join(folder, "test_data_set_0")
        self.inputs = {}
        for i, name in enumerate(self.names):
            path = os.path.join(data, f"input_{i}.pb")
            if os.path.exists(path):
                self.inputs[name] = numpy_helper.to_array(read_tensor(path))
        self.dims = [name for name in self.inputs if name in dims]
        self.kept = set(given) | set(dims)
        extents = {extent for name in self.inputs if name not in self.kept for extent in self.inputs[name].shape}
        extents |= {int(extent) for name in self.dims for extent in self.inputs[name].ravel()}
        self.extents = sorted(extent for extent in extents if extent > 1)
        self.session = None

    def has_declared_dtypes(self):
        """Data of bf16 are u16, which neither oracle takes."""
        declared = {info.name: info.type.tensor_type.elem_type for info in self.model.graph.input}
        return all(helper.np_dtype_to_tensor_dtype(given.dtype) == declared[name]
                   for name, given in self.inputs.items())

    def open_session(self):
        """Dims get names, so that ONNX Runtime takes every size."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        del model.graph.value_info[:]
        for info in model.graph.input:
            if info.name in self.names and info.name not in self.kept:
                for dim in info.type.tensor_type.shape.dim:
                    if dim.dim_value > 1:
                        dim.dim_param = f"d{dim.dim_value}"
        for info in model.graph.output:
            info.type.tensor_type.ClearField("shape")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                    providers=["CPUExecutionProvider"])

    def other_extents(self):
        """Extents by given extent: first all others, then fewer, then the given ones in another order."""
        changes = [lambda e: e + 3, lambda e: 2 * e, lambda e: 3 * e, lambda e: e + 1, lambda e: e - 1]
        seen = set()
        for count in range(len(self.extents), 0, -1):
            for chosen in itertools.combinations(self.extents, count):
                for change in changes:
                    extents = {e: change(e) if e in chosen else e for e in self.extents}
                    key = tuple(extents.values())
                    if min(key) > 0 and key not in seen and len(seen) < 400:
                        seen.add(key)
                        yield extents
        for order in itertools.islice(itertools.permutations(self.extents), 1, 120):
            yield dict(zip(self.extents, order))

    def new_inputs(self, extents, random):
        """Elements drawn from those of the test. The elements of inputs that became dims change as the extents do."""
        inputs = {}
        for name, given in self.inputs.items():
            if name in self.dims:
                inputs[name] = numpy.array([extents.get(e, e) for e in given.ravel()], given.dtype).reshape(given.shape)
            elif name in self.kept:
                inputs[name] = given
            else:
                shape = [extents.get(e, e) for e in given.shape]
                if numpy.prod(shape) > MAX_ELEMENTS:
                    return None
                if given.size == 0:
                    given = numpy.zeros(1, given.dtype)
                inputs[name] = draw(given, shape, random)
        return inputs

    def run(self, inputs):
        names = {info.name for info in self.session.get_inputs()}
        return self.session.run(None, {name: value for name, value in inputs.items() if name in names})


    def refer(self, inputs):
        """What onnx's reference evaluator computes."""
        return ReferenceEvaluator(self.model).run(None, inputs)


def write_tensors(folder, kind, tensors):
    os.makedirs(folder, exist_ok=True)
    for i, tensor in enumerate(tensors):
        with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as file:
            file.write(numpy_helper.from_array(numpy.asarray(tensor)).SerializeToString())


def write_sizes(folder, given, dims, oracle):
    """Adds the data sets of the other sizes. Returns why there are none; empty if there are."""
    test = Test(folder, given, dims)
    if not test.extents:
        return Reason.NO_EXTENT
    if not test.has_declared_dtypes():
        return Reason.NO_ORACLE
    try:
        if oracle == "onnxruntime":
            test.open_session()
        compute = test.run if oracle == "onnxruntime" else test.refer
        compute(test.inputs)
    except Exception:  # the packages have exceptions of several kinds, and no common one
        return Reason.NO_ORACLE
    random = numpy.random.default_rng(7)
    written = 0
    for extents in test.other_extents():
        inputs = test.new_inputs(extents, random)
        if inputs is None:
            continue
        try:
            outputs = compute(inputs)
        except Exception:
            continue
        written += 1
        data = os.path.join(folder, f"test_data_set_{written}")
        write_tensors(data, "input", [inputs[name] for name in test.names if name in inputs])
        write_tensors(data, "output", outputs)
        if written == NUM_SIZES:
            return ""
    return Reason.FIXED


class Work:
    """Copies of tests in one folder, with the sizes that an oracle computes."""

    def __init__(self, arguments, folder):
        self.build, self.folder = arguments.build, os.path.join(arguments.work, folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "node"))

    def path(self, name):
        return os.path.join(self.folder, "node", name)

    def add(self, names):
        for name in names:
            shutil.copytree(os.path.join(DATA, name), self.path(name))

    def table(self):
        return {row.name: row for row in run_table(self.build, self.folder)}


def compare(arguments):
    """The row of each test, and why it has no other size, or none that ONNX Runtime agrees with."""
    work = Work(arguments, "onnxruntime")
    work.add(os.listdir(DATA))
    given = {name: row for name, row in work.table().items() if row.result == "equal"}
    reasons = {name: write_sizes(work.path(name), row.given, row.dims, "onnxruntime") for name, row in given.items()}
    rows = work.table()
    # The second oracle decides where ONNX Runtime has no result, or another one.
    again = [name for name, row in rows.items() if row.result == "DIFFERS" or reasons.get(name) == Reason.NO_ORACLE]
    reference = Work(arguments, "reference")
    reference.add(again)
    for name in again:
        missing = write_sizes(reference.path(name), rows[name].given, rows[name].dims, "reference")
        if missing and reasons.get(name) != Reason.NO_ORACLE:
            shutil.rmtree(reference.path(name))
    for name, row in reference.table().items():
        if row.result == "equal" and reasons[name] != Reason.NO_ORACLE:
            rows[name], reasons[name] = row, Reason.OTHER_RESULT
        elif row.result == "DIFFERS":
            rows[name] = row
    for name, row in rows.items():
        if row.result == "DIFFERS" and re.search(r": run: .* needs .*; bind other sizes$", row.reason):
            rows[name], reasons[name] = row._replace(result="equal"), Reason.FORBIDDEN
    return rows, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--work", required=True, help="a folder for the tests with their other sizes")
    arguments = parser.parse_args()
    rows, reasons = compare(arguments)
    counts = collections.Counter()
    lines = []
    for name, row in sorted(rows.items()):
        reason = reasons.get(name, "")
        kind = row.result if row.result != "equal" else reason or "equal"
        counts[kind] += 1
        if kind not in ("equal", "refused"):
            lines.append(f"| {name} | {kind}{': ' + row.reason if row.result == 'DIFFERS' else ''} |")
    imported = sum(counts.values()) - counts["refused"]
    print("## Symbols in place of sizes\n")
    share = counts["equal"] / imported
    text = (f"Of {len(rows)} tests of libonnx-testdata, {imported} are imported with one symbol per distinct extent "
            f"above 1, and are equal at the given size. Of these, {counts['equal']} ({share:.1%}) are equal to ONNX "
            f"Runtime {onnxruntime.__version__} at two other sizes too; the table has the rest. "
            "`tests/graph/import/onnx/suite/golden/symbolic_refusals.txt` lists the tests that are not imported so.")
    print(textwrap.fill(text, 120) + "\n")
    print("| test | why it is not equal at two other sizes |\n|---|---|")
    print("\n".join(lines))
    sys.exit(1 if counts["DIFFERS"] or imported < 650 or share < 0.95 else 0)


if __name__ == "__main__":
    main()
