// SPDX-License-Identifier: Apache-2.0
// Verifies loop kernels: checks every invariant that loop_kernel.h lists, and reports all failures.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/ir/affine.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

class Verifier {
 public:
  explicit Verifier(const LoopKernel& kernel) : kernel_(kernel) {}

  Status run() {
    check_domain();
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) check_tensor("operand", i, kernel_.operands[i]);
    for (std::size_t i = 0; i < kernel_.results.size(); ++i) check_tensor("result", i, kernel_.results[i]);
    for (std::size_t i = 0; i < kernel_.loads.size(); ++i) check_load(i);
    check_stores();
    check_reductions();
    if (kernel_.in_place && broken_.empty()) check_in_place(*kernel_.in_place);
    // Bodies refer to loads and reductions, so check them only if those are valid.
    if (broken_.empty()) check_body("term", kernel_.term, false);
    if (broken_.empty()) check_body("epilogue", kernel_.epilogue, true);
    if (broken_.empty()) return {};
    return invalid_argument(std::move(broken_));
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (!broken_.empty()) broken_ += "\n";
    broken_ += fmt::format("loop kernel '{}': ", kernel_.name) + fmt::format(format, std::forward<Args>(args)...);
  }

  void check_domain() {
    for (std::size_t d = kernel_.num_parallel(); d < kernel_.domain.size(); ++d) {
      if (!kernel_.domain[d].is_reduction) {
        fail("dim {} is parallel, expected reduction dims after all parallel ones", d);
      } else if (kernel_.domain[d].is_workgroup_dim) {
        fail("dim {} is a reduction, expected a parallel one whose indices are groups", d);
      }
    }
  }

  void check_tensor(std::string_view role, std::size_t number, const KernelTensor& tensor) {
    if (tensor.layout.strides.size() != tensor.type.shape.rank()) {
      fail("{} {}: {} strides, expected {} like {}", role, number, tensor.layout.strides.size(),
           tensor.type.shape.rank(), tensor.type.to_text());
    }
  }

  void check_in_place(std::uint32_t operand) {
    if (!kernel_.reductions.empty() || kernel_.results.size() != 1) {
      return fail("in place with {} reductions and {} results, expected a map with one result",
                  kernel_.reductions.size(), kernel_.results.size());
    }
    if (operand >= kernel_.operands.size()) {
      return fail("operand {} in the result's buffer, expected less than {}", operand, kernel_.operands.size());
    }
    const KernelTensor &from = kernel_.operands[operand], &to = kernel_.results[0];
    if (from.type != to.type || from.layout != to.layout) {
      fail("operand {} in the result's buffer is {}, expected {} with the result's layout", operand,
           from.type.to_text(), to.type.to_text());
    }
    for (std::size_t i = 0; i < kernel_.loads.size(); ++i) {
      const Access& load = kernel_.loads[i];
      if (load.tensor != operand) continue;
      if (load.dynamic_dim || load.fill || load.indices != kernel_.stores[0].indices) {
        fail("load {}: operand {} in the result's buffer is read at indices other than the result's", i, operand);
      }
    }
  }

  bool check_access(std::string_view role, std::size_t number, const Access& access,
                    const std::vector<KernelTensor>& tensors) {
    const std::string where = fmt::format("{} {}", role, number);
    if (access.tensor >= tensors.size()) {
      fail("{}: tensor {}, expected less than {}", where, access.tensor, tensors.size());
      return false;
    }
    const TensorType& type = tensors[access.tensor].type;
    if (access.indices.size() != type.shape.rank()) {
      fail("{}: {} indices, expected {} like {}", where, access.indices.size(), type.shape.rank(), type.to_text());
      return false;
    }
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      if (access.indices[axis].coefficients.size() != kernel_.domain.size()) {
        fail("{}: index {} has {} coefficients, expected {}, one per domain dim", where, axis,
             access.indices[axis].coefficients.size(), kernel_.domain.size());
        return false;
      }
      check_inside(where, access, axis, type.shape[axis]);
    }
    return true;
  }

  void check_inside(const std::string& where, const Access& access, std::size_t axis, const SizeExpr& extent) {
    if (access.fill || access.dynamic_dim == axis || !extent.is_constant()) return;
    const std::optional<IndexRange> range = constant_range(access.indices[axis], kernel_.domain);
    if (range && (range->min < 0 || range->max >= extent.constant())) {
      fail("{}: index {} runs from {} to {}, expected inside [0, {}); give it a fill", where, axis, range->min,
           range->max, extent.constant());
    }
  }

  void check_load(std::size_t number) {
    const Access& load = kernel_.loads[number];
    if (!check_access("load", number, load, kernel_.operands)) return;
    const TensorType& type = kernel_.operands[load.tensor].type;
    if (load.dynamic_dim && *load.dynamic_dim >= type.shape.rank()) {
      fail("load {}: dynamic dim {}, expected less than {}", number, *load.dynamic_dim, type.shape.rank());
    }
    if (load.fill && load.fill->dtype != body_dtype(type.dtype)) {
      fail("load {}: fill is {}, expected {}", number, to_text(load.fill->dtype), to_text(body_dtype(type.dtype)));
    }
  }

  void check_stores() {
    if (kernel_.stores.size() != kernel_.results.size()) {
      fail("{} stores, expected one for each of {} results", kernel_.stores.size(), kernel_.results.size());
      return;
    }
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const Access& store = kernel_.stores[i];
      if (store.tensor != i) fail("store {}: writes to result {}, expected {}", i, store.tensor, i);
      if (store.dynamic_dim || store.fill) fail("store {}: has a dynamic dim or a fill, expected neither", i);
      if (!check_access("store", i, store, kernel_.results)) continue;
      if (walks_reduction(store)) fail("store {}: indexed by a reduction dim, expected parallel dims only", i);
      check_store_covers(i, store);
    }
  }

  /// Checks a necessary condition for storing every element exactly once: each parallel dim must change an index.
  void check_store_covers(std::size_t number, const Access& store) {
    for (std::size_t d = 0; d < kernel_.num_parallel(); ++d) {
      const bool is_walked = std::any_of(store.indices.begin(), store.indices.end(),
                                         [d](const AffineIndex& index) { return !index.coefficients[d].is(0); });
      if (!is_walked && !kernel_.domain[d].extent.is(1) && !kernel_.domain[d].is_reduction) {
        fail("store {}: not indexed by d{}, so its points overwrite each other", number, d);
      }
    }
  }

  bool walks_reduction(const Access& access) const {
    return std::any_of(access.indices.begin(), access.indices.end(), [&](const AffineIndex& index) {
      for (std::size_t d = kernel_.num_parallel(); d < index.coefficients.size(); ++d) {
        if (!index.coefficients[d].is(0)) return true;
      }
      return false;
    });
  }

  void check_reductions() {
    const std::size_t num_reduction_dims = kernel_.domain.size() - kernel_.num_parallel();
    if (kernel_.reductions.empty() && num_reduction_dims > 0) {
      fail("{} reduction dims but no reduction", num_reduction_dims);
    }
    for (std::size_t i = 0; i < kernel_.reductions.size(); ++i) {
      const Reduction& reduction = kernel_.reductions[i];
      if (reduction.dtype == DType::kBool || body_dtype(reduction.dtype) != reduction.dtype) {
        fail("reduction {}: accumulates in {}, expected an integer, f32 or f64", i, to_text(reduction.dtype));
      }
      if (returns_index(reduction.kind) && num_reduction_dims != 1) {
        fail("reduction {}: {} over {} dims, expected one", i, to_text(reduction.kind), num_reduction_dims);
      }
    }
  }

  void check_body(std::string_view role, const Body& body, bool is_epilogue) {
    for (std::size_t i = 0; i < body.instructions.size(); ++i) check_instruction(role, body, i, is_epilogue);
    const std::size_t expected = is_epilogue ? kernel_.stores.size() : kernel_.reductions.size();
    if (body.yields.size() != expected) {
      fail("{}: {} yields, expected {}, one per {}", role, body.yields.size(), expected,
           is_epilogue ? "store" : "reduction");
      return;
    }
    for (std::size_t i = 0; i < expected; ++i) {
      if (!body.instructions.contains(body.yields[i])) {
        fail("{}: yield {} is %{}, which does not exist", role, i, index_of(body.yields[i]));
        continue;
      }
      const DType found = body.instructions[body.yields[i]].dtype;
      const DType wanted = is_epilogue ? body_dtype(kernel_.results[i].type.dtype) : kernel_.reductions[i].dtype;
      if (found != wanted) fail("{}: yield {} is {}, expected {}", role, i, to_text(found), to_text(wanted));
    }
  }

  void check_instruction(std::string_view role, const Body& body, std::size_t number, bool is_epilogue) {
    const BodyInstruction& instruction = body.instructions[static_cast<BodyValueId>(number)];
    const std::string where = fmt::format("{}: %{} = {}", role, number, to_text(instruction.op));
    if (rule_of(instruction.op) == KernelOpRule::kMachine) return fail("{}: allowed only in machine kernels", where);
    unsigned expected = num_operands(instruction.op);
    if (instruction.op == KernelOp::kLoad) {
      if (instruction.immediate >= kernel_.loads.size()) {
        return fail("{}: load {}, expected less than {}", where, instruction.immediate, kernel_.loads.size());
      }
      expected = kernel_.loads[instruction.immediate].dynamic_dim ? 1 : 0;
    }
    if (instruction.num_operands != expected) {
      return fail("{}: {} operands, expected {}", where, instruction.num_operands, expected);
    }
    for (unsigned i = 0; i < instruction.num_operands; ++i) {
      if (index_of(instruction.operands[i]) >= number) {
        return fail("{}: operand {} is %{}, which is not yet defined", where, i, index_of(instruction.operands[i]));
      }
    }
    check_types(where, body, instruction);
    check_immediate(where, instruction, is_epilogue);
  }

  void check_types(const std::string& where, const Body& body, const BodyInstruction& instruction) {
    std::vector<DType> operands;
    std::string found;
    for (unsigned i = 0; i < instruction.num_operands; ++i) {
      operands.push_back(body.instructions[instruction.operands[i]].dtype);
      found += fmt::format("{}{}", i == 0 ? "" : ", ", to_text(operands.back()));
    }
    if (rule_of(instruction.op) == KernelOpRule::kBody) {
      const bool is_index = std::all_of(operands.begin(), operands.end(), [](DType t) { return t == DType::kI64; });
      if (!is_index) fail("{}: has operands ({}), expected i64", where, found);
    } else if (!follows_rule(instruction.op, instruction.dtype, operands)) {
      fail("{}: has operands ({}) and result {}, which the op does not allow", where, found,
           to_text(instruction.dtype));
    }
    check_16_bit(where, instruction, operands);
  }

  /// Only conversions of values or bits may have operands or results that are 16-bit floats. A conversion to 16 bits
  /// and back rounds a value.
  void check_16_bit(const std::string& where, const BodyInstruction& instruction, std::span<const DType> operands) {
    const auto is_16_bit = [](DType dtype) { return body_dtype(dtype) != dtype; };
    const auto taken = std::find_if(operands.begin(), operands.end(), is_16_bit);
    const bool converts = rule_of(instruction.op) == KernelOpRule::kConvert;
    if (converts || (taken == operands.end() && !is_16_bit(instruction.dtype))) return;
    fail("{}: uses {}, which only conversions may use", where,
         to_text(taken == operands.end() ? instruction.dtype : *taken));
  }

  void check_immediate(const std::string& where, const BodyInstruction& instruction, bool is_epilogue) {
    const auto expect_dtype = [&](DType wanted) {
      if (instruction.dtype != wanted) {
        fail("{}: result is {}, expected {}", where, to_text(instruction.dtype), to_text(wanted));
      }
    };
    if (instruction.op == KernelOp::kLoad) {
      const Access& load = kernel_.loads[instruction.immediate];
      expect_dtype(body_dtype(kernel_.operands[load.tensor].type.dtype));
      if (is_epilogue && walks_reduction(load))
        fail("{}: load {} is indexed by a reduction dim", where, instruction.immediate);
    } else if (instruction.op == KernelOp::kIndex) {
      expect_dtype(DType::kI64);
      const std::size_t limit = is_epilogue ? kernel_.num_parallel() : kernel_.domain.size();
      if (instruction.immediate >= limit)
        fail("{}: dim {}, expected less than {}", where, instruction.immediate, limit);
    } else if (instruction.op == KernelOp::kExtent) {
      expect_dtype(DType::kI64);
      if (instruction.immediate >= kernel_.extents.size()) {
        fail("{}: extent {}, expected less than {}", where, instruction.immediate, kernel_.extents.size());
      }
    } else if (instruction.op == KernelOp::kCheckIndex) {
      expect_dtype(DType::kI64);
    } else if (instruction.op == KernelOp::kReduced) {
      if (!is_epilogue) return fail("{}: allowed only in an epilogue", where);
      if (instruction.immediate >= kernel_.reductions.size()) {
        return fail("{}: reduction {}, expected less than {}", where, instruction.immediate, kernel_.reductions.size());
      }
      const Reduction& reduction = kernel_.reductions[instruction.immediate];
      expect_dtype(returns_index(reduction.kind) ? DType::kI64 : reduction.dtype);
    }
  }

  const LoopKernel& kernel_;
  std::string broken_;
};

}  // namespace

Status verify(const LoopKernel& kernel) {
  VerificationCount::note(IrLevel::kLoopKernel);
  return guard_allocations([&] { return Verifier(kernel).run(); });
}

}  // namespace millrace
