// SPDX-License-Identifier: Apache-2.0
// Replaces the decoder in builds without protozero.
#include <fmt/format.h>

#include "graph/import/onnx/decode.h"

namespace millrace {
namespace {

Status without_protozero(const std::string& where) {
  return unimplemented(fmt::format(
      "{}: this build of Millrace does not read ONNX; install protozero (Debian: libprotozero-dev) and build it again",
      where));
}

}  // namespace

bool can_decode_onnx() { return false; }

Result<std::shared_ptr<const ModelProto>> decode_model(const std::string& where, SharedBytes) {
  return without_protozero(where);
}

Result<TensorProto> decode_tensor(const std::string& where, const SharedBytes&) { return without_protozero(where); }

}  // namespace millrace
