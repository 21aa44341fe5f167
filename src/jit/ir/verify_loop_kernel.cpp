// SPDX-License-Identifier: Apache-2.0
// Verifies loop kernels: checks every invariant that loop_kernel.h lists, and reports all failures.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/ir/affine.h"
#include "millrace/base/printable.h"
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
    for (std::uint32_t pass = 0; pass < kernel_.terms.size() && broken_.empty(); ++pass) {
      check_body(term_text(pass), kernel_.terms[pass], pass);
    }
    if (broken_.empty()) check_body("epilogue", kernel_.epilogue, {});
    if (broken_.empty()) return {};
    return invalid_argument(std::move(broken_));
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (!broken_.empty()) broken_ += "\n";
    broken_ +=
        fmt::format("loop kernel '{}': ", printable(kernel_.name)) + fmt::format(format, std::forward<Args>(args)...);
  }

  std::string term_text(std::uint32_t pass) const {
    return kernel_.terms.size() == 1 ? "term" : fmt::format("term {}", pass);
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
    if (!kernel_.terms.empty() || kernel_.results.size() != 1) {
      return fail("in place with {} passes and {} results, expected a map with one result", kernel_.terms.size(),
                  kernel_.results.size());
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
      fail("{}: index {} runs from {} to {}, expected inside [0, {}){}", where, axis, range->min, range->max,
           extent.constant(), where.starts_with("load") ? "; give it a fill" : "");
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
      if (!store.pass && walks_reduction(store)) {
        fail("store {}: indexed by a reduction dim, expected parallel dims only", i);
      }
      if (store.pass && !check_pass(fmt::format("store {}", i), *store.pass)) continue;
      check_store_covers(i, store);
    }
  }

  bool check_pass(const std::string& where, std::uint32_t pass) {
    if (pass < kernel_.terms.size()) return true;
    fail("{}: pass {}, expected less than {}", where, pass, kernel_.terms.size());
    return false;
  }

  /// Checks a necessary condition for storing every element exactly once: each dim of the points at which the store
  /// runs must change an index.
  void check_store_covers(std::size_t number, const Access& store) {
    const std::size_t num_dims = store.pass ? kernel_.domain.size() : kernel_.num_parallel();
    for (std::size_t d = 0; d < num_dims; ++d) {
      const bool is_walked = std::any_of(store.indices.begin(), store.indices.end(),
                                         [d](const AffineIndex& index) { return !index.coefficients[d].is(0); });
      if (!is_walked && !kernel_.domain[d].extent.is(1) && (store.pass || !kernel_.domain[d].is_reduction)) {
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
    if (kernel_.terms.empty() && num_reduction_dims > 0) {
      fail("{} reduction dims but no pass", num_reduction_dims);
    }
    check_passes("reduction", kernel_.reductions);
    check_passes("temporary", kernel_.temporaries);
    for (std::uint32_t pass = 0; pass < kernel_.terms.size(); ++pass) {
      if (num_yields(pass) == 0) fail("pass {}: reduces, keeps and stores nothing", pass);
    }
    for (std::size_t i = 0; i < kernel_.temporaries.size(); ++i) {
      const DType dtype = kernel_.temporaries[i].dtype;
      if (body_dtype(dtype) != dtype)
        fail("temporary {}: is {}, expected {}", i, to_text(dtype), to_text(body_dtype(dtype)));
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

  /// Checks that the items are in the order of their passes, which must exist.
  template <class Item>
  void check_passes(std::string_view role, const std::vector<Item>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string where = fmt::format("{} {}", role, i);
      if (check_pass(where, items[i].pass) && i > 0 && items[i].pass < items[i - 1].pass) {
        fail("{}: in pass {}, expected at least {}, like the one before", where, items[i].pass, items[i - 1].pass);
      }
    }
  }

  std::size_t num_yields(std::uint32_t pass) const {
    const auto is_in_pass = [pass](const auto& item) { return item.pass == pass; };
    return static_cast<std::size_t>(std::ranges::count_if(kernel_.reductions, is_in_pass) +
                                    std::ranges::count_if(kernel_.temporaries, is_in_pass) +
                                    std::ranges::count_if(kernel_.stores, is_in_pass));
  }

  /// The dtypes that a body must yield: the term of a pass, or the epilogue if `pass` is empty.
  std::vector<DType> yielded_dtypes(std::optional<std::uint32_t> pass) const {
    std::vector<DType> dtypes;
    for (const Reduction& reduction : kernel_.reductions) {
      if (pass == reduction.pass) dtypes.push_back(reduction.dtype);
    }
    for (const Temporary& temporary : kernel_.temporaries) {
      if (pass == temporary.pass) dtypes.push_back(temporary.dtype);
    }
    for (const std::size_t store : kernel_.stores_of(pass)) {
      dtypes.push_back(body_dtype(kernel_.results[store].type.dtype));
    }
    return dtypes;
  }

  void check_body(const std::string& role, const Body& body, std::optional<std::uint32_t> pass) {
    for (std::size_t i = 0; i < body.instructions.size(); ++i) check_instruction(role, body, i, pass);
    const std::vector<DType> expected = yielded_dtypes(pass);
    if (body.yields.size() != expected.size()) {
      const bool only_reduces = kernel_.terms.size() == 1 && expected.size() == kernel_.reductions.size();
      fail("{}: {} yields, expected {}, one per {}", role, body.yields.size(), expected.size(),
           !pass          ? "store"
           : only_reduces ? "reduction"
                          : "reduction, temporary and store of the pass");
      return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!body.instructions.contains(body.yields[i])) {
        fail("{}: yield {} is %{}, which does not exist", role, i, index_of(body.yields[i]));
        continue;
      }
      const DType found = body.instructions[body.yields[i]].dtype;
      if (found != expected[i]) fail("{}: yield {} is {}, expected {}", role, i, to_text(found), to_text(expected[i]));
    }
  }

  void check_instruction(const std::string& role, const Body& body, std::size_t number,
                         std::optional<std::uint32_t> pass) {
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
    check_immediate(where, instruction, pass);
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

  void check_immediate(const std::string& where, const BodyInstruction& instruction,
                       std::optional<std::uint32_t> pass) {
    const bool is_epilogue = !pass;
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
    } else if (instruction.op == KernelOp::kTemporary) {
      if (is_epilogue) return fail("{}: allowed only in a term", where);
      if (instruction.immediate >= kernel_.temporaries.size()) {
        return fail("{}: temporary {}, expected less than {}", where, instruction.immediate,
                    kernel_.temporaries.size());
      }
      const Temporary& temporary = kernel_.temporaries[instruction.immediate];
      if (temporary.pass >= *pass)
        return fail("{}: of pass {}, expected one of an earlier pass", where, temporary.pass);
      expect_dtype(temporary.dtype);
    } else if (instruction.op == KernelOp::kReduced) {
      if (instruction.immediate >= kernel_.reductions.size()) {
        return fail("{}: reduction {}, expected less than {}", where, instruction.immediate, kernel_.reductions.size());
      }
      const Reduction& reduction = kernel_.reductions[instruction.immediate];
      if (pass && reduction.pass >= *pass) {
        return fail("{}: of pass {}, expected one of an earlier pass", where, reduction.pass);
      }
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
