// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/import/onnx/sizes.h"
#include "graph/import/onnx/tensor_messages.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// Constant elements of a type that no tensor has: 8-bit floats, 4-bit and 2-bit numbers, complex numbers, texts.
struct OnnxForeign {
  const TensorProto* tensor = nullptr;  // the decoded model owns it
};

class OnnxValue;
/// A sequence, which exists only while a model is imported.
struct OnnxSequence {
  std::shared_ptr<const std::vector<OnnxValue>> elements;
};

/// An operand or result of a node while a model is imported. Sizes and constants become tensors when an op needs them.
class OnnxValue {
 public:
  struct Omitted {};
  /// A result of a node that cannot be imported. Nodes that read it are not reported again.
  struct Failed {};

  OnnxValue() = default;
  OnnxValue(Tensor tensor) : what_(tensor) {}
  OnnxValue(OnnxSizes sizes) : what_(std::move(sizes)) {}
  OnnxValue(OnnxConstant constant) : what_(std::move(constant)) {}
  OnnxValue(OnnxForeign foreign) : what_(foreign) {}
  OnnxValue(OnnxSequence sequence) : what_(std::move(sequence)) {}
  static OnnxValue failed() {
    OnnxValue value;
    value.what_ = Failed{};
    return value;
  }

  bool is_omitted() const { return std::holds_alternative<Omitted>(what_); }
  bool is_failed() const { return std::holds_alternative<Failed>(what_); }
  /// Each returns null unless the value has that form.
  const Tensor* tensor() const { return std::get_if<Tensor>(&what_); }
  const OnnxSizes* sizes() const { return std::get_if<OnnxSizes>(&what_); }
  const OnnxConstant* constant() const { return std::get_if<OnnxConstant>(&what_); }
  const OnnxForeign* foreign() const { return std::get_if<OnnxForeign>(&what_); }
  const OnnxSequence* sequence() const { return std::get_if<OnnxSequence>(&what_); }

  /// The elements as sizes: sizes, or a constant of i32, i64 or bool with at most kMaxSizes elements.
  std::optional<OnnxSizes> as_sizes() const;
  /// The elements as sizes with a divisor: as_sizes(), or a constant of at most 64 floats that are fractions.
  std::optional<OnnxSizes> as_fractions() const;
  /// The elements as a constant: a constant, or sizes that are all numbers.
  std::optional<OnnxConstant> as_constant() const;
  /// Dtype and shape; empty for foreign elements, sequences and omitted operands.
  std::optional<TensorType> type() const;
  /// The value as a tensor of the graph. Builds it if it is not one yet. Precondition: type() is not empty.
  Tensor materialize(GraphBuilder& graph) const;

  /// The fact about a dim that must be known before the elements are: "whether n is 1". Null if there is none.
  const std::shared_ptr<const std::string>& unknown() const { return unknown_; }
  OnnxValue because(std::shared_ptr<const std::string> unknown) && {
    unknown_ = std::move(unknown);
    return std::move(*this);
  }

 private:
  std::variant<Omitted, Failed, Tensor, OnnxSizes, OnnxConstant, OnnxForeign, OnnxSequence> what_;
  std::shared_ptr<const std::string> unknown_;
  // The last result of materialize(). It is reused unless it was built in a body, because a body's tensors end with it.
  mutable Tensor materialized_;
};

/// What an op returns: one value per result. Trailing results may be missing if the model does not read them.
class OnnxResults {
 public:
  OnnxResults(Tensor tensor) : values_{OnnxValue(tensor)} {}
  OnnxResults(OnnxSizes sizes) : values_{OnnxValue(std::move(sizes))} {}
  OnnxResults(OnnxConstant constant) : values_{OnnxValue(std::move(constant))} {}
  OnnxResults(OnnxValue value) : values_{std::move(value)} {}
  OnnxResults(std::vector<OnnxValue> values) : values_(std::move(values)) {}
  OnnxResults(std::initializer_list<OnnxValue> values) : values_(values) {}
  OnnxResults(const std::vector<Tensor>& tensors) : values_(tensors.begin(), tensors.end()) {}

  std::vector<OnnxValue>& values() { return values_; }

 private:
  std::vector<OnnxValue> values_;
};

/// A constant of this shape, whose dims must be numbers, with `element` at every place.
OnnxConstant filled_constant(DType dtype, const Shape& shape, std::span<const std::byte> element);
/// A constant with these elements.
template <class T>
OnnxConstant constant_of(Shape shape, std::span<const T> elements) {
  return {{dtype_of<T>, std::move(shape)}, SharedBytes(std::as_bytes(elements))};
}
/// Integers or bools as int64; empty for other dtypes.
std::optional<std::vector<std::int64_t>> integers_of(const OnnxConstant&);
/// Numbers of any dtype as double; bools as 0 and 1.
std::vector<double> numbers_of(const OnnxConstant&);

}  // namespace millrace
