#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that building and testing Millrace needs (Debian 12, as root or with sudo).
# Does nothing if they are all installed.
set -euo pipefail

packages=(
  # to build
  g++ cmake ninja-build ccache git
  libfmt-dev libxxhash-dev libxbyak-dev nlohmann-json3-dev libcli11-dev libprotozero-dev
  # an example's pictures
  libstb-dev
  # the LLVM code generator; its CMake files look for the last three
  llvm-19-dev liblld-19-dev libzstd-dev zlib1g-dev libxml2-dev
  # to test: Eigen for the oracle, oneTBB as an executor, HIP's headers and its runtime (which tests also use without a
  # GPU), ONNX models, sanitizers, formatting, and clang as the second compiler
  doctest-dev libeigen3-dev libtbb-dev libamdhip64-dev libonnx-testdata clang-19 clang-format-19 libclang-rt-19-dev
  # to benchmark
  libbenchmark-dev libopenblas-dev
  # the reference
  doxygen
)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not a Debian system; install the contents of these packages by other means: ${packages[*]}" >&2
  exit 1
fi

# dpkg-query complains and fails if it does not know a package; such a package is missing too.
installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: ${#missing[@]} packages are missing and there is no sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${#missing[@]} packages and what they need: ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o APT::Color=0 -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}"
echo "setup: done"
