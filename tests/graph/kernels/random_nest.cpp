// SPDX-License-Identifier: Apache-2.0
// Writes random loop nests with LoopKernelBuilder; verify_safe() must accept them.
#include "tests/graph/kernels/random_nest.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "millrace/jit/loop_kernel_builder.h"

namespace millrace::test {
namespace {

struct RandomDim {
  AffineIndex index;
  SizeExpr extent;
  std::int64_t value = 0;
};

class NestWriter {
 public:
  explicit NestWriter(std::uint32_t seed) : random_(seed), kernel_(fmt::format("nest_{}", seed)) {}

  RandomNest run() {
    const std::size_t num_parallel = 1 + pick(3);
    const std::size_t num_passes = pick(4);
    for (std::size_t i = 0; i < num_parallel; ++i) add_dim(false);
    for (std::size_t i = 0; num_passes > 0 && i < 1 + pick(2); ++i) add_dim(true);
    num_parallel_ = num_parallel;
    const std::size_t num_operands = 1 + pick(3);
    for (std::size_t i = 0; i < num_operands; ++i) add_operand();
    for (std::size_t pass = 0; pass < num_passes; ++pass) write_pass(pass, pass + 1 == num_passes);
    write_epilogue(num_passes > 0 && has_store_);
    nest_.kernel = kernel_.finish().value();
    return std::move(nest_);
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return pick(count) == 0; }

  void add_dim(bool is_reduction) {
    static constexpr std::int64_t kExtents[] = {1, 2, 4, 7, 16, 33, 70};
    // Few elements in all, because the definition is slow.
    std::int64_t value = kExtents[pick(std::size(kExtents))];
    while (points_ * value > 6000) value = (value + 1) / 2;
    points_ *= value;
    const std::string name = fmt::format("n{}", dims_.size());
    SizeExpr extent = value;
    if (one_in(3)) {
      Dim dim = Dim(name).at_least(one_in(2) ? 1 : 0);
      if (one_in(2)) dim = dim.at_most(value + std::int64_t(pick(3)) * 50);
      if (value % 4 == 0 && one_in(2)) dim = dim.multiple_of(4);
      extent = dim;
      nest_.has_symbols = true;
      // An operand with this dim alone gives the symbol its value.
      kernel_.operand(fmt::format("x{}", nest_.operands.size()), {DType::kF32, {extent}});
      add_array(DType::kF32, {value});
    }
    const AffineIndex index = is_reduction ? kernel_.reduction(name, extent) : kernel_.parallel(name, extent);
    dims_.push_back({index, extent, value});
  }

  void add_array(DType dtype, const std::vector<std::int64_t>& extents) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    const Shape shape(std::vector<SizeExpr>(extents.begin(), extents.end()));
    const auto numbers = [&]<class T>(T) {
      std::vector<T> values(static_cast<std::size_t>(count));
      for (T& value : values) value = static_cast<T>(static_cast<int>(pick(7)) - 3);
      return testing::Array::of<T>(shape, values);
    };
    nest_.operands.push_back(dtype == DType::kF32   ? numbers(float{})
                             : dtype == DType::kI32 ? numbers(std::int32_t{})
                                                    : numbers(std::int64_t{}));
  }

  /// An operand, and how bodies load it.
  struct Operand {
    OperandId id{};
    DType dtype = DType::kF32;
    std::vector<AffineIndex> indices;
    std::optional<Scalar> fill;
    std::optional<OperandId> ids;  // a gather along dim 0
    std::vector<AffineIndex> id_indices;
    std::int64_t table = 0;
    bool is_parallel = true;  // whether the epilogue may load it
  };

  /// Some dims, in a random order.
  std::vector<std::size_t> choose_dims() {
    std::vector<std::size_t> chosen;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      if (!one_in(4)) chosen.push_back(d);
    }
    if (one_in(3)) std::shuffle(chosen.begin(), chosen.end(), random_);
    return chosen;
  }

  void add_operand() {
    Operand operand;
    operand.dtype = one_in(3) ? DType::kI32 : DType::kF32;
    std::vector<SizeExpr> shape;
    std::vector<std::int64_t> extents;
    if (one_in(4)) add_table(operand, shape, extents);
    for (const std::size_t d : choose_dims()) {
      const RandomDim& dim = dims_[d];
      operand.is_parallel &= d < num_parallel_;
      operand.indices.push_back(dim.index);
      shape.push_back(dim.extent);
      extents.push_back(dim.value);
      if (operand.ids || !one_in(4)) continue;
      // A window, whose ends are outside.
      nest_.has_window = true;
      operand.indices.back() = dim.index * static_cast<std::int64_t>(1 + pick(2)) - static_cast<std::int64_t>(pick(3));
      operand.fill = Scalar::from_double(operand.dtype, 2);
    }
    operand.id = kernel_.operand(fmt::format("x{}", nest_.operands.size()), {operand.dtype, Shape(std::move(shape))});
    add_array(operand.dtype, extents);
    operands_.push_back(std::move(operand));
  }

  void add_table(Operand& operand, std::vector<SizeExpr>& shape, std::vector<std::int64_t>& extents) {
    nest_.has_gather = true;
    const RandomDim& dim = dims_[pick(num_parallel_)];
    operand.ids = kernel_.operand(fmt::format("x{}", nest_.operands.size()), {DType::kI64, {dim.extent}});
    operand.id_indices = {dim.index};
    add_array(DType::kI64, {dim.value});  // from -3 to 3, where negative ones count from the end
    operand.table = 4 + static_cast<std::int64_t>(pick(5));
    operand.indices.push_back(AffineIndex{});
    shape.push_back(operand.table);
    extents.push_back(operand.table);
  }

  BodyValue load(BodyBuilder& b, const Operand& operand) {
    LoadOptions options{.fill = operand.fill};
    if (operand.ids) {
      const BodyValue id = kernel_.load(b, *operand.ids, operand.id_indices);
      options.gather_index = b.check_index(id, kernel_.extent(b, operand.table));
    }
    return b.convert(DType::kF32, kernel_.load(b, operand.id, operand.indices, options));
  }

  /// A value made of one to four others.
  BodyValue compute(BodyBuilder& b, const std::vector<BodyValue>& from) {
    BodyValue value = from[pick(from.size())];
    for (std::size_t i = pick(4); i-- > 0;) {
      const BodyValue other = from[pick(from.size())];
      switch (pick(5)) {
        case 0:
          value = b.add(value, other);
          break;
        case 1:
          value = b.sub(value, other);
          break;
        case 2:
          value = b.min(value, other);
          break;
        case 3:
          value = b.max(value, other);
          break;
        default:
          value = b.select(b.lt(value, other), other, b.neg(value));
      }
    }
    return value;
  }

  void write_pass(std::size_t pass, bool is_last) {
    BodyBuilder& b = pass == 0 ? kernel_.term() : kernel_.next_pass();
    std::vector<BodyValue> values = {b.convert(DType::kF32, kernel_.index(b, dims_[pick(dims_.size())].index))};
    for (const Operand& operand : operands_) values.push_back(load(b, operand));
    for (const BodyValue reduced : reduced_) values.push_back(b.convert(DType::kF32, kernel_.reduced(reduced)));
    for (const KeptId kept : kept_) values.push_back(kernel_.kept(kept));
    // What earlier passes gave grows with each pass. Small numbers stay exact.
    for (BodyValue& value : values) {
      const BodyValue limit = b.constant(DType::kF32, 50);
      value = b.max(b.min(value, limit), b.neg(limit));
    }
    const bool stores = is_last ? one_in(2) : one_in(4);
    if (!stores || one_in(2)) reduce(values, b);
    std::vector<KeptId> kept;
    if (!is_last && one_in(3)) kept.push_back(kernel_.keep(compute(b, values)));
    if (stores) store(b, values, dims_.size(), true);
    kept_.insert(kept_.end(), kept.begin(), kept.end());
  }

  void reduce(const std::vector<BodyValue>& values, BodyBuilder& b) {
    static constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kMax, ReductionKind::kMin,
                                               ReductionKind::kArgMax, ReductionKind::kArgMin};
    const std::size_t num_kinds = dims_.size() == num_parallel_ + 1 ? 5 : 3;
    for (std::size_t i = 0; i < 1 + pick(2); ++i) {
      reduced_.push_back(kernel_.reduce(kKinds[pick(num_kinds)], compute(b, values)));
    }
  }

  void write_epilogue(bool may_be_empty) {
    if (may_be_empty && one_in(2)) return;
    BodyBuilder& b = kernel_.epilogue();
    std::vector<BodyValue> values = {b.convert(DType::kF32, kernel_.index(b, dims_[pick(num_parallel_)].index))};
    for (const Operand& operand : operands_) {
      if (operand.is_parallel) values.push_back(load(b, operand));
    }
    for (const BodyValue reduced : reduced_) values.push_back(b.convert(DType::kF32, reduced));
    for (std::size_t i = 0; i < 1 + pick(2); ++i) store(b, values, num_parallel_, false);
  }

  /// Stores at the points of the first dims: one index for each, in a random order, or two of them as one.
  void store(BodyBuilder& b, const std::vector<BodyValue>& values, std::size_t num_dims, bool is_in_pass) {
    std::vector<std::size_t> order(num_dims);
    for (std::size_t d = 0; d < num_dims; ++d) order[d] = d;
    if (one_in(3)) std::shuffle(order.begin(), order.end(), random_);
    std::vector<AffineIndex> indices;
    std::vector<SizeExpr> shape;
    for (const std::size_t d : order) {
      if (!indices.empty() && one_in(4)) {
        indices.back() = indices.back() * dims_[d].extent + dims_[d].index;
        shape.back() = shape.back() * dims_[d].extent;
      } else {
        indices.push_back(dims_[d].index);
        shape.push_back(dims_[d].extent);
      }
    }
    const DType dtype = one_in(3) ? DType::kI32 : DType::kF32;
    const BodyValue value = b.convert(dtype, compute(b, values));
    const std::string name = fmt::format("y{}", num_results_++);
    const TensorType type{dtype, Shape(std::move(shape))};
    has_store_ = true;
    if (is_in_pass) return kernel_.store_in_pass(name, type, indices, value);
    kernel_.store(name, type, indices, value);
  }

  std::mt19937 random_;
  LoopKernelBuilder kernel_;
  RandomNest nest_;
  std::vector<RandomDim> dims_;
  std::size_t num_parallel_ = 0, num_results_ = 0;
  std::int64_t points_ = 1;
  std::vector<Operand> operands_;
  std::vector<BodyValue> reduced_;
  std::vector<KeptId> kept_;
  bool has_store_ = false;
};

}  // namespace

RandomNest random_nest(std::uint32_t seed) { return NestWriter(seed).run(); }

}  // namespace millrace::test
