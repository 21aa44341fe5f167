#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the newest onnx package with Millrace, and prints a table by op: passed, refused, failed.

    python3 -m venv onnx && onnx/bin/pip install onnx
    onnx/bin/python scripts/onnx_report.py --build build/release --tests /tmp/onnx_tests > docs/onnx_report.md

The package makes its tests in about ten minutes; they stay in the folder of --tests. Tests whose inputs or outputs are
sequences, optionals or maps are written without data: the importer has to refuse them. Exits with 1 if a test fails, or
has no result because the program ended early.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import textwrap


def write_tests(folder):
    """One folder per test, as libonnx-testdata has them."""
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case.node import collect_testcases

    def write_tensors(path, kind, values, infos):
        for i, (value, info) in enumerate(zip(values, infos)):
            if not info.type.HasField("tensor_type"):
                continue
            tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value, info.name)
            with open(os.path.join(path, f"{kind}_{i}.pb"), "wb") as file:
                file.write(tensor.SerializeToString())

    for case in collect_testcases(None):
        path = os.path.join(folder, "node", case.name)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "model.onnx"), "wb") as file:
            file.write(case.model.SerializeToString())
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = os.path.join(path, f"test_data_set_{i}")
            os.makedirs(data, exist_ok=True)
            write_tensors(data, "input", inputs, case.model.graph.input)
            write_tensors(data, "output", outputs, case.model.graph.output)


# What the program prints after the test's name, and the column of the table.
KINDS = {"passed": "passed", "passed, given": "with values given", "inexact record": "within an ulp",
         "random": "random", "refused": "refused", "FAILED": "failed"}


def run_tests(build, folder):
    """Name, op, column and reason of each test."""
    environment = dict(os.environ, MILLRACE_ONNX_TESTS=folder)
    command = [os.path.join(build, "tests/test_onnx"), "--no-skip", "-tc=table: ONNX tests"]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
    line = rf"^node/(\S+) \((\w*)\): ({'|'.join(sorted(KINDS, key=len, reverse=True))}):? ?(.*)$"
    for name, op, kind, rest in re.findall(line, output, re.MULTILINE):
        yield name, op, KINDS[kind], rest


def is_plain(folder, name):
    """Whether the test has only tensors of dtypes that Millrace has, and ops of the default domain."""
    import onnx
    from onnx import TensorProto

    dtypes = {TensorProto.DataType.Value(dtype) for dtype in (
        "FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16",
        "UINT32", "UINT64")}
    graph = onnx.load(os.path.join(folder, "node", name, "model.onnx")).graph
    values = list(graph.input) + list(graph.output)
    return all(value.type.tensor_type.elem_type in dtypes for value in values) and all(
        node.domain in ("", "ai.onnx") for node in graph.node)


def without_names(reason):
    """The reason without what differs from test to test: the node's path and name."""
    reason = re.sub(r"graph\.[^:]*?\('?[^)]*\)", "node", reason)
    return re.sub(r"'[^']*'", "'..'", reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--tests", required=True, help="where the tests are, or are written to")
    arguments = parser.parse_args()
    if not os.path.isdir(os.path.join(arguments.tests, "node")):
        write_tests(arguments.tests)
    import onnx

    rows = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(collections.Counter)
    plain = collections.Counter()
    for name, op, kind, reason in run_tests(arguments.build, arguments.tests):
        rows[op][kind] += 1
        plain[kind] += is_plain(arguments.tests, name)
        if kind in ("refused", "failed"):
            reasons[op][f"{kind}: {without_names(reason)}"] += 1
    total = sum(rows.values(), collections.Counter())
    num_tests = len(os.listdir(os.path.join(arguments.tests, "node")))
    print(f"# The tests of onnx {onnx.__version__}\n")
    write = lambda text: print(textwrap.fill(text, 120) + "\n")
    passed = total["passed"] + total["with values given"]
    plain_passed = sum(plain.values()) - plain["refused"] - plain["failed"] - plain["random"]
    write(f"{num_tests} tests: {passed} passed, {total['with values given']} of them with the values of inputs that "
          f"shapes need; {total['within an ulp']} agree within an ulp of the largest element, where the expected "
          f"elements are not exact; {total['random']} draw random numbers of the right type; {total['refused']} are "
          f"refused, {total['failed']} failed.")
    write(f"{sum(plain.values())} of them have only tensors of dtypes that Millrace has, and ops of the default "
          f"domain: {plain_passed} passed, {plain['random']} random, {plain['refused']} refused, {plain['failed']} "
          "failed. `several` are models with more than one node.")
    columns = list(KINDS.values())
    print(f"| op | {' | '.join(columns)} | why |\n|{'---|' * (len(columns) + 2)}")
    for op in sorted(rows):
        counts = " | ".join(str(rows[op][column]) for column in columns)
        why = "; ".join(f"{reason} ({count})" for reason, count in reasons[op].most_common(3)).replace("|", "\\|")
        print(f"| {op} | {counts} | {why} |")
    if sum(total.values()) != num_tests:
        sys.exit(f"onnx_report: {sum(total.values())} of {num_tests} tests have a result; is test_onnx built?")
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
