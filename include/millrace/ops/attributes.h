// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/number.h"
#include "millrace/base/shape.h"

namespace millrace {

// Attributes of ops. `visit` names each field once; printing and parsing use it. A text must give the fields in
// kRequired; the others have default values.

struct NoAttrs {
  template <class V>
  void visit(V&&) {}
  friend bool operator==(const NoAttrs&, const NoAttrs&) = default;
};
struct CastAttrs {
  DType dtype = DType::kF32;
  template <class V>
  void visit(V&& v) {
    v("dtype", dtype);
  }
  friend bool operator==(const CastAttrs&, const CastAttrs&) = default;
};
struct ReduceAttrs {
  static constexpr std::string_view kRequired[] = {"axes"};
  std::vector<std::int64_t> axes = {};  // distinct; negative axes count from the end
  bool keep_dims = false;
  template <class V>
  void visit(V&& v) {
    v("axes", axes);
    v("keep_dims", keep_dims);
  }
  friend bool operator==(const ReduceAttrs&, const ReduceAttrs&) = default;
};
struct ArgAttrs {
  std::int64_t axis = -1;
  bool keep_dims = false;
  template <class V>
  void visit(V&& v) {
    v("axis", axis);
    v("keep_dims", keep_dims);
  }
  friend bool operator==(const ArgAttrs&, const ArgAttrs&) = default;
};
/// Dims are paired in order: x_contract[i] with y_contract[i]. Since any dims can be paired, no transposed variants are
/// needed.
struct DotAttrs {
  std::vector<std::int64_t> x_batch = {}, y_batch = {}, x_contract = {}, y_contract = {};
  template <class V>
  void visit(V&& v) {
    v("x_batch", x_batch);
    v("y_batch", y_batch);
    v("x_contract", x_contract);
    v("y_contract", y_contract);
  }
  friend bool operator==(const DotAttrs&, const DotAttrs&) = default;
};
struct Conv2dAttrs {
  std::vector<std::int64_t> strides = {1, 1};        // h, w
  std::vector<std::int64_t> padding = {0, 0, 0, 0};  // h low, w low, h high, w high
  std::vector<std::int64_t> dilations = {1, 1};      // h, w
  std::int64_t groups = 1;  // splits input channels and filters; a filter reads only its group's channels
  template <class V>
  void visit(V&& v) {
    v("strides", strides);
    v("padding", padding);
    v("dilations", dilations);
    v("groups", groups);
  }
  friend bool operator==(const Conv2dAttrs&, const Conv2dAttrs&) = default;
};
struct Pool2dAttrs {
  std::vector<std::int64_t> window = {2, 2};
  std::vector<std::int64_t> strides = {2, 2};
  std::vector<std::int64_t> padding = {0, 0, 0, 0};  // h low, w low, h high, w high
  bool count_include_pad = false;                    // avg_pool2d only
  /// Adds windows that begin inside x or in the padding before it, but extend beyond the padding after it, as in
  /// PyTorch and ONNX. Positions beyond that padding never count.
  bool ceil_mode = false;
  template <class V>
  void visit(V&& v) {
    v("window", window);
    v("strides", strides);
    v("padding", padding);
    v("count_include_pad", count_include_pad);
    v("ceil_mode", ceil_mode);
  }
  friend bool operator==(const Pool2dAttrs&, const Pool2dAttrs&) = default;
};
struct ShapeAttrs {
  static constexpr std::string_view kRequired[] = {"shape"};
  std::vector<SizeExpr> shape = {};
  template <class V>
  void visit(V&& v) {
    v("shape", shape);
  }
  friend bool operator==(const ShapeAttrs&, const ShapeAttrs&) = default;
};
struct PermutationAttrs {
  static constexpr std::string_view kRequired[] = {"permutation"};
  std::vector<std::int64_t> permutation = {};
  template <class V>
  void visit(V&& v) {
    v("permutation", permutation);
  }
  friend bool operator==(const PermutationAttrs&, const PermutationAttrs&) = default;
};
struct BroadcastAttrs {
  static constexpr std::string_view kRequired[] = {"shape"};
  std::vector<SizeExpr> shape = {};
  std::vector<std::int64_t> dims = {};  // ascending; one per operand dim
  template <class V>
  void visit(V&& v) {
    v("shape", shape);
    v("dims", dims);
  }
  friend bool operator==(const BroadcastAttrs&, const BroadcastAttrs&) = default;
};
struct SliceAttrs {
  static constexpr std::string_view kRequired[] = {"start", "stop"};
  std::vector<SizeExpr> start = {}, stop = {};
  std::vector<std::int64_t> step = {};
  template <class V>
  void visit(V&& v) {
    v("start", start);
    v("stop", stop);
    v("step", step);
  }
  friend bool operator==(const SliceAttrs&, const SliceAttrs&) = default;
};
struct PadAttrs {
  static constexpr std::string_view kRequired[] = {"low", "high"};
  std::vector<SizeExpr> low = {}, high = {};
  Number value = 0;  // an integer dtype must hold it exactly; a float dtype rounds it
  template <class V>
  void visit(V&& v) {
    v("low", low);
    v("high", high);
    v("value", value);
  }
  friend bool operator==(const PadAttrs&, const PadAttrs&) = default;
};
struct AxisAttrs {
  std::int64_t axis = 0;
  template <class V>
  void visit(V&& v) {
    v("axis", axis);
  }
  friend bool operator==(const AxisAttrs&, const AxisAttrs&) = default;
};
struct GatherAttrs {
  std::int64_t axis = 0;
  template <class V>
  void visit(V&& v) {
    v("axis", axis);
  }
  friend bool operator==(const GatherAttrs&, const GatherAttrs&) = default;
};
struct IotaAttrs {
  static constexpr std::string_view kRequired[] = {"shape"};
  std::vector<SizeExpr> shape = {};
  DType dtype = DType::kI64;
  std::int64_t axis = 0;
  template <class V>
  void visit(V&& v) {
    v("shape", shape);
    v("dtype", dtype);
    v("axis", axis);
  }
  friend bool operator==(const IotaAttrs&, const IotaAttrs&) = default;
};
struct SizeAttrs {
  static constexpr std::string_view kRequired[] = {"size"};
  SizeExpr size = 0;
  template <class V>
  void visit(V&& v) {
    v("size", size);
  }
  friend bool operator==(const SizeAttrs&, const SizeAttrs&) = default;
};
struct ScanAttrs {
  std::int64_t axis = -1;
  bool exclusive = false;  // excludes the element itself
  bool reverse = false;    // scans from the end
  template <class V>
  void visit(V&& v) {
    v("axis", axis);
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
  friend bool operator==(const ScanAttrs&, const ScanAttrs&) = default;
};
struct SortAttrs {
  std::int64_t axis = -1;
  bool descending = false;
  template <class V>
  void visit(V&& v) {
    v("axis", axis);
    v("descending", descending);
  }
  friend bool operator==(const SortAttrs&, const SortAttrs&) = default;
};
struct TopKAttrs {
  SizeExpr k = 1;
  std::int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
  template <class V>
  void visit(V&& v) {
    v("k", k);
    v("axis", axis);
    v("largest", largest);
    v("sorted", sorted);
  }
  friend bool operator==(const TopKAttrs&, const TopKAttrs&) = default;
};

using Attributes = std::variant<NoAttrs, CastAttrs, ReduceAttrs, ArgAttrs, DotAttrs, Conv2dAttrs, Pool2dAttrs,
                                ShapeAttrs, PermutationAttrs, BroadcastAttrs, SliceAttrs, PadAttrs, AxisAttrs,
                                GatherAttrs, IotaAttrs, SizeAttrs, ScanAttrs, SortAttrs, TopKAttrs>;

/// The names in kRequired.
std::span<const std::string_view> required_attributes(const Attributes&);
/// "{axis = 1, keep_dims = false}"; "" for NoAttrs.
std::string to_text(const Attributes&);
/// Also prints the facts of each symbol that is not yet in `printed_symbols`, and adds the symbol to it: "{k = k in
/// 0..64, axis = 1}".
std::string to_text(const Attributes&, std::map<std::string, Dim>& printed_symbols);

}  // namespace millrace
