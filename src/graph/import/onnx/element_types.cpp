// SPDX-License-Identifier: Apache-2.0
// The element types of ONNX, and the dtypes that hold the same values.
#include "graph/import/onnx/element_types.h"

#include <fmt/format.h>

namespace millrace {
namespace {

struct ElementType {
  std::string_view name;
  std::optional<DType> dtype = {};
};

constexpr ElementType kElementTypes[] = {
    {"UNDEFINED"},
    {"FLOAT", DType::kF32},
    {"UINT8", DType::kU8},
    {"INT8", DType::kI8},
    {"UINT16", DType::kU16},
    {"INT16", DType::kI16},
    {"INT32", DType::kI32},
    {"INT64", DType::kI64},
    {"STRING"},
    {"BOOL", DType::kBool},
    {"FLOAT16", DType::kF16},
    {"DOUBLE", DType::kF64},
    {"UINT32", DType::kU32},
    {"UINT64", DType::kU64},
    {"COMPLEX64"},
    {"COMPLEX128"},
    {"BFLOAT16", DType::kBF16},
    {"FLOAT8E4M3FN"},
    {"FLOAT8E4M3FNUZ"},
    {"FLOAT8E5M2"},
    {"FLOAT8E5M2FNUZ"},
    {"UINT4"},
    {"INT4"},
    {"FLOAT4E2M1"},
    {"FLOAT8E8M0"},
    {"UINT2"},
    {"INT2"},
    {"FLOAT6E2M3"},
    {"FLOAT6E3M2"},
};

const ElementType* find(std::int64_t data_type) {
  if (data_type < 0 || data_type >= std::int64_t{std::size(kElementTypes)}) return nullptr;
  return &kElementTypes[data_type];
}

}  // namespace

std::optional<DType> dtype_of_onnx(std::int64_t data_type) {
  const ElementType* type = find(data_type);
  return type == nullptr ? std::nullopt : type->dtype;
}

std::optional<DType> dtype_of_onnx_name(std::string_view name) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == name) return type.dtype;
  }
  return {};
}

std::int64_t onnx_type_of(DType dtype) {
  std::int64_t data_type = 0;
  while (kElementTypes[data_type].dtype != dtype) ++data_type;  // the table has every dtype
  return data_type;
}

std::string onnx_type_name(std::int64_t data_type) {
  const ElementType* type = find(data_type);
  return type == nullptr ? fmt::format("type {}", data_type) : std::string(type->name);
}

}  // namespace millrace
