// SPDX-License-Identifier: Apache-2.0
// A nest of several passes as a LoopKernel, and its results by plain loops over doubles.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "millrace/base/check.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "tests/jit/map/random_rows.h"

namespace millrace::test {
namespace {

using Kind = RowsOp::Kind;
using Point = std::vector<std::int64_t>;

/// Makes the LoopKernel of a nest.
class KernelWriter {
 public:
  KernelWriter(const RowsNest& rows, SymbolValues& symbols) : rows_(rows), symbols_(symbols) {}

  LoopKernel run(std::uint32_t is_symbolic) {
    for (std::size_t d = 0; d < rows_.extents.size(); ++d) {
      const std::string name = fmt::format("n{}", d);
      extents_.push_back(is_symbolic >> d & 1 ? symbol(name, rows_.extents[d], is_symbolic >> (d + 8))
                                              : rows_.extents[d]);
      d < rows_.num_parallel ? nest_.parallel(name, extents_[d]) : nest_.reduction(name, extents_[d]);
    }
    for (const RowsTensor& operand : rows_.operands) {
      operands_.push_back(nest_.operand(tensor_of(operand, fmt::format("x{}", operands_.size()))));
    }
    for (const RowsPass& pass : rows_.passes) write_pass(pass);
    const std::vector<BodyValue> values = write_body(nest_.epilogue(), rows_.epilogue, true);
    for (const RowsStore& store : rows_.stores) {
      const RowsTensor& result = rows_.results[store.result];
      nest_.store(tensor_of(result, fmt::format("y{}", store.result)), indices_of(result), values[store.value]);
    }
    return nest_.finish().value();
  }

 private:
  /// `facts` selects what is promised about the symbol.
  SizeExpr symbol(const std::string& name, std::int64_t value, std::uint32_t facts) {
    symbols_[name] = value;
    Dim dim = Dim(name);
    if (value > 0 && facts % 2 == 0) dim = dim.at_least(1);
    if (facts / 2 % 4 != 0) dim = dim.at_most(value + (facts / 8 % 2 == 0 ? 0 : 100));
    return value > 0 && value % 4 == 0 ? dim.multiple_of(4) : dim;
  }

  /// The extent of an axis: the size of a dim if the axis is exactly that dim.
  SizeExpr extent_of(const RowsTensor& tensor, std::size_t axis) const {
    const std::int64_t extent = tensor.plain.extents[axis];
    const PlainIndex& index = tensor.plain.indices[axis];
    for (std::size_t d = 0; d < extents_.size(); ++d) {
      PlainIndex only{0, std::vector<std::int64_t>(extents_.size())};
      only.coefficients[d] = 1;
      const bool is_dim = index.offset == 0 && index.coefficients == only.coefficients;
      if (is_dim && extent == rows_.extents[d]) return extents_[d];
    }
    return extent;
  }

  KernelTensor tensor_of(const RowsTensor& tensor, std::string name) const {
    const PlainTensor& plain = tensor.plain;
    std::vector<SizeExpr> extents, strides(plain.extents.size());
    for (std::size_t axis = 0; axis < plain.extents.size(); ++axis) extents.push_back(extent_of(tensor, axis));
    SizeExpr stride = plain.strides.empty() ? 1 : plain.strides[tensor.order.back()];
    for (std::size_t i = tensor.order.size(); i-- > 0;) {
      const std::size_t axis = tensor.order[i];
      strides[axis] = stride;
      MILLRACE_CHECK(stride.evaluate(symbols_).value() == plain.strides[axis]);
      const SizeExpr length = plain.extents[axis] == 0 ? SizeExpr(1) : extents[axis];
      stride = stride * (length + tensor.padding);
    }
    return {std::move(name), {plain.dtype, Shape(std::move(extents))}, {plain.offset, std::move(strides)}};
  }

  static std::vector<AffineIndex> indices_of(const RowsTensor& tensor) {
    std::vector<AffineIndex> indices;
    for (const PlainIndex& index : tensor.plain.indices) {
      indices.push_back({index.offset, {index.coefficients.begin(), index.coefficients.end()}});
    }
    return indices;
  }

  void write_pass(const RowsPass& pass) {
    BodyBuilder& b = &pass == &rows_.passes.front() ? nest_.term() : nest_.next_pass();
    const std::vector<BodyValue> values = write_body(b, pass.term, false);
    for (const RowsReduction& reduction : pass.reductions) {
      reduced_.push_back(nest_.reduce(reduction.kind, values[reduction.value]));
    }
    for (const std::size_t value : pass.kept) kept_.push_back(nest_.keep(values[value]));
    for (const RowsStore& store : pass.stores) {
      const RowsTensor& result = rows_.results[store.result];
      nest_.store_in_pass(tensor_of(result, fmt::format("y{}", store.result)), indices_of(result), values[store.value]);
    }
  }

  std::vector<BodyValue> write_body(BodyBuilder& b, const RowsBody& body, bool is_epilogue) {
    std::vector<BodyValue> values;
    for (const RowsOp& op : body) values.push_back(write_op(b, op, values, is_epilogue));
    return values;
  }

  BodyValue write_op(BodyBuilder& b, const RowsOp& op, const std::vector<BodyValue>& values, bool is_epilogue) {
    const auto operand = [&](std::size_t i) { return values[op.operands[i]]; };
    switch (op.kind) {
      case Kind::kConstant:
        return b.constant(op.dtype, op.constant);
      case Kind::kLoad: {
        const RowsTensor& tensor = rows_.operands[op.number];
        LoadOptions options;
        if (tensor.plain.fill) options.fill = Scalar::from_double(op.dtype, *tensor.plain.fill);
        return nest_.load(b, operands_[op.number], indices_of(tensor), options);
      }
      case Kind::kIndex:
        return b.convert(op.dtype, b.index(static_cast<std::uint32_t>(op.number)));
      case Kind::kExtent:
        return b.convert(op.dtype, nest_.extent(b, extents_[op.number]));
      case Kind::kReduced:
        return is_epilogue ? reduced_[op.number] : nest_.reduced(reduced_[op.number]);
      case Kind::kKept:
        return nest_.kept(kept_[op.number]);
      case Kind::kConvert:
        return b.convert(op.dtype, operand(0));
      case Kind::kRound:
        return b.convert(op.dtype, b.convert(DType::kF16, operand(0)));
      case Kind::kAdd:
        return b.add(operand(0), operand(1));
      case Kind::kSub:
        return b.sub(operand(0), operand(1));
      case Kind::kMul:
        return b.mul(operand(0), operand(1));
      case Kind::kMin:
        return b.min(operand(0), operand(1));
      case Kind::kMax:
        return b.max(operand(0), operand(1));
      case Kind::kLess:
        return b.lt(operand(0), operand(1));
      case Kind::kSelect:
        return op.is_rare ? b.select_rarely(operand(0), operand(1), operand(2))
                          : b.select(operand(0), operand(1), operand(2));
    }
    MILLRACE_CHECK(false);
    return {};
  }

  const RowsNest& rows_;
  SymbolValues& symbols_;
  LoopKernelBuilder nest_{"rows"};
  std::vector<SizeExpr> extents_;
  std::vector<OperandId> operands_;
  std::vector<BodyValue> reduced_;
  std::vector<KeptId> kept_;
};

double read_number(DType dtype, const std::byte* at) {
  return visit_dtype(dtype, [&]<class T>() -> double {
    T value;
    std::memcpy(static_cast<void*>(&value), at, sizeof(T));
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

void write_number(DType dtype, std::byte* at, double number) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      const T value(static_cast<float>(number));
      std::memcpy(at, &value, sizeof(T));
    } else {
      const auto value = static_cast<T>(number);
      std::memcpy(at, &value, sizeof(T));
    }
  });
}

/// The place of the tensor's element at `point`, in bytes; empty if it is outside.
std::optional<std::size_t> place_of(const PlainTensor& tensor, const Point& point) {
  std::int64_t place = tensor.offset;
  for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    std::int64_t index = tensor.indices[axis].offset;
    for (std::size_t d = 0; d < point.size(); ++d) index += tensor.indices[axis].coefficients[d] * point[d];
    if (index < 0 || index >= tensor.extents[axis]) return std::nullopt;
    place += index * tensor.strides[axis];
  }
  return static_cast<std::size_t>(place) * size_bytes(tensor.dtype);
}

class Reference {
 public:
  Reference(const RowsNest& nest, std::span<const GuardedBuffer> buffers) : nest_(nest), buffers_(buffers) {
    for (std::size_t i = nest.operands.size(); i < buffers.size(); ++i) {
      results_.emplace_back(buffers[i].bytes().size(), kUntouched);
    }
  }

  std::vector<std::vector<std::byte>> run() {
    Point point(nest_.extents.size());
    walk(point, 0, nest_.num_parallel, [&] {
      reduced_.clear();
      kept_.clear();
      for (const RowsPass& pass : nest_.passes) run_pass(pass, point);
      store(nest_.stores, evaluate(nest_.epilogue, point), point);
    });
    return std::move(results_);
  }

 private:
  template <class F>
  void walk(Point& point, std::size_t dim, std::size_t end, F&& f) {
    if (dim == end) return f();
    for (point[dim] = 0; point[dim] < nest_.extents[dim]; ++point[dim]) walk(point, dim + 1, end, f);
    point[dim] = 0;
  }

  static double empty_reduction(ReductionKind kind, DType dtype) {
    if (kind == ReductionKind::kSum) return 0;
    const double lowest = is_float(dtype) ? -std::numeric_limits<double>::infinity()
                                          : static_cast<double>(std::numeric_limits<std::int32_t>::lowest());
    const double highest = is_float(dtype) ? std::numeric_limits<double>::infinity()
                                           : static_cast<double>(std::numeric_limits<std::int32_t>::max());
    return kind == ReductionKind::kMin || kind == ReductionKind::kArgMin ? highest : lowest;
  }

  /// Adds the term to the best value so far, and notes its place if it becomes the best.
  static void add_term(ReductionKind kind, double term, std::int64_t place, double& best, std::int64_t& best_place) {
    if (kind == ReductionKind::kSum) {
      best += term;
      return;
    }
    const bool is_min = kind == ReductionKind::kMin || kind == ReductionKind::kArgMin;
    if (is_min ? term >= best : term <= best) return;
    best = term;
    best_place = place;
  }

  void run_pass(const RowsPass& pass, Point& point) {
    std::vector<double> best;
    std::vector<std::int64_t> places(pass.reductions.size());
    for (const RowsReduction& reduction : pass.reductions) {
      best.push_back(empty_reduction(reduction.kind, pass.term[reduction.value].dtype));
    }
    const std::size_t first_kept = kept_.size();
    kept_.resize(first_kept + pass.kept.size());
    row_point_ = 0;
    walk(point, nest_.num_parallel, nest_.extents.size(), [&] {
      const std::vector<double> values = evaluate(pass.term, point);
      for (std::size_t i = 0; i < best.size(); ++i) {
        add_term(pass.reductions[i].kind, values[pass.reductions[i].value], point.back(), best[i], places[i]);
      }
      for (std::size_t i = 0; i < pass.kept.size(); ++i) kept_[first_kept + i].push_back(values[pass.kept[i]]);
      store(pass.stores, values, point);
      ++row_point_;
    });
    for (std::size_t i = 0; i < best.size(); ++i) {
      reduced_.push_back(returns_index(pass.reductions[i].kind) ? static_cast<double>(places[i]) : best[i]);
    }
  }

  std::vector<double> evaluate(const RowsBody& body, const Point& point) const {
    std::vector<double> values;
    for (const RowsOp& op : body) values.push_back(evaluate(op, values, point));
    return values;
  }

  double evaluate(const RowsOp& op, const std::vector<double>& values, const Point& point) const {
    const double a = values.empty() ? 0 : values[op.operands[0]], b = values.empty() ? 0 : values[op.operands[1]];
    switch (op.kind) {
      case Kind::kConstant:
        return op.constant;
      case Kind::kLoad: {
        const PlainTensor& tensor = nest_.operands[op.number].plain;
        const std::optional<std::size_t> place = place_of(tensor, point);
        return place ? read_number(tensor.dtype, buffers_[op.number].data() + *place) : *tensor.fill;
      }
      case Kind::kIndex:
        return static_cast<double>(point[op.number]);
      case Kind::kExtent:
        return static_cast<double>(nest_.extents[op.number]);
      case Kind::kReduced:
        return reduced_[op.number];
      case Kind::kKept:
        return kept_[op.number][row_point_];
      case Kind::kConvert:
      case Kind::kRound:
        return a;
      case Kind::kAdd:
        return a + b;
      case Kind::kSub:
        return a - b;
      case Kind::kMul:
        return a * b;
      case Kind::kMin:
        return std::min(a, b);
      case Kind::kMax:
        return std::max(a, b);
      case Kind::kLess:
        return a < b ? 1 : 0;
      case Kind::kSelect:
        return a != 0 ? b : values[op.operands[2]];
    }
    MILLRACE_CHECK(false);
    return 0;
  }

  void store(const std::vector<RowsStore>& stores, const std::vector<double>& values, const Point& point) {
    for (const RowsStore& store : stores) {
      const PlainTensor& tensor = nest_.results[store.result].plain;
      write_number(tensor.dtype, &results_[store.result][*place_of(tensor, point)], values[store.value]);
    }
  }

  const RowsNest& nest_;
  std::span<const GuardedBuffer> buffers_;
  std::vector<std::vector<std::byte>> results_;
  std::vector<double> reduced_;
  std::vector<std::vector<double>> kept_;  // by kept value, then by point of the reduction dims
  std::size_t row_point_ = 0;
};

std::size_t bytes_of(const PlainTensor& tensor) {
  return static_cast<std::size_t>(tensor.num_elements()) * size_bytes(tensor.dtype);
}

}  // namespace

LoopKernel RowsNest::to_kernel(std::uint32_t is_symbolic, SymbolValues& symbols) const {
  return KernelWriter(*this, symbols).run(is_symbolic);
}

std::vector<GuardedBuffer> make_buffers(const RowsNest& nest, GuardedBuffer::Guard guard, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<GuardedBuffer> buffers;
  for (const RowsTensor& operand : nest.operands) {
    buffers.emplace_back(bytes_of(operand.plain), guard);
    const std::size_t size = size_bytes(operand.plain.dtype);
    for (std::size_t at = 0; at < buffers.back().bytes().size(); at += size) {
      const double magnitude = 1.0 + static_cast<double>(random() % 3);
      write_number(operand.plain.dtype, buffers.back().data() + at, random() % 2 == 0 ? magnitude : -magnitude);
    }
    buffers.back().make_read_only();
  }
  for (const RowsTensor& result : nest.results) buffers.emplace_back(bytes_of(result.plain), guard);
  return buffers;
}

std::vector<std::vector<std::byte>> expected_results(const RowsNest& nest, std::span<const GuardedBuffer> buffers) {
  return Reference(nest, buffers).run();
}

std::string wrong_byte(const RowsNest& nest, std::span<const GuardedBuffer> buffers,
                       std::span<const std::vector<std::byte>> expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const GuardedBuffer& found = buffers[nest.operands.size() + i];
    if (!found.is_slack_intact()) return fmt::format("bytes around result {} are overwritten", i);
    const auto [at, wanted] = std::ranges::mismatch(found.bytes(), expected[i]);
    if (wanted == expected[i].end()) continue;
    return fmt::format("result {}, byte {}: found 0x{:02x}, expected 0x{:02x}", i, at - found.bytes().begin(),
                       std::to_integer<unsigned>(*at), std::to_integer<unsigned>(*wanted));
  }
  return "";
}

}  // namespace millrace::test
