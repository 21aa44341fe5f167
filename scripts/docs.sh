#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the reference from the headers' comments: build/docs/html/index.html. A warning of Doxygen is an error.
# Needs Debian's package doxygen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v doxygen >/dev/null; then
  echo "docs: doxygen is missing; install Debian's package of that name" >&2
  exit 1
fi
mkdir -p build
doxygen docs/Doxyfile
echo "docs: build/docs/html/index.html"
