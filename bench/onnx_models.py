#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times trained models in ONNX files by Millrace and by ONNX Runtime, one after the other, with 1 and 2 threads.

    python3 -m venv peers && peers/bin/pip install numpy onnxruntime
    MILLRACE_MODELS=FOLDER peers/bin/python bench/onnx_models.py --build build/release > table.md

Inputs are the recorded ones in the folder's ref/. Times are medians in us; "peer is" above 1 means that ONNX Runtime
takes longer. If a model cannot be imported, its row shows the first reason.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

# Inputs whose values decide what the model computes.
VALUES = {"sr": "16000"}


def read_inputs(folder, name):
    """The recorded inputs of a model, or None."""
    for reference in (f"{name}.onnx", name):
        path = os.path.join(folder, "ref", reference)
        if not os.path.exists(path + ".json"):
            continue
        with open(path + ".json", encoding="utf-8") as file:
            described = json.load(file)["inputs"]
        return {
            key: numpy.fromfile(f"{path}.in.{key.replace(':', '_')}.bin", value.get("dtype") or value["type"])
            .reshape(value.get("shape", value.get("dims")))
            for key, value in described.items()
        }
    return None


def peer_us(path, inputs, threads, seconds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter_ns()
        session.run(None, inputs)
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def ours_us(tool, path, inputs, threads, scratch):
    """The median, or the reason why the model is not imported."""
    graph = os.path.join(scratch, "model.mr")
    values = [f"--set={key}={VALUES[key]}" for key in inputs if key in VALUES]
    imported = subprocess.run([tool, "import", path, "-o", graph, *values], capture_output=True, text=True, check=False)
    if imported.returncode:
        lines = imported.stderr.strip().splitlines()
        return lines[1].strip() if len(lines) > 1 else lines[0]
    command = [tool, "bench", graph, f"--device=cpu:threads={threads}", "--benchmark_repetitions=5",
               "--benchmark_format=json"]
    for i, (key, value) in enumerate(inputs.items()):
        if key not in VALUES:
            file = os.path.join(scratch, f"{i}.npy")
            numpy.save(file, value)
            command.append(f"--input={key}=@{file}")
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return run.stderr.strip()
    scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
    return statistics.median(row["real_time"] * scale[row["time_unit"]] for row in json.loads(run.stdout)["benchmarks"]
                             if row["run_type"] == "iteration")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seconds", type=float, default=1, help="how long the peer runs each model")
    arguments = parser.parse_args()
    folder = os.environ.get("MILLRACE_MODELS")
    if not folder:
        sys.exit("onnx_models: MILLRACE_MODELS is not set; set it to a folder of models")
    tool = os.path.join(arguments.build, "tools/millrace/millrace")
    print(f"ONNX Runtime {onnxruntime.__version__}\n\n| model | threads | ours | ONNX Runtime | peer is |")
    print("|---|---|---|---|---|")
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        name = os.path.basename(path)[:-len(".onnx")]
        inputs = read_inputs(folder, name)
        if inputs is None:
            print(f"| {name} | | no recorded inputs | | |")
            continue
        for threads in (1, 2):
            with tempfile.TemporaryDirectory() as scratch:
                ours = ours_us(tool, path, inputs, threads, scratch)
            if isinstance(ours, str):
                print(f"| {name} | | {ours} | | |", flush=True)
                break
            peer = peer_us(path, inputs, threads, arguments.seconds)
            print(f"| {name} | {threads} | {ours:.1f} | {peer:.1f} | {peer / ours:.2f} x |", flush=True)


if __name__ == "__main__":
    main()
