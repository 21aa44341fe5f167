// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/base/file.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace story {

/// The sizes of a Llama-like network.
struct Sizes {
  std::int32_t dim, hidden, layers, heads, kv_heads, vocabulary, context;

  std::int64_t head_size() const { return dim / heads; }
};

/// A checkpoint of llama2.c, version 0: seven i32 sizes, then f32 matrices, row-major, layer by layer. Source:
/// export.py (legacy_export) and run.c at github.com/karpathy/llama2.c.
struct Checkpoint {
  Sizes sizes;
  // Bytes of f32. Each has a leading dim for the layers, except the first and the last two.
  millrace::SharedBytes embedding;       // [vocabulary, dim]
  millrace::SharedBytes attention_norm;  // [dim]
  millrace::SharedBytes query;           // [heads * head_size, dim]
  millrace::SharedBytes key, value;      // [kv_heads * head_size, dim]
  millrace::SharedBytes attention_out;   // [dim, heads * head_size]
  millrace::SharedBytes feed_norm;       // [dim]
  millrace::SharedBytes gate, down, up;  // [hidden, dim], [dim, hidden], [hidden, dim]
  millrace::SharedBytes final_norm;      // [dim]
  millrace::SharedBytes classifier;      // [vocabulary, dim]
};

/// Every size is checked before use. Errors name the file.
millrace::Result<Checkpoint> read_checkpoint(const std::string& path);

}  // namespace story
