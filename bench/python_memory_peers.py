#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times softmax, norms, elementwise functions, sums, moves and pools of Millrace, ONNX Runtime and PyTorch on one core.

    python3 -m venv peers && peers/bin/pip install numpy onnx onnxruntime torch
    peers/bin/python bench/python_memory_peers.py --build build/release [--cpu 1] [--filter TEXT]

Our times come from rows_bench and memory_bench. All use 16 inputs in turn and write to memory that exists; times are
medians, in us. Packages that are not installed are left out. PyTorch is held to AVX2 by ATEN_CPU_CAPABILITY=avx2.
"""
import argparse
import os
import re
from dataclasses import dataclass
from typing import Callable, Optional

import python_peers
from python_peers import NUM_INPUTS, median_us, numpy, onnx, onnxruntime, ours_us, print_row, torch


@dataclass
class Case:
    """`nodes` makes the nodes and constants of an ONNX graph from x to y; `call` is the same for PyTorch."""
    name: str
    shape: tuple
    nodes: Callable
    call: Optional[Callable]
    dtype: str = "f32"
    program: str = "memory_bench"

    def ours(self):
        return self.program, f"{self.name}_{self.dtype}/" + "x".join(map(str, self.shape))


def node(op, *constants, **attributes):
    """One node of x and constants, given as (name, values)."""
    def make():
        names = [name for name, _ in constants]
        tensors = [onnx.numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants]
        return [onnx.helper.make_node(op, ["x", *names], ["y"], **attributes)], tensors
    return make


def chain():
    make, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    constants = [array(numpy.float32(value), name) for name, value in
                 (("two", 2), ("one", 1), ("zero", 0), ("half", .5))]
    return [make("Mul", ["x", "two"], ["a"]), make("Add", ["a", "one"], ["b"]), make("Max", ["b", "zero"], ["c"]),
            make("Mul", ["c", "x"], ["d"]), make("Sub", ["d", "half"], ["y"])], constants


def gelu():
    return [onnx.helper.make_node("Gelu", ["x"], ["y"])], []


def twice(op, **attributes):
    return lambda: ([onnx.helper.make_node(op, ["x", "x"], ["y"], **attributes)], [])


def halves(n):
    return numpy.full(n, .5, "float32")


def cases():
    f = torch.nn.functional if torch else None
    half = (lambda n: torch.full((n,), .5)) if torch else None
    for rows in (128, 4096):
        shape, rows_bench = (rows, 1024), {"program": "rows_bench"}
        yield Case("softmax", shape, node("Softmax", axis=1), lambda x: torch.softmax(x, 1), **rows_bench)
        yield Case("layer_norm", shape, node("LayerNormalization", ("s", halves(1024)), ("b", halves(1024))),
                   lambda x: f.layer_norm(x, (1024,), half(1024), half(1024)), **rows_bench)
        yield Case("rms_norm", shape, node("RMSNormalization", ("s", halves(1024))),
                   lambda x: f.rms_norm(x, (1024,), half(1024)), **rows_bench)
        yield Case("add", shape, twice("Add"), lambda x: torch.add(x, x), **rows_bench)
        yield Case("exp", shape, node("Exp"), lambda x: torch.exp(x))
        yield Case("tanh", shape, node("Tanh"), lambda x: torch.tanh(x))
        yield Case("gelu", shape, gelu, lambda x: f.gelu(x))
        yield Case("sigmoid", shape, node("Sigmoid"), lambda x: torch.sigmoid(x))
        yield Case("erf", shape, node("Erf"), lambda x: torch.erf(x))
        yield Case("chain_of_five", shape, chain, lambda x: torch.clamp_min(x * 2 + 1, 0) * x - .5)
    million = (1000000,)
    yield Case("tan", million, node("Tan"), lambda x: torch.tan(x))
    yield Case("sin", million, node("Sin"), lambda x: torch.sin(x))
    yield Case("log", million, node("Log"), lambda x: torch.log(x))
    yield Case("softplus", million, node("Softplus"), lambda x: f.softplus(x))
    matrix = (4096, 1024)
    for name, axes in (("rows", [1]), ("columns", [0]), ("all", [0, 1])):
        yield Case(f"sum_{name}", matrix, node("ReduceSum", ("axes", axes), keepdims=0),
                   lambda x, axes=axes: torch.sum(x, axes))
    yield Case("max_rows", matrix, node("ReduceMax", ("axes", [1]), keepdims=0), lambda x: torch.amax(x, 1))
    yield Case("softmax_axis_1", (64, 512, 32), node("Softmax", axis=1), lambda x: torch.softmax(x, 1),
               program="rows_bench")
    yield Case("softmax", (65536, 8), node("Softmax", axis=1), lambda x: torch.softmax(x, 1), program="rows_bench")
    yield Case("softmax", (16384, 64), node("Softmax", axis=1), lambda x: torch.softmax(x, 1), program="rows_bench")
    for batch in (1, 32):
        yield Case("group_norm", (batch, 64, 56, 56),
                   node("GroupNormalization", ("s", halves(64)), ("b", halves(64)), num_groups=32),
                   lambda x: f.group_norm(x, 32, half(64), half(64)), program="rows_bench")
    yield from moves(f)


def moves(f):
    image, matrix = (1, 64, 112, 112), (4096, 1024)
    three = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    two = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield Case("max_pool_3x3_stride_2", image, node("MaxPool", **three), lambda x: f.max_pool2d(x, 3, 2, 1))
    yield Case("avg_pool_3x3_stride_2", image, node("AveragePool", **three),
               lambda x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
    yield Case("max_pool_2x2", image, node("MaxPool", **two), lambda x: f.max_pool2d(x, 2, 2))
    yield Case("avg_pool_2x2", image, node("AveragePool", **two), lambda x: f.avg_pool2d(x, 2, 2))
    scales = [("roi", numpy.empty(0, "float32")), ("scales", numpy.array([1, 1, 2, 2], "float32"))]
    yield Case("resize_2x_linear", image, node("Resize", *scales, mode="linear"),
               lambda x: f.interpolate(x, scale_factor=2, mode="bilinear"))
    yield Case("resize_2x_nearest", image,
               node("Resize", *scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                    nearest_mode="floor"),
               lambda x: f.interpolate(x, scale_factor=2, mode="nearest"))
    yield Case("pad", image, node("Pad", ("pads", [0, 0, 1, 1, 0, 0, 1, 1])), lambda x: f.pad(x, (1, 1, 1, 1)))
    yield Case("concat_channels", image, twice("Concat", axis=1), lambda x: torch.cat((x, x), 1))
    yield Case("concat_columns", matrix, twice("Concat", axis=1), lambda x: torch.cat((x, x), 1))
    yield Case("slice_columns", matrix, node("Slice", ("first", [8]), ("end", [1016]), ("axes", [1])),
               lambda x: x[:, 8:1016].contiguous())
    yield Case("to_channels_last", image, node("Transpose", perm=[0, 2, 3, 1]),
               lambda x: x.permute(0, 2, 3, 1).contiguous())
    yield Case("to_channels_first", (1, 112, 112, 64), node("Transpose", perm=[0, 3, 1, 2]),
               lambda x: x.permute(0, 3, 1, 2).contiguous())
    for dtype in ("u8", "f16", "f32", "f64"):
        for shape in (matrix, (1000, 1001)):
            yield Case("transpose", shape, node("Transpose", perm=[1, 0]), lambda x: x.t().contiguous(), dtype)


def make_inputs(case):
    random = numpy.random.default_rng(1)
    values = [random.standard_normal(case.shape, dtype="float32") for _ in range(NUM_INPUTS)]
    return [value.astype(python_peers.DTYPES[case.dtype]) for value in values]


def onnxruntime_calls(case, inputs):
    nodes, constants = case.nodes()
    element = onnx.helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    graph = onnx.helper.make_graph(nodes, "one", [onnx.helper.make_tensor_value_info("x", element, case.shape)],
                                   [onnx.helper.make_tensor_value_info("y", element, None)], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result = session.run(None, {"x": inputs[0]})[0]
    calls = []
    for x in inputs:
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
        binding.bind_output("y", "cpu", 0, result.dtype, result.shape, result.ctypes.data)
        # Bindings do not own the memory that they point to.
        calls.append(lambda binding=binding, owned=(x, result): session.run_with_iobinding(binding))
    return calls


def torch_calls(case, inputs):
    return [lambda x=torch.from_numpy(x.copy()): case.call(x) for x in inputs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where bench/ was built")
    parser.add_argument("--cpu", type=int, default=1, help="the core that everything runs on")
    parser.add_argument("--filter", default="", help="a regular expression that names of cases match")
    parser.add_argument("--repetitions", type=int, default=3, help="how often our benchmark of a case is repeated")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each peer is measured per case")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.cpu})
    peers = {}
    if onnxruntime:
        peers["ONNX Runtime"] = onnxruntime_calls
    if torch:
        torch.set_num_threads(1)
        peers["PyTorch"] = torch_calls
    print("times in us, and in parentheses the ratio to our time\n")
    print_row(["case", "ours", *peers])
    print_row(["---"] * (2 + len(peers)))
    for case in cases():
        name = case.ours()[1]
        if not re.search(arguments.filter, name):
            continue
        inputs = make_inputs(case)
        ours = ours_us(case, arguments.build, arguments.repetitions)
        times = [median_us(calls_of(case, inputs), arguments.seconds) for calls_of in peers.values()]
        print_row([name, f"{ours:.1f}", *(f"{time:.1f} ({time / ours:.2f})" for time in times)])


if __name__ == "__main__":
    main()
