// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/map/random_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace millrace::test {
namespace {

using Kind = RowsOp::Kind;

/// Larger values are clamped to kClamped, so that sums of 20,000 of them are exact in f32, and single ones in bf16.
constexpr double kLargest = 64, kClamped = 8;

class Random {
 public:
  explicit Random(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return std::begin(range)[below(std::size(range))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    std::shuffle(items.begin(), items.end(), random_);
  }

 private:
  std::mt19937 random_;
};

/// The dtype of a value that a reduction or a kept value gives, and the largest magnitude.
struct Given {
  DType dtype = DType::kF32;
  double bound = kClamped;
};

/// Writes one body, and tracks the largest magnitude of each value. No value is -0, because the sign of a zero may
/// depend on the order of summing: factors are at least 1.
class BodyWriter {
 public:
  BodyWriter(Random& random, DType computed) : random_(random), computed_(computed) {}

  RowsBody take() { return std::move(ops_); }
  DType dtype_of(std::size_t value) const { return ops_[value].dtype; }
  double bound_of(std::size_t value) const { return bounds_[value]; }
  /// A number in the dtype of the computation; most often the last one.
  std::size_t any_number() { return random_.one_in(3) ? random_.one_of(numbers_) : numbers_.back(); }
  const std::vector<std::size_t>& truths() const { return truths_; }

  void add_load(std::size_t operand) { add_number({.kind = Kind::kLoad, .dtype = computed_, .number = operand}, 3); }
  void add_index(std::size_t dim, std::int64_t extent) {
    add_number({.kind = Kind::kIndex, .dtype = computed_, .number = dim}, static_cast<double>(extent));
  }
  void add_extent(std::size_t dim, std::int64_t extent) {
    add_number({.kind = Kind::kExtent, .dtype = computed_, .number = dim}, static_cast<double>(extent));
  }
  void add_constant() {
    constexpr double kConstants[] = {-3, -2, -1, 1, 2, 3};
    numbers_.push_back(constant(computed_, random_.one_of(kConstants)));
  }
  /// The result of a reduction as it is. It can be infinite.
  std::size_t add_reduced(std::size_t number, DType dtype) {
    return append({.kind = Kind::kReduced, .dtype = dtype, .number = number}, kLargest + 1);
  }
  void add_clamped_reduced(std::size_t number, DType dtype) {
    const std::size_t clamped = clamp(add_reduced(number, dtype));
    numbers_.push_back(convert(clamped, computed_));
  }
  void add_kept(std::size_t number, const Given& given) {
    const std::size_t value = append({.kind = Kind::kKept, .dtype = given.dtype, .number = number}, given.bound);
    if (given.dtype == DType::kBool) {
      truths_.push_back(value);
    } else {
      numbers_.push_back(convert(value, computed_));
    }
  }

  std::size_t convert(std::size_t value, DType dtype) {
    if (ops_[value].dtype == dtype) return value;
    return append({.kind = Kind::kConvert, .dtype = dtype, .operands = {value}}, bounds_[value]);
  }

  /// Computes another number from the last one and a random one.
  void combine() {
    const std::size_t a = numbers_.back(), b = random_.one_of(numbers_);
    const double larger = std::max(bounds_[a], bounds_[b]);
    constexpr Kind kKinds[] = {Kind::kAdd, Kind::kAdd, Kind::kSub, Kind::kMul, Kind::kMin, Kind::kMax, Kind::kSelect};
    const Kind kind = computed_ == DType::kF32 && random_.one_in(8) ? Kind::kRound : random_.one_of(kKinds);
    RowsOp op{.kind = kind, .dtype = computed_, .operands = {a, b}};
    switch (kind) {
      case Kind::kRound:
        return add_number(op, bounds_[a]);
      case Kind::kMul:
        op.operands[1] = at_least_one(b);
        return add_number(op, bounds_[a] * bounds_[op.operands[1]]);
      case Kind::kMin:
      case Kind::kMax:
        return add_number(op, larger);
      case Kind::kSelect:
        op.operands = {any_truth(), a, b};
        op.is_rare = random_.one_in(4);
        return add_number(op, larger);
      default:
        return add_number(op, bounds_[a] + bounds_[b]);
    }
  }

 private:
  std::size_t append(const RowsOp& op, double bound) {
    ops_.push_back(op);
    bounds_.push_back(bound);
    return ops_.size() - 1;
  }
  void add_number(const RowsOp& op, double bound) {
    const std::size_t value = append(op, bound);
    numbers_.push_back(bound > kLargest ? clamp(value) : value);
  }
  std::size_t constant(DType dtype, double value) {
    return append({.kind = Kind::kConstant, .dtype = dtype, .constant = value}, std::abs(value));
  }
  std::size_t clamp(std::size_t value) {
    const DType dtype = ops_[value].dtype;
    const std::size_t highest = constant(dtype, kClamped);
    const std::size_t bounded = append({.kind = Kind::kMin, .dtype = dtype, .operands = {value, highest}}, kLargest);
    const std::size_t lowest = constant(dtype, -kClamped);
    return append({.kind = Kind::kMax, .dtype = dtype, .operands = {bounded, lowest}}, kClamped);
  }
  std::size_t at_least_one(std::size_t value) {
    const std::size_t one = constant(computed_, 1);
    return append({.kind = Kind::kMax, .dtype = computed_, .operands = {value, one}}, std::max(bounds_[value], 1.0));
  }
  std::size_t any_truth() {
    if (!truths_.empty() && random_.one_in(2)) return random_.one_of(truths_);
    const std::size_t a = random_.one_of(numbers_), b = random_.one_of(numbers_);
    truths_.push_back(append({.kind = Kind::kLess, .dtype = DType::kBool, .operands = {a, b}}, 1));
    return truths_.back();
  }

  Random& random_;
  DType computed_;
  RowsBody ops_;
  std::vector<double> bounds_;
  std::vector<std::size_t> numbers_;  // values of the computed dtype of at most kLargest
  std::vector<std::size_t> truths_;
};

class RowsMaker {
 public:
  explicit RowsMaker(std::uint32_t seed) : random_(seed) {}

  RowsNest make() {
    choose_domain();
    constexpr DType kComputed[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kI32};
    computed_ = random_.one_of(kComputed);
    nest_.operands.push_back(make_whole(operand_dtype()));
    for (std::size_t more = random_.below(4); more > 0; --more) nest_.operands.push_back(make_operand());
    const std::size_t num_passes = 1 + random_.below(4);
    for (std::size_t i = 0; i < num_passes; ++i) add_pass(i + 1 == num_passes);
    finish_rows();
    return nest_;
  }

 private:
  void choose_domain() {
    constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40, 64, 130, 256, 1024};
    constexpr std::int64_t kRowExtents[] = {64, 256, 1024};  // whole numbers of GPU threads
    nest_.num_parallel = random_.below(4);
    const bool is_row = random_.one_in(4);
    const std::size_t num_reduced = is_row || random_.one_in(2) ? 1 : 1 + random_.below(3);
    const std::int64_t most = random_.one_in(16) ? 20000 : 1200;
    nest_.extents.resize(nest_.num_parallel + num_reduced);
    std::int64_t points = 1;
    for (std::size_t d = nest_.extents.size(); d-- > 0;) {  // reduction dims first: they can be long
      std::int64_t extent = random_.one_in(40) ? 0 : random_.one_of(kExtents);
      if (is_row && d == nest_.num_parallel) extent = random_.one_of(kRowExtents);
      if (points * extent > most) extent = points * 2 <= most ? 2 : 1;
      points *= std::max<std::int64_t>(extent, 1);
      nest_.extents[d] = extent;
    }
    memory_order_.resize(nest_.extents.size());
    std::iota(memory_order_.begin(), memory_order_.end(), std::size_t{0});
    if (random_.one_in(2)) random_.shuffle(memory_order_);
  }

  DType operand_dtype() {
    constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
    return computed_ == DType::kF32 ? random_.one_of(kDTypes) : computed_;
  }

  struct Along {
    std::size_t dim;
    std::int64_t coefficient;
  };

  void add_axis(RowsTensor& tensor, const std::vector<Along>& along, std::int64_t offset, std::int64_t extent) {
    PlainIndex index{offset, std::vector<std::int64_t>(nest_.extents.size())};
    for (const Along& one : along) index.coefficients[one.dim] += one.coefficient;
    tensor.plain.indices.push_back(std::move(index));
    tensor.plain.extents.push_back(extent);
    axis_dims_.push_back(along[0].dim);
  }

  /// A tensor with an axis for each of the first `num_dims` dims, in any order.
  RowsTensor make_plain(DType dtype, std::size_t num_dims, std::int64_t min_extent) {
    RowsTensor tensor;
    tensor.plain.dtype = dtype;
    std::vector<std::size_t> dims(num_dims);
    std::iota(dims.begin(), dims.end(), std::size_t{0});
    if (random_.one_in(3)) random_.shuffle(dims);
    for (const std::size_t d : dims) add_axis(tensor, {{d, 1}}, 0, std::max(nest_.extents[d], min_extent));
    set_layout(tensor);
    return tensor;
  }
  RowsTensor make_whole(DType dtype) { return make_plain(dtype, nest_.extents.size(), 1); }

  /// An operand that is broadcast along some dims, with windows, steps, reversed axes or padding.
  RowsTensor make_operand() {
    const DType dtype = operand_dtype();
    if (random_.one_in(4)) return make_whole(dtype);
    if (random_.one_in(4)) return make_plain(dtype, nest_.num_parallel, 1);
    RowsTensor tensor;
    tensor.plain.dtype = dtype;
    if (random_.one_in(3)) tensor.plain.fill = 2;
    std::vector<std::size_t> dims = memory_order_;
    if (random_.one_in(3)) random_.shuffle(dims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (random_.one_in(4)) continue;  // broadcast along this dim
      std::vector<Along> along{{dims[i], random_.one_in(6) ? 2 : 1}};
      if (i + 1 < dims.size() && random_.one_in(6)) along.push_back({dims[++i], 1});
      const bool is_reversed = random_.one_in(12);
      std::int64_t reach = 0;
      for (Along& one : along) {
        reach += std::max<std::int64_t>(nest_.extents[one.dim] - 1, 0) * one.coefficient;
        if (is_reversed) one.coefficient = -one.coefficient;
      }
      const std::int64_t cut = tensor.plain.fill ? static_cast<std::int64_t>(random_.below(3)) : 0;
      const std::int64_t min_extent = tensor.plain.fill && random_.one_in(8) ? 0 : 1;
      add_axis(tensor, along, (is_reversed ? reach : 0) - cut, std::max(reach + 1 - 2 * cut, min_extent));
    }
    set_layout(tensor);
    return tensor;
  }

  /// Most tensors have the nest's order of dims in memory; some have gaps, or begin at an offset.
  void set_layout(RowsTensor& tensor) {
    const auto place = [&](std::size_t axis) { return std::ranges::find(memory_order_, axis_dims_[axis]); };
    tensor.order.resize(axis_dims_.size());
    std::iota(tensor.order.begin(), tensor.order.end(), std::size_t{0});
    std::ranges::sort(tensor.order, {}, place);
    if (random_.one_in(6)) random_.shuffle(tensor.order);
    if (random_.one_in(4)) tensor.padding = 1 + static_cast<std::int64_t>(random_.below(5));
    tensor.plain.strides.resize(axis_dims_.size());
    std::int64_t stride = random_.one_in(12) ? 2 : 1;
    for (std::size_t i = tensor.order.size(); i-- > 0;) {
      tensor.plain.strides[tensor.order[i]] = stride;
      stride *= std::max<std::int64_t>(tensor.plain.extents[tensor.order[i]], 1) + tensor.padding;
    }
    if (random_.one_in(4)) tensor.plain.offset = 1 + static_cast<std::int64_t>(random_.below(9));
    axis_dims_.clear();
  }

  bool walks_reduction(const RowsTensor& tensor) const {
    const auto walks = [&](const PlainIndex& index) {
      return std::any_of(index.coefficients.begin() + static_cast<std::ptrdiff_t>(nest_.num_parallel),
                         index.coefficients.end(), [](std::int64_t coefficient) { return coefficient != 0; });
    };
    return std::ranges::any_of(tensor.plain.indices, walks);
  }

  /// Values that are not computed from others, then a few or many operations.
  void fill_body(BodyWriter& body, std::size_t num_dims) {
    std::vector<std::size_t> loads;
    for (std::size_t i = 0; i < nest_.operands.size(); ++i) {
      if (num_dims > nest_.num_parallel || !walks_reduction(nest_.operands[i])) loads.push_back(i);
    }
    loads.empty() ? body.add_constant() : body.add_load(random_.one_of(loads));
    for (std::size_t more = random_.below(4); more > 0; --more) add_leaf(body, loads, num_dims);
    const std::size_t num_operations = random_.one_in(3) ? 8 + random_.below(6) : 1 + random_.below(3);
    for (std::size_t i = 0; i < num_operations; ++i) body.combine();
  }

  void add_leaf(BodyWriter& body, const std::vector<std::size_t>& loads, std::size_t num_dims) {
    const bool is_term = num_dims > nest_.num_parallel;
    const std::size_t choice = random_.below(8);
    if (choice < 3 && !reduced_.empty()) {
      const std::size_t number = random_.below(reduced_.size());
      body.add_clamped_reduced(number, reduced_[number]);
    } else if (choice < 5 && is_term && !kept_.empty()) {
      const std::size_t number = random_.below(kept_.size());
      body.add_kept(number, kept_[number]);
    } else if (choice == 5 && num_dims > 0 && random_.one_in(2)) {
      const std::size_t dim = random_.below(num_dims);
      body.add_index(dim, nest_.extents[dim]);
    } else if (choice == 6 && random_.one_in(2)) {
      const std::size_t dim = random_.below(nest_.extents.size());
      body.add_extent(dim, nest_.extents[dim]);
    } else if (!loads.empty() && choice != 7) {
      body.add_load(random_.one_of(loads));
    } else {
      body.add_constant();
    }
  }

  void add_pass(bool is_last) {
    RowsPass pass;
    BodyWriter body(random_, computed_);
    fill_body(body, nest_.extents.size());
    std::vector<DType> reduced;
    std::vector<Given> kept;
    for (std::size_t i = random_.below(is_last ? 2 : 4); i > 0; --i) reduced.push_back(add_reduction(pass, body));
    for (std::size_t i = is_last ? (random_.one_in(8) ? 1 : 0) : random_.below(3); i > 0; --i) {
      kept.push_back(add_kept(pass, body));
    }
    const bool must_store = pass.reductions.empty() && pass.kept.empty();
    const bool stores = random_.one_in(is_last ? 2 : 4);
    for (std::size_t i = must_store || stores ? 1 + random_.below(2) : 0; i > 0; --i) {
      pass.stores.push_back(add_store(body, nest_.extents.size()));
    }
    pass.term = body.take();
    nest_.passes.push_back(std::move(pass));
    reduced_.insert(reduced_.end(), reduced.begin(), reduced.end());
    kept_.insert(kept_.end(), kept.begin(), kept.end());
  }

  DType add_reduction(RowsPass& pass, BodyWriter& body) {
    constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kSum,    ReductionKind::kMin,
                                        ReductionKind::kMax, ReductionKind::kArgMin, ReductionKind::kArgMax};
    constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kI32};
    const bool has_one_dim = nest_.extents.size() == nest_.num_parallel + 1;
    const ReductionKind kind = kKinds[random_.below(has_one_dim ? 6 : 4)];
    const DType dtype = random_.one_in(6) ? random_.one_of(kDTypes) : computed_;
    const std::size_t number = body.any_number();
    pass.reductions.push_back({kind, body.convert(number, dtype)});
    return returns_index(kind) ? DType::kI64 : dtype;
  }

  Given add_kept(RowsPass& pass, BodyWriter& body) {
    constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};
    if (!body.truths().empty() && random_.one_in(4)) {
      pass.kept.push_back(random_.one_of(body.truths()));
      return {DType::kBool, 1};
    }
    const DType dtype = random_.one_in(6) ? random_.one_of(kDTypes) : computed_;
    const std::size_t number = body.any_number();
    pass.kept.push_back(body.convert(number, dtype));
    return {dtype, body.bound_of(number)};
  }

  RowsStore add_store(BodyWriter& body, std::size_t num_dims) {
    const std::size_t result = nest_.results.size();
    if (!body.truths().empty() && random_.one_in(6)) {
      nest_.results.push_back(make_plain(DType::kBool, num_dims, 0));
      return {result, random_.one_of(body.truths())};
    }
    nest_.results.push_back(make_plain(operand_dtype(), num_dims, 0));
    return {result, body.any_number()};
  }

  /// The epilogue, with stores of numbers and of reductions as they are.
  void finish_rows() {
    BodyWriter body(random_, computed_);
    fill_body(body, nest_.num_parallel);
    const std::size_t num_stores = nest_.results.empty() ? 1 + random_.below(2) : random_.below(3);
    for (std::size_t i = 0; i < num_stores; ++i) {
      if (reduced_.empty() || random_.one_in(2)) {
        nest_.stores.push_back(add_store(body, nest_.num_parallel));
        continue;
      }
      const std::size_t number = random_.below(reduced_.size()), result = nest_.results.size();
      nest_.results.push_back(make_plain(reduced_[number], nest_.num_parallel, 0));
      nest_.stores.push_back({result, body.add_reduced(number, reduced_[number])});
    }
    nest_.epilogue = body.take();
  }

  Random random_;
  RowsNest nest_;
  DType computed_ = DType::kF32;
  std::vector<std::size_t> memory_order_;  // dims, outermost first
  std::vector<std::size_t> axis_dims_;     // of the tensor that is being made
  std::vector<DType> reduced_;             // by reduction
  std::vector<Given> kept_;                // by kept value
};

}  // namespace

RowsNest random_rows(std::uint32_t seed) { return RowsMaker(seed).make(); }

}  // namespace millrace::test
