// SPDX-License-Identifier: Apache-2.0
// Reads dtypes and tensor types, for the parsers of graphs, kernels and command lines.
#include "base/text/read_type.h"

#include <fmt/format.h>

#include "base/size_expr/reader.h"
#include "base/text/near_name.h"

namespace millrace {
namespace {

/// Takes the 'x' in "4x8".
bool take_cross(TextReader& text) {
  const std::string_view rest = text.rest();
  const bool is_cross = rest.size() > 1 && rest[0] == 'x' && rest[1] >= '0' && rest[1] <= '9';
  text.skip(is_cross ? 1 : 0);
  return is_cross;
}

/// The names that other libraries give our dtypes.
constexpr std::pair<std::string_view, DType> kForeignNames[] = {
    {"float16", DType::kF16},  {"float32", DType::kF32}, {"float64", DType::kF64}, {"bfloat16", DType::kBF16},
    {"fp16", DType::kF16},     {"fp32", DType::kF32},    {"fp64", DType::kF64},    {"half", DType::kF16},
    {"float", DType::kF32},    {"double", DType::kF64},  {"int8", DType::kI8},     {"int16", DType::kI16},
    {"int32", DType::kI32},    {"int64", DType::kI64},   {"uint8", DType::kU8},    {"uint16", DType::kU16},
    {"uint32", DType::kU32},   {"uint64", DType::kU64},  {"int", DType::kI32},     {"long", DType::kI64},
    {"boolean", DType::kBool},
};

}  // namespace

std::optional<DType> find_dtype(std::string_view name) {
  if (const std::optional<DType> dtype = parse_dtype(name)) return dtype;
  for (const auto& [foreign, dtype] : kForeignNames) {
    if (foreign == name) return dtype;
  }
  return {};
}

Result<DType> read_dtype(TextReader& text) {
  const std::size_t begin = text.position();
  const std::string_view name = text.take_name();
  if (const std::optional<DType> dtype = parse_dtype(name)) return *dtype;
  NearName near(name);
  std::string known;
  for (const DType dtype : kAllDTypes) {
    known += (known.empty() ? "" : ", ") + std::string(to_text(dtype));
    near.consider(to_text(dtype));
  }
  for (const auto& [foreign, dtype] : kForeignNames) near.consider(foreign, to_text(dtype));
  text.move_to(begin);
  return text.unexpected("expected a dtype; " + near.remedy("write one of " + known));
}

Result<TensorType> read_type(TextReader& text, std::map<std::string, Dim>& symbols) {
  MILLRACE_TRY_ASSIGN(const DType dtype, read_dtype(text));
  if (!text.take("[")) return text.unexpected("expected '[' and the dims; write [] for a scalar");
  std::vector<SizeExpr> dims;
  if (text.take("]")) return TensorType{dtype, {}};
  do {
    MILLRACE_TRY_ASSIGN(SizeExpr dim, read_size_expr(text, symbols));
    dims.push_back(std::move(dim));
  } while (text.take(",") || (dims.back().is_constant() && take_cross(text)));
  if (!text.take("]")) return text.unexpected("expected ',' or ']'; close the dims");
  return TensorType{dtype, Shape(std::move(dims))};
}

}  // namespace millrace
