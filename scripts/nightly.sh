#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that take too long for every commit; scripts/test.sh nightly calls it. Continues after a part that
# fails, and prints the result and the time of each part at the end.
# usage: scripts/nightly.sh [part...]   matrix, graphs, onnx, no_llvm, clang, asan, fuzz, tsan; default: all of them
# MILLRACE_FUZZ_SECONDS is the time for each fuzzer; default: 600.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build() {  # preset, targets
  cmake --preset "$1"
  cmake --build --preset "$1" ${2:+--target "${@:2}"}
}

# Every test case that .ci/run takes in turns, and the whole matrices of kernel, target and dtype, as machine code of the
# host and as executed machine code of GPUs; long sums, with 10^8 terms on the host and 10^6 on each GPU; and memory that
# runs out inside LLVM, at many places. .ci/run takes only a slice of these.
part_matrix() {
  build release
  local program failed=0
  for program in test_ops test_jit test_graph test_hal test_onnx llvm_link/test_llvm_link llvm_memory/test_llvm_memory \
    tools/test_tools; do
    MILLRACE_SLICE=0/1 "build/release/tests/$program" || failed=1
  done
  return $failed
}

# Thousands of random graphs on the host, on simulated GPUs and as executed machine code of each GPU, and 100,000 random
# sorts; and an application that builds Millrace as a part of itself.
part_graphs() {
  build release random_graphs random_sorts
  ctest --test-dir build/release -C long -L long --output-on-failure --no-tests=error --parallel "$(nproc)"
}

# The tests of the newest onnx package, none of which may fail; made anew each time. Then those of libonnx-testdata with
# symbols in place of sizes, against ONNX Runtime.
part_onnx() {
  build release test_onnx
  rm -rf build/onnx_tests
  python3 -m venv build/onnx_python
  build/onnx_python/bin/pip install --quiet onnx onnxruntime
  build/onnx_python/bin/python scripts/onnx_report.py --build build/release --tests build/onnx_tests
  build/onnx_python/bin/python scripts/onnx_symbolic.py --build build/release --work build/onnx_symbolic
}

part_no_llvm() { scripts/test.sh no_llvm; }
part_clang() { scripts/test.sh clang; }
# With all slices of the tests that .ci/run tests one slice at a time.
part_asan() { MILLRACE_SLICE=0/1 scripts/test.sh asan; }

# Copies the models of libonnx-testdata into one folder, as a fuzzer takes them, and prints its name.
collect_onnx_models() {
  local folder=build/fuzz/onnx_models model
  mkdir -p "$folder"
  for model in /usr/include/onnx/backend/test/data/node/*/model.onnx; do
    cp "$model" "$folder/$(basename "$(dirname "$model")").onnx"
  done
  echo "$folder"
}

part_fuzz() {
  build fuzz
  local format
  for format in graph_text npy safetensors onnx; do
    local corpus=("tests/fuzz/corpus/$format")
    if [[ $format == onnx ]]; then corpus+=("$(collect_onnx_models)"); fi
    mkdir -p "build/fuzz/found/$format"
    "build/fuzz/tests/fuzz/fuzz_$format" -max_total_time="${MILLRACE_FUZZ_SECONDS:-600}" -print_final_stats=1 \
      -artifact_prefix="build/fuzz/found/" "build/fuzz/found/$format" "${corpus[@]}"
  done
}

# The code in which threads interact: the layers below the code generators, and whole graphs.
part_tsan() {
  build tsan test_base test_hal test_graph
  ctest --test-dir build/tsan -R '^(base|hal|graph)$' --output-on-failure --no-tests=error
  build stress stress
  build/stress/tests/stress/stress --seconds 600
}

parts=("$@")
((${#parts[@]})) || parts=(matrix graphs onnx no_llvm clang asan fuzz tsan)
for part in "${parts[@]}"; do
  if ! declare -F "part_$part" >/dev/null; then
    echo "nightly: found part '$part', expected matrix, graphs, onnx, no_llvm, clang, asan, fuzz or tsan" >&2
    exit 2
  fi
done

scripts/setup.sh
report=()
failed=0
for part in "${parts[@]}"; do
  echo "nightly: $part"
  start=$SECONDS
  # In a shell of its own, because bash ignores errexit in a function that is called in a condition.
  functions=$(declare -f build collect_onnx_models "part_$part")
  bash -euo pipefail -c "$functions; part_$part" && result=passed || { result=FAILED failed=1; }
  report+=("nightly: $part $result after $((SECONDS - start)) s")
done
printf '%s\n' "${report[@]}"
exit "$failed"
