// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/jit/map/plain_nest.h"

namespace millrace::test {
namespace {

class NestMaker {
 public:
  explicit NestMaker(std::uint32_t seed) : random_(seed) {}

  PlainNest make() {
    choose_domain();
    const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF64, DType::kI32, DType::kF16, DType::kBF16};
    const DType dtype = dtypes[below(6)];
    const bool is_product = nest_.reduction == ReductionKind::kProd;  // of ones: nothing else stays exact
    nest_.combine = is_product ? PlainNest::Combine::kMul : static_cast<PlainNest::Combine>(below(3));
    const std::int64_t num_operands = nest_.reduction == ReductionKind::kSum ? 2 : 1 + below(3);
    for (std::int64_t i = 0; i < num_operands; ++i) nest_.operands.push_back(make_operand(dtype));
    nest_.result.dtype = nest_.reduction && returns_index(*nest_.reduction) ? DType::kI64 : result_dtype(dtype);
    nest_.adds_index = nest_.num_parallel > 0 && one_in(4);
    std::vector<std::size_t> axes(nest_.num_parallel);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    if (one_in(3)) std::shuffle(axes.begin(), axes.end(), random_);
    for (const std::size_t d : axes) add_axis(nest_.result, {{d, 1}}, 0, nest_.extents[d]);
    set_layout(nest_.result);
    return nest_;
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(limit));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  /// Most results fit 16-bit floats exactly; sums of few terms stay above -8.
  DType result_dtype(DType dtype) {
    if (dtype == DType::kI32) return DType::kI32;
    if (nest_.reduction == ReductionKind::kSum) return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    return one_in(2) ? dtype : DType::kF32;
  }

  void choose_domain() {
    const std::int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40};
    const std::int64_t rank = below(5);
    std::int64_t points = 1;
    for (std::int64_t d = 0; d < rank; ++d) {
      std::int64_t extent = one_in(25) ? 0 : sizes[below(13)];
      if (points * extent > 20000) extent = 2;
      points *= std::max<std::int64_t>(extent, 1);
      nest_.extents.push_back(extent);
    }
    nest_.num_parallel = static_cast<std::size_t>(rank);
    if (rank == 0 || one_in(3)) return;
    const ReductionKind kinds[] = {ReductionKind::kSum,   ReductionKind::kSum, ReductionKind::kProd,
                                   ReductionKind::kMin,   ReductionKind::kMax, ReductionKind::kArgMin,
                                   ReductionKind::kArgMax};
    nest_.reduction = kinds[below(7)];
    const std::int64_t num_reduced = returns_index(*nest_.reduction) ? 1 : 1 + below(rank);
    nest_.num_parallel = static_cast<std::size_t>(rank - num_reduced);
  }

  struct Along {
    std::size_t dim;
    std::int64_t coefficient;
  };

  void add_axis(PlainTensor& tensor, const std::vector<Along>& along, std::int64_t offset, std::int64_t extent) {
    PlainIndex index{offset, std::vector<std::int64_t>(nest_.extents.size())};
    for (const Along& term : along) index.coefficients[term.dim] += term.coefficient;
    tensor.indices.push_back(std::move(index));
    tensor.extents.push_back(extent);
  }

  PlainTensor make_operand(DType dtype) {
    PlainTensor tensor;
    tensor.dtype = dtype;
    std::vector<std::size_t> dims(nest_.extents.size());
    std::iota(dims.begin(), dims.end(), std::size_t{0});
    if (one_in(3)) std::shuffle(dims.begin(), dims.end(), random_);
    if (one_in(3)) tensor.fill = nest_.reduction == ReductionKind::kProd ? 1 : 2;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (one_in(4)) continue;  // broadcast along this dim
      std::vector<Along> along{{dims[i], one_in(5) ? 2 : 1}};
      // A window: two dims walk one axis.
      if (i + 1 < dims.size() && one_in(5)) along.push_back({dims[++i], 1});
      std::int64_t reach = 0;
      bool is_reversed = one_in(12);
      for (Along& term : along) {
        reach += std::max<std::int64_t>(nest_.extents[term.dim] - 1, 0) * term.coefficient;
        if (is_reversed) term.coefficient = -term.coefficient;
      }
      const std::int64_t offset = is_reversed ? reach : 0;
      const std::int64_t cut = tensor.fill ? below(3) : 0;
      add_axis(tensor, along, offset - cut,
               std::max<std::int64_t>(reach + 1 - 2 * cut, one_in(8) && tensor.fill ? 0 : 1));
    }
    set_layout(tensor);
    return tensor;
  }

  /// Row-major, or with padded rows, or with axes in another order in memory; sometimes at an offset.
  void set_layout(PlainTensor& tensor) {
    std::vector<std::size_t> axes(tensor.extents.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    if (one_in(4)) std::shuffle(axes.begin(), axes.end(), random_);
    const std::int64_t padding = one_in(3) ? 1 + below(5) : 0;
    tensor.strides.assign(axes.size(), 1);
    std::int64_t stride = one_in(10) ? 2 : 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
      tensor.strides[axes[i]] = stride;
      stride *= std::max<std::int64_t>(tensor.extents[axes[i]], 1) + padding;
    }
    tensor.offset = one_in(4) ? 1 + below(9) : 0;
  }

  std::mt19937 random_;
  PlainNest nest_;
};

}  // namespace

PlainNest random_nest(std::uint32_t seed) { return NestMaker(seed).make(); }

}  // namespace millrace::test
