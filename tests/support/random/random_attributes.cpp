// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_attributes.h"

#include <algorithm>

#include "millrace/ops/op_def.h"
#include "tests/support/ops/op_problems.h"

namespace millrace::test {
namespace {

using Types = std::span<const TensorType>;

/// One overload for each kind of attributes.
struct Chooser {
  RandomChoice& random;

  void choose(NoAttrs&, Types) {}
  void choose(CastAttrs& a, Types) { a.dtype = random.any_dtype(); }
  void choose(ReduceAttrs& a, Types x) {
    for (std::size_t d = 0; d < x[0].shape.rank(); ++d) {
      if (random.chance(50)) a.axes.push_back(static_cast<std::int64_t>(d));
    }
    a.keep_dims = random.chance(50);
  }
  void choose(ArgAttrs& a, Types x) { a = {random.any_axis(x[0].shape.rank()), random.chance(50)}; }
  void choose(Conv2dAttrs& a, Types x) {
    for (std::int64_t& stride : a.strides) stride = random.from_1_to(3);
    for (std::int64_t& padding : a.padding) padding = static_cast<std::int64_t>(random.below(3));
    for (std::int64_t& dilation : a.dilations) dilation = random.from_1_to(3);
    // The groups that the operands were made for.
    const SizeExpr &channels = x[0].shape[1], &of_group = x[1].shape[1];
    while (a.groups < 4 && of_group * a.groups != channels) ++a.groups;
  }
  void choose(Pool2dAttrs& a, Types x) {
    for (std::int64_t& window : a.window) window = random.from_1_to(4);
    for (std::int64_t& stride : a.strides) stride = random.from_1_to(3);
    for (std::size_t i = 0; i < 4; ++i) a.padding[i] = static_cast<std::int64_t>(random.below(3));
    a.count_include_pad = random.chance(50);
    a.ceil_mode = random.chance(30);
    if (x[0].shape[2].is(1)) {  // one dim in two
      a.window[0] = a.strides[0] = 1;
      a.padding[0] = a.padding[2] = 0;
    }
  }
  void choose(ScanAttrs& a, Types x) { a = {random.any_axis(x[0].shape.rank()), random.chance(50), random.chance(50)}; }
  void choose(SizeAttrs& a, Types) {
    a.size = random.any_extent();
    a.size = a.size * random.any_extent();
  }
  void choose(ShapeAttrs& a, Types x) {
    const Shape& shape = x[0].shape;
    a.shape = {shape.num_elements()};
    if (shape.rank() >= 2 && random.chance(60)) {
      a.shape = shape.dims();
      const std::size_t d = random.below(shape.rank() - 1);
      a.shape[d] = a.shape[d] * a.shape[d + 1];
      a.shape.erase(a.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    if (random.chance(30)) {
      a.shape.insert(a.shape.begin() + static_cast<std::ptrdiff_t>(random.below(a.shape.size() + 1)), 1);
    }
  }
  void choose(PermutationAttrs& a, Types x) { a.permutation = random.any_permutation(x[0].shape.rank()); }
  void choose(BroadcastAttrs& a, Types x) {
    for (const SizeExpr& dim : x[0].shape.dims()) {
      if (random.chance(30)) a.shape.push_back(random.any_extent());
      a.dims.push_back(static_cast<std::int64_t>(a.shape.size()));
      a.shape.push_back(dim.is(1) ? random.any_extent() : dim);
    }
    if (a.shape.empty() || random.chance(20)) a.shape.push_back(random.any_extent());
  }
  void choose(SliceAttrs& a, Types x) {
    for (const SizeExpr& dim : x[0].shape.dims()) {
      a.start.push_back(static_cast<std::int64_t>(random.below(3)));
      a.stop.push_back(random.chance(70) ? dim : dim - 1);
      a.step.push_back(random.from_1_to(3));
    }
  }
  void choose(PadAttrs& a, Types x) {
    for (std::size_t d = 0; d < x[0].shape.rank(); ++d) {
      a.low.push_back(static_cast<std::int64_t>(random.below(3)));
      a.high.push_back(random.chance(20) ? random.any_extent() : SizeExpr(static_cast<std::int64_t>(random.below(3))));
    }
    const auto halves = static_cast<std::int64_t>(random.below(9)) - 4;
    if (is_float(x[0].dtype)) {
      a.value = static_cast<double>(halves) / 2;
    } else {
      a.value = Number(halves).fits(x[0].dtype) ? halves : 1;
    }
  }
  void choose(AxisAttrs& a, Types x) { a.axis = random.any_axis(x[0].shape.rank()); }
  void choose(GatherAttrs& a, Types x) { a.axis = random.any_axis(x[0].shape.rank()); }
  void choose(IotaAttrs& a, Types) {
    const Shape shape = random.any_shape();
    a = {shape.dims(), random.any_dtype(), random.any_axis(shape.rank())};
  }
  void choose(SortAttrs& a, Types x) { a = {random.any_axis(x[0].shape.rank()), random.chance(50)}; }
  void choose(TopKAttrs& a, Types x) {
    a = {random.any_extent(), random.any_axis(x[0].shape.rank()), random.chance(50), random.chance(70)};
  }

  void choose(DotAttrs& a, Types x) {
    const Shape &left = x[0].shape, &right = x[1].shape;
    for (std::size_t i = 0; i < left.rank(); ++i) {
      for (std::size_t j = 0; j < right.rank(); ++j) {
        if (left[i] == right[j]) pair_dims(a, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      }
    }
  }
  void pair_dims(DotAttrs& a, std::int64_t i, std::int64_t j) {
    const auto is_in = [](const std::vector<std::int64_t>& dims, std::int64_t dim) {
      return std::ranges::find(dims, dim) != dims.end();
    };
    if (is_in(a.x_contract, i) || is_in(a.x_batch, i) || is_in(a.y_contract, j) || is_in(a.y_batch, j)) return;
    if (random.chance(60)) {
      a.x_contract.push_back(i);
      a.y_contract.push_back(j);
    } else if (random.chance(30)) {
      a.x_batch.push_back(i);
      a.y_batch.push_back(j);
    }
  }
};

}  // namespace

Attributes random_attributes(RandomChoice& random, Op op, Types operands) {
  if (op == Op::bit_cast && operands[0].dtype != DType::kBool) {
    return CastAttrs{random.one_of(bit_cast_dtypes(operands[0].dtype))};
  }
  Attributes attributes = default_attributes(op);
  Chooser chooser{random};
  std::visit([&](auto& chosen) { chooser.choose(chosen, operands); }, attributes);
  return attributes;
}

}  // namespace millrace::test
