// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/dtype.h"

namespace millrace {

/// The dtype with this TensorProto.DataType; empty if no dtype holds such elements.
std::optional<DType> dtype_of_onnx(std::int64_t data_type);
/// The dtype of the TensorProto.DataType with this name, as onnx.proto spells it; empty as above.
std::optional<DType> dtype_of_onnx_name(std::string_view name);
/// The TensorProto.DataType of a dtype.
std::int64_t onnx_type_of(DType);
/// "FLOAT8E4M3FN", as onnx.proto spells it; "type 99" for an unknown number.
std::string onnx_type_name(std::int64_t data_type);

}  // namespace millrace
