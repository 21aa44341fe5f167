#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares a story with the one that llama2.c tells: check.sh PROGRAM [MODELS]. Exits with 77 if the model is missing.
models=${MILLRACE_MODELS:-$2}
weights=$models/stories260K.bin tokenizer=$models/tok512.bin expected=$models/ref/stories260K_greedy_256.txt
for file in "$weights" "$tokenizer" "$expected"; do
  if [ ! -f "$file" ]; then
    echo "skipped: $file does not exist; set MILLRACE_MODELS to the folder of stories260K.bin and tok512.bin"
    exit 77
  fi
done
found=$("$1" "$weights" "$tokenizer" "Once upon a time" 256) || exit 1
if [ "$found" != "$(cat "$expected")" ]; then
  printf 'found:\n%s\nexpected:\n%s\n' "$found" "$(cat "$expected")"
  exit 1
fi
