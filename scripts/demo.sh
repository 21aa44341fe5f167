#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds the handwritten-digits example, and runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
echo "demo: configuring"
cmake --preset release
echo "demo: building"
cmake --build --preset release --target digits
echo "demo: running"
build/release/examples/digits/digits examples/digits/digits.safetensors
