#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats every C++ file that git knows.
# usage: scripts/format.sh [--check]     --check changes nothing and fails when a file is not formatted
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(-i)
[[ ${1:-} == --check ]] && mode=(--dry-run -Werror)
git ls-files -z '*.h' '*.cpp' '*.inc' | xargs -0 -r -n 50 -P "$(nproc)" clang-format-19 "${mode[@]}"
