// SPDX-License-Identifier: Apache-2.0
// Reads constants whose elements have fewer bits than any dtype, or are floats of 8 bits or less.
#include "graph/import/onnx/foreign.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/read_tensor.h"

namespace millrace {
namespace {

/// A float of 8 bits or less. Source: onnx's documents on float8, float4 and E8M0; the OCP formats for FN.
struct SmallFloat {
  int exponent_bits = 4, mantissa_bits = 3, bias = 7;
  bool has_infinity = false;      // the highest exponent means infinity or NaN, as in IEEE 754
  bool has_nan_for_zero = false;  // "UZ": the bits of -0 are the only NaN
  bool has_last_nan = false;      // NaN has all bits set, except perhaps the sign
  bool has_sign = true;
};

struct ForeignFormat {
  std::int32_t data_type = 0;  // TensorProto.DataType
  ForeignType type;
  SmallFloat number = {};
};

using Kind = ForeignType::Kind;

constexpr ForeignFormat kFormats[] = {
    {17, {Kind::kFloat, 8}, {.exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .has_last_nan = true}},
    {18, {Kind::kFloat, 8}, {.exponent_bits = 4, .mantissa_bits = 3, .bias = 8, .has_nan_for_zero = true}},
    {19, {Kind::kFloat, 8}, {.exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .has_infinity = true}},
    {20, {Kind::kFloat, 8}, {.exponent_bits = 5, .mantissa_bits = 2, .bias = 16, .has_nan_for_zero = true}},
    {21, {Kind::kUnsigned, 4}},
    {22, {Kind::kSigned, 4}},
    {23, {Kind::kFloat, 4}, {.exponent_bits = 2, .mantissa_bits = 1, .bias = 1}},
    {24,
     {Kind::kFloat, 8},
     {.exponent_bits = 8, .mantissa_bits = 0, .bias = 127, .has_last_nan = true, .has_sign = false}},
    {25, {Kind::kUnsigned, 2}},
    {26, {Kind::kSigned, 2}},
};

const ForeignFormat* find_format(const OnnxForeign& foreign) {
  for (const ForeignFormat& format : kFormats) {
    if (format.data_type == foreign.tensor->data_type) return &format;
  }
  return nullptr;
}

/// Exact: f32 holds every value of these formats.
float decode(const SmallFloat& format, unsigned bits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const unsigned magnitude = bits & ((1u << magnitude_bits) - 1u);
  const bool is_negative = format.has_sign && (bits >> magnitude_bits) != 0;
  if (format.has_nan_for_zero && is_negative && magnitude == 0) return kNan;
  if (format.has_last_nan && magnitude == (1u << magnitude_bits) - 1u) return kNan;
  const auto mantissa = static_cast<int>(magnitude & ((1u << format.mantissa_bits) - 1u));
  const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const float sign = is_negative ? -1.0f : 1.0f;
  if (format.has_infinity && exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity() : kNan;
  }
  // An exponent of 0 marks the subnormal numbers, except where there is no mantissa.
  const bool is_subnormal = exponent == 0 && format.mantissa_bits > 0;
  const int whole = is_subnormal ? mantissa : (1 << format.mantissa_bits) + mantissa;
  return sign *
         std::ldexp(static_cast<float>(whole), (is_subnormal ? 1 : exponent) - format.bias - format.mantissa_bits);
}

/// The bits of element i, in the lowest bits of the result.
unsigned element_bits(const SharedBytes& packed, int bits, std::size_t i) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  const auto byte = std::to_integer<unsigned>(packed.data()[i / per_byte]);
  return (byte >> (i % per_byte * static_cast<std::size_t>(bits))) & ((1u << bits) - 1u);
}

OnnxConstant unpack_integers(const TensorType& type, const SharedBytes& packed, int bits) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.shape.num_elements().constant()));
  const unsigned sign = type.dtype == DType::kI8 ? 1u << (bits - 1) : 0u;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // (x ^ sign) - sign extends the sign.
    bytes[i] = static_cast<std::byte>(((element_bits(packed, bits, i) ^ sign) - sign) & 0xFFu);
  }
  return {type, std::move(bytes)};
}

}  // namespace

std::optional<ForeignType> foreign_type(const OnnxForeign& foreign) {
  const ForeignFormat* format = find_format(foreign);
  return format == nullptr ? std::nullopt : std::optional(format->type);
}

Result<SharedBytes> packed_bytes(const OnnxForeign& foreign, const std::string& path, const SharedBytes& file,
                                 ExternalData& external) {
  const ForeignFormat* format = find_format(foreign);
  if (format == nullptr) {
    return unimplemented(
        fmt::format("{}: elements of {} are not supported", path, onnx_type_name(foreign.tensor->data_type)));
  }
  MILLRACE_TRY_ASSIGN(const TensorType type, read_type(*foreign.tensor, DType::kU8, path));
  MILLRACE_TRY_ASSIGN(SharedBytes bytes, read_bytes(*foreign.tensor, DType::kU8, path, file, external));
  const auto bits = static_cast<std::uint64_t>(format->type.bits);
  const std::uint64_t wanted = (static_cast<std::uint64_t>(type.shape.num_elements().constant()) * bits + 7) / 8;
  if (bytes.size() == wanted) return bytes;
  return data_loss(fmt::format("{}: found {} bytes of data, expected {} for {}{}", path, bytes.size(), wanted,
                               onnx_type_name(foreign.tensor->data_type), type.shape.to_text()));
}

Result<OnnxConstant> unpack(const OnnxForeign& foreign, const std::string& path, const SharedBytes& file,
                            ExternalData& external) {
  MILLRACE_TRY_ASSIGN(const SharedBytes packed, packed_bytes(foreign, path, file, external));
  const ForeignFormat& format = *find_format(foreign);
  const DType dtype = format.type.kind == Kind::kFloat      ? DType::kF32
                      : format.type.kind == Kind::kUnsigned ? DType::kU8
                                                            : DType::kI8;
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(*foreign.tensor, dtype, path));
  if (dtype != DType::kF32) return unpack_integers(type, packed, format.type.bits);
  std::vector<float> numbers(static_cast<std::size_t>(type.shape.num_elements().constant()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = decode(format.number, element_bits(packed, format.type.bits, i));
  }
  return constant_of(std::move(type.shape), std::span<const float>(numbers));
}

}  // namespace millrace
