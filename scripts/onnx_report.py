#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the newest onnx package with Millrace, and prints a table by op: passed, refused, failed.

    python3 -m venv onnx && onnx/bin/pip install onnx
    onnx/bin/python scripts/onnx_report.py --build build/release --tests /tmp/onnx_tests > docs/onnx_report.md

The package makes its tests in about ten minutes; they stay in the folder of --tests. Tests whose inputs or outputs are
sequences, optionals or maps are written without data: the importer has to refuse them. Exits with 1 if a test fails.
"""
import argparse
import collections
import os
import re
import subprocess
import sys


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


def run_tests(build, folder):
    """Name, op, result ("passed", "given", "refused" or "failed") and reason of each test."""
    environment = dict(os.environ, MILLRACE_ONNX_TESTS=folder)
    command = [os.path.join(build, "tests/test_onnx"), "--no-skip", "-tc=table: ONNX tests"]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
    lines = re.findall(r"^node/(\S+) \((\w*)\): (passed|refused|FAILED)(?:, given|:)? ?(.*)$", output, re.MULTILINE)
    for name, op, result, rest in lines:
        kind = "given" if result == "passed" and rest else result.lower()
        yield name, op, kind, rest


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
    for _, op, kind, reason in run_tests(arguments.build, arguments.tests):
        rows[op][kind] += 1
        if kind in ("refused", "failed"):
            reasons[op][f"{kind}: {without_names(reason)}"] += 1
    total = sum(rows.values(), collections.Counter())
    if not total:
        sys.exit("onnx_report: no test ran; is test_onnx built?")
    print(f"# The tests of onnx {onnx.__version__}\n")
    print(f"{sum(total.values())} tests: {total['passed'] + total['given']} passed, {total['given']} of them with the "
          f"values of inputs that shapes need; {total['refused']} refused, {total['failed']} failed. `several` are "
          "models with more than one node.\n")
    print("| op | passed | with values given | refused | failed | why |\n|---|---|---|---|---|---|")
    for op in sorted(rows):
        row = rows[op]
        why = "; ".join(f"{reason} ({count})" for reason, count in reasons[op].most_common(3)).replace("|", "\\|")
        print(f"| {op} | {row['passed']} | {row['given']} | {row['refused']} | {row['failed']} | {why} |")
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
