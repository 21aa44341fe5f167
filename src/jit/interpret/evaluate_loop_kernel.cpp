// SPDX-License-Identifier: Apache-2.0
// Runs a LoopKernel point by point on host scalars. It is slow, but defines the results against which all generated
// code is tested.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/ir/reduction.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

using Point = std::vector<std::int64_t>;

/// The index along one axis, with its sizes evaluated.
struct BoundIndex {
  std::int64_t offset = 0;
  std::vector<std::int64_t> coefficients;
  std::int64_t extent = 0;
  std::int64_t stride = 0;
};
struct BoundAccess {
  std::vector<BoundIndex> indices;
  std::int64_t base = 0;
  DType stored = DType::kF32;
  std::byte* data = nullptr;
  std::optional<std::uint32_t> dynamic_dim;
  std::optional<Scalar> fill;
};

Scalar convert(DType to, Scalar value) {
  return value.dtype == to ? value : evaluate(KernelOp::kConvert, to, std::span(&value, 1));
}

class Evaluator {
 public:
  Evaluator(const LoopKernel& kernel, std::span<void* const> data, const SymbolValues& symbols)
      : kernel_(kernel), data_(data), symbols_(symbols) {}

  Status run() {
    MILLRACE_TRY(bind());
    Point point(extents_.size());
    const std::size_t num_parallel = kernel_.num_parallel();
    for_each_point(point, 0, num_parallel, [&] {
      Row row;
      row.temporaries.resize(kernel_.temporaries.size());
      for (std::uint32_t pass = 0; pass < kernel_.terms.size(); ++pass) run_pass(pass, point, row);
      const std::vector<Scalar> yields = run_body(kernel_.epilogue, point, row);
      store_all(kernel_.stores_of({}), point, yields);
    });
    if (!has_bad_index_) return {};
    return out_of_range(fmt::format("kernel '{}': an index is outside its axis", kernel_.name));
  }

 private:
  Result<BoundAccess> bind(const Access& access, const KernelTensor& tensor, std::size_t buffer) {
    BoundAccess bound;
    bound.dynamic_dim = access.dynamic_dim;
    bound.fill = access.fill;
    bound.stored = tensor.type.dtype;
    bound.data = static_cast<std::byte*>(data_[buffer]);
    MILLRACE_TRY_ASSIGN(bound.base, tensor.layout.offset.evaluate(symbols_));
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      BoundIndex index;
      MILLRACE_TRY_ASSIGN(index.offset, access.indices[axis].offset.evaluate(symbols_));
      MILLRACE_TRY_ASSIGN(index.extent, tensor.type.shape[axis].evaluate(symbols_));
      MILLRACE_TRY_ASSIGN(index.stride, tensor.layout.strides[axis].evaluate(symbols_));
      for (const SizeExpr& coefficient : access.indices[axis].coefficients) {
        MILLRACE_TRY_ASSIGN(std::int64_t value, coefficient.evaluate(symbols_));
        index.coefficients.push_back(value);
      }
      bound.indices.push_back(std::move(index));
    }
    return bound;
  }

  Status bind() {
    for (const LoopDim& dim : kernel_.domain) {
      MILLRACE_TRY_ASSIGN(std::int64_t extent, dim.extent.evaluate(symbols_));
      extents_.push_back(extent);
    }
    for (const SizeExpr& extent : kernel_.extents) {
      MILLRACE_TRY_ASSIGN(std::int64_t value, extent.evaluate(symbols_));
      body_extents_.push_back(value);
    }
    for (const Access& load : kernel_.loads) {
      MILLRACE_TRY_ASSIGN(BoundAccess bound, bind(load, kernel_.operands[load.tensor], load.tensor));
      loads_.push_back(std::move(bound));
    }
    for (const Access& store : kernel_.stores) {
      const std::size_t buffer = kernel_.operands.size() + store.tensor;
      MILLRACE_TRY_ASSIGN(BoundAccess bound, bind(store, kernel_.results[store.tensor], buffer));
      stores_.push_back(std::move(bound));
    }
    return {};
  }

  /// What the passes have computed at one parallel point.
  struct Row {
    std::vector<Scalar> reduced;                   // by reduction
    std::vector<std::vector<Scalar>> temporaries;  // by temporary, then by point of the reduction dims
    std::size_t point = 0;                         // the current point of the reduction dims
  };

  /// Calls f for every point of the dims [first, end), the last dim fastest.
  template <class F>
  void for_each_point(Point& point, std::size_t first, std::size_t end, F&& f) {
    if (first == end) return f();
    for (point[first] = 0; point[first] < extents_[first]; ++point[first]) for_each_point(point, first + 1, end, f);
  }

  /// The address of the access; null if an index is outside its axis.
  static std::byte* address(const BoundAccess& access, const Point& point, std::int64_t dynamic_index) {
    std::int64_t offset = access.base;
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const BoundIndex& bound = access.indices[axis];
      std::int64_t index = bound.offset + (access.dynamic_dim == axis ? dynamic_index : 0);
      for (std::size_t d = 0; d < point.size(); ++d) index += bound.coefficients[d] * point[d];
      if (index < 0 || index >= bound.extent) return nullptr;
      offset += index * bound.stride;
    }
    return access.data + offset * static_cast<std::int64_t>(size_bytes(access.stored));
  }

  Scalar load(const BoundAccess& access, const Point& point, std::int64_t dynamic_index) const {
    const DType result = body_dtype(access.stored);
    const std::byte* from = address(access, point, dynamic_index);
    // Without a fill, this happens only after a bad index into an axis of extent 0, which check_index has recorded.
    if (from == nullptr) return access.fill.value_or(Scalar{result, 0});
    return convert(result, load_scalar(access.stored, from));
  }

  static void store(const BoundAccess& access, const Point& point, Scalar value) {
    std::byte* to = address(access, point, 0);
    MILLRACE_CHECK(to != nullptr);
    const Scalar stored = convert(access.stored, value);
    std::memcpy(to, &stored.bits, size_bytes(access.stored));
  }

  Scalar check_index(std::int64_t index, std::int64_t extent) {
    if (index < 0) index += extent;
    const bool is_bad = index < 0 || index >= extent;
    has_bad_index_ |= is_bad;
    return Scalar::of<std::int64_t>(is_bad ? 0 : index);
  }

  std::vector<Scalar> run_body(const Body& body, const Point& point, const Row& row) {
    std::vector<Scalar> values;
    std::vector<Scalar> operands;
    for (const BodyInstruction& instruction : body.instructions) {
      operands.clear();
      for (unsigned i = 0; i < instruction.num_operands; ++i) {
        operands.push_back(values[index_of(instruction.operands[i])]);
      }
      switch (instruction.op) {
        case KernelOp::kConstant:
          values.push_back({instruction.dtype, instruction.immediate});
          break;
        case KernelOp::kLoad:
          values.push_back(
              load(loads_[instruction.immediate], point, operands.empty() ? 0 : operands[0].as<std::int64_t>()));
          break;
        case KernelOp::kIndex:
          values.push_back(Scalar::of<std::int64_t>(point[instruction.immediate]));
          break;
        case KernelOp::kExtent:
          values.push_back(Scalar::of<std::int64_t>(body_extents_[instruction.immediate]));
          break;
        case KernelOp::kReduced:
          values.push_back(row.reduced[instruction.immediate]);
          break;
        case KernelOp::kTemporary:
          values.push_back(row.temporaries[instruction.immediate][row.point]);
          break;
        case KernelOp::kCheckIndex:
          values.push_back(check_index(operands[0].as<std::int64_t>(), operands[1].as<std::int64_t>()));
          break;
        default:
          values.push_back(evaluate(instruction.op, instruction.dtype, operands));
      }
    }
    std::vector<Scalar> yields;
    for (const BodyValueId id : body.yields) yields.push_back(values[index_of(id)]);
    return yields;
  }

  /// Sums of floats accumulate in f64: in f32, a sum of ones would stop growing at 2^24.
  static ReductionState start(const Reduction& reduction) {
    ReductionState state = initial_state(reduction);
    if (is_float_sum(reduction)) state.value = convert(DType::kF64, state.value);
    return state;
  }

  void run_pass(std::uint32_t pass, Point& point, Row& row) {
    const std::size_t first = row.reduced.size();
    std::vector<ReductionState> states;
    for (const Reduction& reduction : kernel_.reductions) {
      if (reduction.pass == pass) states.push_back(start(reduction));
    }
    const std::vector<std::size_t> stored = kernel_.stores_of(pass);
    row.point = 0;
    for_each_point(point, kernel_.num_parallel(), extents_.size(), [&] {
      const std::vector<Scalar> yields = run_body(kernel_.terms[pass], point, row);
      accumulate(std::span(kernel_.reductions).subspan(first, states.size()), point, yields, states);
      std::size_t next = states.size();
      for (std::size_t i = 0; i < kernel_.temporaries.size(); ++i) {
        if (kernel_.temporaries[i].pass == pass) row.temporaries[i].push_back(yields[next++]);
      }
      store_all(stored, point, std::span(yields).subspan(next));
      ++row.point;
    });
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Reduction& reduction = kernel_.reductions[first + i];
      row.reduced.push_back(returns_index(reduction.kind) ? states[i].index
                                                          : convert(reduction.dtype, states[i].value));
    }
  }

  /// Adds the first yields, one per reduction.
  static void accumulate(std::span<const Reduction> reductions, const Point& point, std::span<const Scalar> yields,
                         std::vector<ReductionState>& states) {
    HostEval host;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const ReductionKind kind = reductions[i].kind;
      const Scalar index = Scalar::of<std::int64_t>(returns_index(kind) ? point.back() : 0);
      states[i] = combine(host, kind, states[i], convert(states[i].value.dtype, yields[i]), index);
    }
  }

  void store_all(std::span<const std::size_t> stores, const Point& point, std::span<const Scalar> yields) const {
    for (std::size_t i = 0; i < stores.size(); ++i) store(stores_[stores[i]], point, yields[i]);
  }

  const LoopKernel& kernel_;
  std::span<void* const> data_;
  const SymbolValues& symbols_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> body_extents_;
  std::vector<BoundAccess> loads_;
  std::vector<BoundAccess> stores_;
  bool has_bad_index_ = false;
};

}  // namespace

Status evaluate_loop_kernel(const LoopKernel& kernel, std::span<void* const> data, const SymbolValues& symbols) {
  return guard_allocations([&]() -> Status {
    MILLRACE_CHECK(data.size() == kernel.operands.size() + kernel.results.size());
    return Evaluator(kernel, data, symbols).run();
  });
}

}  // namespace millrace
