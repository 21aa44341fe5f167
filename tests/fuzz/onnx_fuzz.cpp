// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes are, import_onnx gives a graph that verify() accepts, or an error.
#include <cstddef>
#include <cstdint>

#include "millrace/base/check.h"
#include "millrace/graph/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const SharedBytes bytes(std::as_bytes(std::span(data, size)));
  const Result<OnnxModel> model = import_onnx("f", bytes);
  MILLRACE_CHECK(!model.ok() || verify(model->graph).ok());
  return 0;
}
