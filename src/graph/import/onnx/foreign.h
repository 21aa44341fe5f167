// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph/import/onnx/external_data.h"
#include "graph/import/onnx/value.h"

namespace millrace {

/// How wide a foreign element is, and how its bits are read.
struct ForeignType {
  enum class Kind { kSigned, kUnsigned, kFloat };
  Kind kind = Kind::kSigned;
  int bits = 8;  // 2, 4 or 8: several elements share a byte, the first one in its lowest bits
};

/// Empty for texts, complex numbers, and types whose packing onnx.proto does not state.
std::optional<ForeignType> foreign_type(const OnnxForeign&);

/// The bytes of a constant of foreign elements, as the model stores them. `path` names the tensor in messages. Fails if
/// foreign_type() is empty, or if the number of bytes does not match the dims.
Result<SharedBytes> packed_bytes(const OnnxForeign&, const std::string& path, const SharedBytes& file,
                                 ExternalData& external);

/// The elements in a dtype that holds their values: i8, u8, or f32 for floats.
Result<OnnxConstant> unpack(const OnnxForeign&, const std::string& path, const SharedBytes& file,
                            ExternalData& external);

}  // namespace millrace
