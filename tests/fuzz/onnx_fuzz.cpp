// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes are, import_onnx gives a graph that verify() accepts, or an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

#include "millrace/base/check.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/hostile/mutate_model.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const SharedBytes bytes(std::as_bytes(std::span(data, size)));
  const Result<OnnxModel> model = import_onnx("f", bytes);
  MILLRACE_CHECK(!model.ok() || verify(model->graph).ok());
  return 0;
}

namespace {

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::size_t put(std::string_view bytes, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), size);
  return size;
}

}  // namespace

/// Most changes keep the fields whole. The fuzzer's own find what is wrong in the decoder.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return put(millrace::mutate_model(text_of(data, size), text_of(data, size), random), data, max_size);
}

/// Puts fields of the second model into the first.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* model, std::size_t model_size,
                                                 const std::uint8_t* donor, std::size_t donor_size, std::uint8_t* data,
                                                 std::size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  return put(millrace::mutate_model(text_of(model, model_size), text_of(donor, donor_size), random), data, max_size);
}
