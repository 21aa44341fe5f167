#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds everything, and runs every test.
# usage: scripts/test.sh [preset]            release (default), clang, no_llvm, debug, asan or tsan
#        scripts/test.sh nightly [part...]   the tests that take too long for every commit: all parts, or those named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}
if [[ $preset == nightly ]]; then
  exec scripts/nightly.sh "${@:2}"
fi

scripts/setup.sh
echo "test: configuring ($preset)"
cmake --preset "$preset"
echo "test: building ($preset)"
cmake --build --preset "$preset"
echo "test: running ($preset)"
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$(nproc)"
