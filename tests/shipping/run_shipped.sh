#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fills a directory with an example's kernels, then runs the example with these alone: without LLVM, and with an empty
# cache of its own, where no kernel may appear.
# usage: run_shipped.sh FILLER PROGRAM [ARGUMENT...]    the filler is the program and fill_kernels.cpp
# An argument models:FILE is a file of the folder $MILLRACE_MODELS, or of $MODELS; without it the script exits with 77.
set -euo pipefail
models=${MILLRACE_MODELS:-${MODELS-}}
arguments=()
for argument in "${@:3}"; do
  if [[ $argument == models:* ]]; then
    argument=$models/${argument#models:}
    [[ -e $argument ]] || { echo "skipped: $argument is not there; set MILLRACE_MODELS to its folder"; exit 77; }
  fi
  arguments+=("$argument")
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/own"

MILLRACE_FILLED=$work/kernels HOME=$work/home XDG_CACHE_HOME='' "$1" "${arguments[@]}" >"$work/filled.txt"
[[ -n $(ls "$work/kernels") ]] || { echo "run_shipped: nothing was filled" >&2; exit 1; }
MILLRACE_LLVM_MODULE=/no/such/module.so MILLRACE_CACHE_LAYERS=$work/kernels XDG_CACHE_HOME=$work/own "$2" "${arguments[@]}"
made=$(ls -A "$work/own")
[[ -z $made ]] || { echo "run_shipped: kernels were not shipped: $made" >&2; exit 1; }
