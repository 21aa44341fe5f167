// SPDX-License-Identifier: Apache-2.0
// Converts values between the forms that they have while a model is imported.
#include "graph/import/onnx/value.h"

#include <cstring>

#include "graph/passes/constant_elements.h"
#include "millrace/graph/composites.h"

namespace millrace {
namespace {

std::size_t num_elements(const OnnxConstant& constant) {
  return constant.bytes.size() / size_bytes(constant.type.dtype);
}

bool can_be_sizes(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kBool; }

/// Sizes that depend on symbols, as a tensor: one scalar per element, joined.
Tensor size_tensor(GraphBuilder& graph, const OnnxSizes& sizes) {
  std::vector<Tensor> elements;
  for (const SizeExpr& size : sizes.values) elements.push_back(reshape(size_of(graph, size), {1}));
  const Tensor joined = elements.size() == 1 ? elements[0] : concat(elements, 0);
  Tensor values = cast(joined, sizes.dtype);
  if (sizes.divisor != 1) values = values / static_cast<double>(sizes.divisor);
  return reshape(values, sizes.type().shape);
}

}  // namespace

std::optional<std::vector<std::int64_t>> integers_of(const OnnxConstant& constant) {
  if (is_float(constant.type.dtype)) return {};
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < num_elements(constant); ++i) {
    const Scalar scalar = load_element(constant.type.dtype, constant.bytes, i);
    values.push_back(visit_dtype(constant.type.dtype, [&]<class T>() -> std::int64_t {
      if constexpr (std::integral<T>) return static_cast<std::int64_t>(scalar.as<T>());
      return 0;
    }));
  }
  return values;
}

std::vector<double> numbers_of(const OnnxConstant& constant) {
  std::vector<double> values;
  for (std::size_t i = 0; i < num_elements(constant); ++i) {
    values.push_back(load_element(constant.type.dtype, constant.bytes, i).to_double());
  }
  return values;
}

OnnxConstant filled_constant(DType dtype, const Shape& shape, std::span<const std::byte> element) {
  const auto count = static_cast<std::size_t>(shape.num_elements().constant());
  std::vector<std::byte> bytes(count * element.size());
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + i * element.size(), element.data(), element.size());
  return {{dtype, shape}, std::move(bytes)};
}

std::optional<OnnxSizes> OnnxValue::as_sizes() const {
  if (sizes() != nullptr) return *sizes();
  if (constant() == nullptr || !can_be_sizes(constant()->type.dtype)) return {};
  if (num_elements(*constant()) > kMaxSizes) return {};
  const std::optional<std::vector<std::int64_t>> integers = integers_of(*constant());
  OnnxSizes result{constant()->type.dtype, {}, {integers->begin(), integers->end()}};
  for (const SizeExpr& dim : constant()->type.shape.dims()) result.shape.push_back(dim.constant());
  return result;
}

std::optional<OnnxSizes> OnnxValue::as_fractions() const {
  constexpr std::size_t kMaxFractions = 64;
  if (std::optional<OnnxSizes> known = as_sizes()) return known;
  if (constant() == nullptr || !is_float(constant()->type.dtype)) return {};
  if (num_elements(*constant()) > kMaxFractions) return {};
  OnnxSizes result{constant()->type.dtype, {}, {}};
  for (const SizeExpr& dim : constant()->type.shape.dims()) result.shape.push_back(dim.constant());
  for (const double number : numbers_of(*constant())) {
    const std::optional<SizeFraction> fraction = as_fraction(number);
    if (!fraction) return {};
    OnnxSizes element = OnnxSizes::vector({fraction->numerator});
    element.divisor = fraction->denominator;
    std::optional<std::pair<OnnxSizes, OnnxSizes>> both = with_common_divisor(result, element);
    if (!both) return {};
    result = std::move(both->first);
    result.values.push_back(both->second.values[0]);
  }
  return result;
}

std::optional<OnnxConstant> OnnxValue::as_constant() const {
  if (constant() != nullptr) return *constant();
  if (sizes() == nullptr || !sizes()->are_numbers()) return {};
  std::vector<std::byte> bytes(sizes()->values.size() * size_bytes(sizes()->dtype));
  for (std::size_t i = 0; i < sizes()->values.size(); ++i) {
    const std::int64_t value = sizes()->values[i].constant();
    // store_element() takes f16 and bf16 as f32 scalars.
    const DType dtype = size_bytes(sizes()->dtype) == 2 ? DType::kF32 : sizes()->dtype;
    const Scalar scalar =
        is_float(dtype) ? Scalar::from_double(dtype, static_cast<double>(value) / static_cast<double>(sizes()->divisor))
                        : Scalar::from_int(dtype, value);
    store_element(sizes()->dtype, bytes, i, scalar);
  }
  return OnnxConstant{sizes()->type(), std::move(bytes)};
}

std::optional<TensorType> OnnxValue::type() const {
  if (tensor() != nullptr) return tensor()->type();
  if (sizes() != nullptr) return sizes()->type();
  if (constant() != nullptr) return constant()->type;
  return {};
}

Tensor OnnxValue::materialize(GraphBuilder& graph) const {
  if (tensor() != nullptr) return *tensor();
  if (materialized_.is_valid() && !graph.is_in_body(materialized_.value().node)) return materialized_;
  if (const std::optional<OnnxConstant> known = as_constant()) {
    materialized_ = graph.constant_shared(known->type, known->bytes);
  } else {
    materialized_ = size_tensor(graph, *sizes());
  }
  return materialized_;
}

}  // namespace millrace
