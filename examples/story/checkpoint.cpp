// SPDX-License-Identifier: Apache-2.0
#include "examples/story/checkpoint.h"

#include <cstring>

#include <fmt/format.h>

namespace story {

using millrace::Result;
using millrace::SharedBytes;
using millrace::Status;

namespace {

/// Hands out a file's bytes from the front.
class Reader {
 public:
  Reader(std::string path, SharedBytes file) : path_(std::move(path)), left_(std::move(file)) {}

  Result<SharedBytes> take(std::size_t size_bytes) {
    if (size_bytes > left_.size()) {
      return millrace::invalid_argument(fmt::format("checkpoint '{}': ends {} bytes before its weights; copy it again",
                                                    path_, size_bytes - left_.size()));
    }
    SharedBytes taken = left_.part(0, size_bytes);
    left_ = left_.part(size_bytes, left_.size() - size_bytes);
    return taken;
  }

 private:
  std::string path_;
  SharedBytes left_;
};

Status check(const std::string& path, const Sizes& sizes) {
  constexpr std::int32_t kMaxSize = 1 << 20;
  for (const std::int32_t size :
       {sizes.dim, sizes.hidden, sizes.layers, sizes.heads, sizes.kv_heads, sizes.vocabulary, sizes.context}) {
    if (size >= 1 && size <= kMaxSize) continue;
    return millrace::invalid_argument(fmt::format(
        "checkpoint '{}': a size of {}, expected 1 to {}; give a checkpoint of llama2.c", path, size, kMaxSize));
  }
  if (sizes.dim % sizes.heads == 0 && sizes.heads % sizes.kv_heads == 0 && sizes.head_size() % 2 == 0) return {};
  return millrace::invalid_argument(fmt::format(
      "checkpoint '{}': {} heads, {} of keys and a dim of {} do not fit together; give a checkpoint of llama2.c", path,
      sizes.heads, sizes.kv_heads, sizes.dim));
}

}  // namespace

Result<Checkpoint> read_checkpoint(const std::string& path) {
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, millrace::read_file(fmt::format("checkpoint '{}'", path), path));
  Reader reader(path, SharedBytes(std::move(bytes)));
  Checkpoint found;
  MILLRACE_TRY_ASSIGN(const SharedBytes header, reader.take(sizeof found.sizes));
  std::memcpy(&found.sizes, header.data(), sizeof found.sizes);
  Sizes& sizes = found.sizes;
  // A negative size means that the classifier is not the embedding.
  const bool has_classifier = sizes.vocabulary < 0;
  if (has_classifier) sizes.vocabulary = -sizes.vocabulary;
  MILLRACE_TRY(check(path, sizes));
  const auto matrix = [&](SharedBytes& weights, std::int64_t count, std::int64_t rows, std::int64_t columns) -> Status {
    MILLRACE_TRY_ASSIGN(weights, reader.take(sizeof(float) * static_cast<std::size_t>(count * rows * columns)));
    return {};
  };
  const std::int64_t dim = sizes.dim, kv = sizes.kv_heads * sizes.head_size();
  MILLRACE_TRY(matrix(found.embedding, 1, sizes.vocabulary, dim));
  MILLRACE_TRY(matrix(found.attention_norm, sizes.layers, 1, dim));
  MILLRACE_TRY(matrix(found.query, sizes.layers, dim, dim));
  MILLRACE_TRY(matrix(found.key, sizes.layers, kv, dim));
  MILLRACE_TRY(matrix(found.value, sizes.layers, kv, dim));
  MILLRACE_TRY(matrix(found.attention_out, sizes.layers, dim, dim));
  MILLRACE_TRY(matrix(found.feed_norm, sizes.layers, 1, dim));
  MILLRACE_TRY(matrix(found.gate, sizes.layers, sizes.hidden, dim));
  MILLRACE_TRY(matrix(found.down, sizes.layers, dim, sizes.hidden));
  MILLRACE_TRY(matrix(found.up, sizes.layers, sizes.hidden, dim));
  MILLRACE_TRY(matrix(found.final_norm, 1, 1, dim));
  SharedBytes unused_angles;
  MILLRACE_TRY(matrix(unused_angles, 1, sizes.context, sizes.head_size()));
  found.classifier = found.embedding;
  if (has_classifier) MILLRACE_TRY(matrix(found.classifier, 1, sizes.vocabulary, dim));
  return found;
}

}  // namespace story
