// SPDX-License-Identifier: Apache-2.0
// Runs an application's kernels on arrays, and compares devices with the kernel's definition.
#include "millrace/graph/testing.h"

#include <cmath>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/passes/constant_elements.h"
#include "jit/ir/kernel_sizes.h"
#include "millrace/base/printable.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/compile.h"
#include "millrace/graph/program.h"
#include "millrace/jit/scalar.h"
#include "millrace/ops/op_def.h"

namespace millrace::testing {
namespace {

std::string name_of(const LoopKernel& kernel) { return fmt::format("kernel '{}'", printable(kernel.name)); }

Extents extents_of(const Array& array) {
  std::vector<std::int64_t> extents;
  for (const SizeExpr& dim : array.type.shape.dims()) extents.push_back(dim.constant());
  return Extents(extents);
}

/// Checks that a graph would take the kernel.
Status check_kernel(const LoopKernel& kernel) {
  std::vector<TensorType> operands;
  for (const KernelTensor& operand : kernel.operands) operands.push_back(operand.type);
  const Status refused = unguarded(infer_nest(kernel, operands)).status();
  return refused.ok() ? refused : Status(refused.code(), fmt::format("{}: {}", name_of(kernel), refused.message()));
}

Status does_not_fit(const LoopKernel& kernel, std::size_t i, const Array& found) {
  return invalid_argument(fmt::format("{}: array {} is {} with {} bytes, expected {}; correct it", name_of(kernel), i,
                                      found.type.to_text(), found.bytes.size(), kernel.operands[i].type.to_text()));
}

/// Checks that each array has the dtype and rank of its operand, constant dims, and bytes for all its elements.
Status check_arrays(const LoopKernel& kernel, std::span<const Array> operands) {
  if (operands.size() != kernel.operands.size()) {
    return invalid_argument(fmt::format("{}: {} arrays, expected {}, one per operand; pass as many", name_of(kernel),
                                        operands.size(), kernel.operands.size()));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorType &found = operands[i].type, &expected = kernel.operands[i].type;
    const bool fits = found.dtype == expected.dtype && found.shape.rank() == expected.shape.rank() &&
                      found.shape.is_static() && size_bytes(found).is(std::ssize(operands[i].bytes));
    if (!fits) return does_not_fit(kernel, i, operands[i]);
  }
  return {};
}

/// The value of each symbol: that of the operand dim which is the symbol alone.
Result<SymbolValues> bind_symbols(const LoopKernel& kernel, std::span<const Array> operands) {
  std::map<std::string, Dim> symbols;
  Status collected;
  for_each_size(kernel, [&](const SizeExpr& size) {
    if (collected.ok()) collected = size.collect_symbols(symbols);
  });
  MILLRACE_TRY(collected);
  SymbolValues values;
  for (const auto& [name, dim] : symbols) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (std::size_t d = 0; d < kernel.operands[i].type.shape.rank(); ++d) {
        if (kernel.operands[i].type.shape[d] == SizeExpr(dim)) values[name] = operands[i].type.shape[d].constant();
      }
    }
    if (values.contains(name)) continue;
    return invalid_argument(
        fmt::format("{}: no operand has {} as a dim, so that it has no value; give one operand that dim",
                    name_of(kernel), printable(name)));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t d = 0; d < operands[i].type.shape.rank(); ++d) {
      MILLRACE_TRY_ASSIGN(const std::int64_t extent, kernel.operands[i].type.shape[d].evaluate(values));
      if (!operands[i].type.shape[d].is(extent)) return does_not_fit(kernel, i, operands[i]);
    }
  }
  return values;
}

Result<std::vector<Array>> make_results(const LoopKernel& kernel, const SymbolValues& symbols) {
  std::vector<Array> results;
  for (const KernelTensor& result : kernel.results) {
    std::vector<SizeExpr> dims;
    for (const SizeExpr& dim : result.type.shape.dims()) {
      MILLRACE_TRY_ASSIGN(const std::int64_t extent, dim.evaluate(symbols));
      dims.push_back(extent);
    }
    Array array{{result.type.dtype, Shape(std::move(dims))}, {}};
    array.bytes.resize(static_cast<std::size_t>(size_bytes(array.type).constant()));
    results.push_back(std::move(array));
  }
  return results;
}

std::string element_text(const LoopKernel& kernel, std::size_t result, std::size_t number, const Array& array) {
  std::string text;
  for (std::size_t d = array.type.shape.rank(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(array.type.shape[d].constant());
    text = fmt::format("{}{}{}", number % extent, text.empty() ? "" : ", ", text);
    number /= extent;
  }
  return fmt::format("{}[{}]", printable(kernel.results[result].name), text);
}

bool are_close(Scalar found, Scalar expected, Tolerance tolerance) {
  if (!is_float(expected.dtype)) return found == expected;
  const double value = found.to_double(), wanted = expected.to_double();
  if (value == wanted || (std::isnan(value) && std::isnan(wanted))) return true;
  return std::isfinite(wanted) &&
         std::abs(value - wanted) <= tolerance.absolute + tolerance.relative * std::abs(wanted);
}

}  // namespace

Result<std::vector<Array>> evaluate(const LoopKernel& kernel, std::span<const Array> operands) {
  return guard_allocations([&]() -> Result<std::vector<Array>> {
    MILLRACE_TRY(check_kernel(kernel));
    MILLRACE_TRY(check_arrays(kernel, operands));
    MILLRACE_TRY_ASSIGN(const SymbolValues symbols, bind_symbols(kernel, operands));
    MILLRACE_TRY_ASSIGN(std::vector<Array> results, make_results(kernel, symbols));
    std::vector<Array> inputs(operands.begin(), operands.end());
    std::vector<void*> data;
    for (auto* arrays : {&inputs, &results}) {
      for (Array& array : *arrays) data.push_back(array.bytes.data());
    }
    MILLRACE_TRY(evaluate_loop_kernel(kernel, data, symbols));
    return results;
  });
}

Result<std::vector<Array>> run(const LoopKernel& kernel, std::span<const Array> operands,
                               const CompileOptions& options) {
  return guard_allocations([&]() -> Result<std::vector<Array>> {
    MILLRACE_TRY(check_kernel(kernel));
    MILLRACE_TRY(check_arrays(kernel, operands));
    MILLRACE_TRY_ASSIGN(const SymbolValues symbols, bind_symbols(kernel, operands));
    MILLRACE_TRY_ASSIGN(std::vector<Array> results, make_results(kernel, symbols));
    GraphBuilder graph(kernel.name);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const TensorType& type = kernel.operands[i].type;
      inputs.push_back(graph.input(fmt::format("x{}", i), type.dtype, type.shape));
    }
    const KernelResults tensors = graph.kernel(kernel, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) graph.output(fmt::format("y{}", i), tensors[i]);
    MILLRACE_TRY_ASSIGN(Graph built, graph.finish());
    MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(built), options));
    MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
    std::vector<TensorBinding> in, out;
    const auto add = [](std::vector<TensorBinding>& bindings, const Array& array, const void* data) {
      TensorBinding binding{const_cast<void*>(data), array.bytes.size()};
      binding.extents = extents_of(array);
      binding.has_extents = true;
      bindings.push_back(binding);
    };
    for (const Array& operand : operands) add(in, operand, operand.bytes.data());
    for (Array& result : results) add(out, result, result.bytes.data());
    MILLRACE_TRY(session.run(in, out));
    return results;
  });
}

Status compare(const LoopKernel& kernel, std::span<const Array> operands, std::span<const std::string> devices,
               Tolerance tolerance, CompileOptions options) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY_ASSIGN(const std::vector<Array> expected, evaluate(kernel, operands));
    for (const std::string& device : devices) {
      options.device = device;
      MILLRACE_TRY_ASSIGN(const std::vector<Array> found, run(kernel, operands, options));
      for (std::size_t r = 0; r < expected.size(); ++r) {
        const DType dtype = expected[r].type.dtype;
        for (std::size_t i = 0; i < expected[r].bytes.size() / size_bytes(dtype); ++i) {
          const Scalar wanted = load_element(dtype, expected[r].bytes, i), got = load_element(dtype, found[r].bytes, i);
          if (are_close(got, wanted, tolerance)) continue;
          return internal_error(fmt::format("{} on {}: {} is {}, expected {}", name_of(kernel), device,
                                            element_text(kernel, r, i, expected[r]), to_text(got), to_text(wanted)));
        }
      }
    }
    return {};
  });
}

}  // namespace millrace::testing
