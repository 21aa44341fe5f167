#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times sorts, TopK, argmax and cumulative sums of Millrace, NumPy, ONNX Runtime and PyTorch on one core.

    python3 -m venv peers && peers/bin/pip install numpy onnx onnxruntime torch
    peers/bin/python bench/python_peers.py --build build/release [--cpu 1] [--filter TEXT]

Our times come from sort_bench, topk_bench and scan_bench, which run each case next to the peers. All use 16 inputs in
turn; times are medians, in us. Packages that are not installed are left out. ONNX has no sort, so ONNX Runtime runs a
TopK of all elements.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import time
from dataclasses import dataclass

NUM_INPUTS = 16


@dataclass
class Case:
    op: str  # sort, argsort, topk, argmax or cumsum
    rows: int
    n: int
    k: int = 0
    dtype: str = "f32"

    def name(self):
        return f"{self.op} {self.dtype} {self.rows}x{self.n}" + (f" k {self.k}" if self.k else "")

    def ours(self):
        """The program and the name of its benchmark."""
        sizes = f"{self.rows}/{self.n}"
        if self.op == "topk":
            return "topk_bench", f"topk_ours/{sizes}/{self.k}/random"
        if self.op in ("argmax", "cumsum"):
            return "scan_bench", {"argmax": "argmax_ours", "cumsum": "cumulative_sum_ours"}[self.op] + "/" + sizes
        return "sort_bench", f"{self.op}_ours/{self.dtype}/{sizes}/random"


MILLION = 1_000_000
ROWS = [(4096, 256), (4096, 512), (1024, 1024), (1, 10_000), (1, MILLION), (1, 10 * MILLION)]
CASES = [
    *(Case("sort", rows, n) for rows, n in ROWS),
    *(Case("sort", 1, MILLION, dtype=dtype) for dtype in ("i32", "i64", "u64", "f64", "f16", "bf16", "u8", "i8")),
    *(Case("argsort", 1, n) for n in (10_000, 100_000, MILLION)),
    Case("argsort", 1, MILLION, dtype="i64"),
    Case("topk", 1, 32000, 50),
    Case("topk", 128, 32000, 50),
    Case("topk", 1, 151936, 50),
    Case("topk", 1, MILLION, 100),
    Case("topk", 4096, 256, 8),
    Case("topk", 1, 8400, 300),
    Case("topk", 1, MILLION, 5000),
    Case("argmax", 128, 1024),
    Case("argmax", 4096, 1024),
    Case("cumsum", 1, MILLION),
    Case("cumsum", 4096, 1024),
]
DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i32": "int32", "i64": "int64", "u64": "uint64",
          "u8": "uint8", "i8": "int8"}


def make_inputs(case):
    random = numpy.random.default_rng(1)
    shape = (case.rows, case.n)
    dtype = numpy.dtype(DTYPES.get(case.dtype, "float32"))
    if dtype.kind == "f":
        return [random.standard_normal(shape, dtype="float32").astype(dtype) for _ in range(NUM_INPUTS)]
    return [numpy.frombuffer(random.bytes(case.rows * case.n * dtype.itemsize), dtype).reshape(shape)
            for _ in range(NUM_INPUTS)]


def numpy_topk(x, k):
    first = numpy.argpartition(x, x.shape[1] - k, axis=1)[:, -k:]
    values = numpy.take_along_axis(x, first, 1)
    order = numpy.argsort(-values, axis=1)
    return numpy.take_along_axis(values, order, 1), numpy.take_along_axis(first, order, 1)


def numpy_calls(case, inputs):
    """One call per input, or None if the package does not support the case."""
    if case.dtype == "bf16":
        return None
    call = {"sort": lambda x: numpy.sort(x, axis=1),
            "argsort": lambda x: numpy.argsort(x, axis=1, kind="stable"),
            "topk": lambda x: numpy_topk(x, case.k),
            "argmax": lambda x: numpy.argmax(x, axis=1),
            "cumsum": lambda x: numpy.cumsum(x, axis=1)}[case.op]
    return [lambda x=x: call(x) for x in inputs]


def torch_calls(case, inputs):
    if case.dtype == "u64":
        return None
    call = {"sort": lambda x: torch.sort(x, dim=1),
            "argsort": lambda x: torch.argsort(x, dim=1, stable=True),
            "topk": lambda x: torch.topk(x, case.k, dim=1),
            "argmax": lambda x: torch.argmax(x, dim=1),
            "cumsum": lambda x: torch.cumsum(x, dim=1)}[case.op]
    tensors = [torch.from_numpy(x.copy()) for x in inputs]
    if case.dtype == "bf16":
        tensors = [x.bfloat16() for x in tensors]
    return [lambda x=x: call(x) for x in tensors]


def onnx_model(case, element_type):
    helper, shape = onnx.helper, (case.rows, case.n)
    constants, outputs = [], [("y", element_type, shape)]
    if case.op == "argmax":
        node = helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
        outputs = [("y", onnx.TensorProto.INT64, (case.rows,))]
    elif case.op == "cumsum":
        node = helper.make_node("CumSum", ["x", "axis"], ["y"])
        constants = [helper.make_tensor("axis", onnx.TensorProto.INT64, [], [1])]
    else:
        k = case.k or case.n
        node = helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=1, largest=int(case.op == "topk"))
        constants = [helper.make_tensor("k", onnx.TensorProto.INT64, [1], [k])]
        outputs = [("y", element_type, (case.rows, k)), ("i", onnx.TensorProto.INT64, (case.rows, k))]
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", element_type, shape)],
                              [helper.make_tensor_value_info(*output) for output in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def onnxruntime_calls(case, inputs):
    if case.dtype == "bf16":
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    model = onnx_model(case, onnx.helper.np_dtype_to_tensor_dtype(inputs[0].dtype))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # ONNX Runtime has no kernel for the dtype
        return None
    calls = []
    outputs = [numpy.empty(output.shape, "int64" if "int64" in output.type else inputs[0].dtype)
               for output in session.get_outputs()]
    for x in inputs:
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
        for place, output in zip(outputs, session.get_outputs()):
            binding.bind_output(output.name, "cpu", 0, place.dtype, place.shape, place.ctypes.data)
        # Bindings do not own the memory that they point to.
        calls.append(lambda binding=binding, owned=(x, outputs): session.run_with_iobinding(binding))
    return calls


def median_us(calls, seconds):
    """Times calls one by one, after one round that is not timed."""
    times, end = [], None
    for iteration in range(10**6):
        if iteration == min(NUM_INPUTS, 4):
            end = time.perf_counter() + seconds
        if end and time.perf_counter() > end and len(times) >= 5:
            break
        start = time.perf_counter_ns()
        calls[iteration % NUM_INPUTS]()
        if end:
            times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def ours_us(case, build, repetitions):
    program, name = case.ours()
    command = [os.path.join(build, "bench", program), f"--benchmark_filter=^{re.escape(name)}$",
               "--benchmark_format=json", f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.1"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
    times = [run["real_time"] * scale[run["time_unit"]] for run in report["benchmarks"]
             if run["run_type"] == "iteration"]
    return statistics.median(times)


def measure(case, arguments, peers):
    inputs = make_inputs(case)
    times = {"ours": ours_us(case, arguments.build, arguments.repetitions)}
    for name, calls_of in peers.items():
        calls = calls_of(case, inputs)
        times[name] = median_us(calls, arguments.seconds) if calls else None
    return times


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where bench/ was built")
    parser.add_argument("--cpu", type=int, default=1, help="the core that everything runs on")
    parser.add_argument("--filter", default="", help="a regular expression that names of cases match")
    parser.add_argument("--repetitions", type=int, default=5, help="how often our benchmark of a case is repeated")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each peer is measured per case")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.cpu})

    peers = {"NumPy": numpy_calls}
    if onnxruntime:
        peers["ONNX Runtime"] = onnxruntime_calls
    if torch:
        torch.set_num_threads(1)
        peers["PyTorch"] = torch_calls
    versions = [f"{name} {package.__version__}" for name, package in
                (("NumPy", numpy), ("ONNX Runtime", onnxruntime), ("PyTorch", torch)) if package]
    print(", ".join(versions) + "; times in us, and in parentheses the ratio to our time\n")
    print_row(["case", "ours", *peers])
    print_row(["---"] * (2 + len(peers)))
    for case in CASES:
        if not re.search(arguments.filter, case.name()):
            continue
        times = measure(case, arguments, peers)
        cells = [f"{times[name]:.1f} ({times[name] / times['ours']:.2f})" if times[name] else "-" for name in peers]
        print_row([case.name(), f"{times['ours']:.1f}", *cells])


def load(name):
    try:
        return __import__(name)
    except ImportError:
        return None


# Set before NumPy reads them: one thread, and the kernels that NumPy's own libraries choose for this processor.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)
numpy, onnx, onnxruntime, torch = (load(name) for name in ("numpy", "onnx", "onnxruntime", "torch"))
if __name__ == "__main__":
    main()
