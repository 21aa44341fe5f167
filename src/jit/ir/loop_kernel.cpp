// SPDX-License-Identifier: Apache-2.0
// Classifies and prints loop kernels.
#include "millrace/jit/loop_kernel.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/reader.h"
#include "jit/ir/affine.h"
#include "jit/ir/kernel_sizes.h"
#include "jit/ir/operation_text.h"

namespace millrace {
namespace {

/// Whether the instruction is a load without a dynamic index or a fill value. The factors of a contraction are such
/// loads, even for f16 and bf16: the load widens them, so that there is no conversion.
bool is_plain_load(const LoopKernel& kernel, const BodyInstruction& instruction) {
  if (instruction.op != KernelOp::kLoad) return false;
  const Access& access = kernel.loads[instruction.immediate];
  return !access.dynamic_dim && !access.fill;
}

bool is_contraction(const LoopKernel& kernel) {
  if (kernel.reductions.size() != 1 || kernel.reductions[0].kind != ReductionKind::kSum) return false;
  const auto& code = kernel.terms[0].instructions;
  const BodyInstruction& last = code[kernel.terms[0].yields[0]];
  if (last.op != KernelOp::kMul) return false;
  return is_plain_load(kernel, code[last.operands[0]]) && is_plain_load(kernel, code[last.operands[1]]);
}

std::string tensor_text(const KernelTensor& tensor) {
  return fmt::format("%{} {} {}", name_text(tensor.name), tensor.type.to_text(), tensor.layout.to_text());
}

std::string access_text(const Access& access) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += to_text(access.indices[axis]);
    if (access.dynamic_dim == axis) text += " + dynamic";
  }
  text += "]";
  if (access.fill) text += fmt::format(" else {} : {}", to_text(*access.fill), to_text(access.fill->dtype));
  if (access.pass) text += fmt::format(" in pass {}", *access.pass);
  return text;
}

std::string later_pass_text(std::uint32_t pass) { return pass == 0 ? "" : fmt::format(" in pass {}", pass); }

/// `text` with each line indented by four spaces.
std::string indented(const std::string& text) {
  std::string result;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += "    " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

/// Fails if two sizes state different facts about one symbol.
Status collect_symbols(const LoopKernel& kernel, std::map<std::string, Dim>& symbols) {
  Status first;
  for_each_size(kernel, [&](const SizeExpr& size) {
    if (first.ok()) first = size.collect_symbols(symbols);
  });
  return first;
}

std::string symbols_text(const LoopKernel& kernel) {
  std::map<std::string, Dim> symbols;
  const Status status = unguarded(collect_symbols(kernel, symbols));
  return status.ok() ? symbol_lines(symbols, "  ") : fmt::format("  symbols: {}\n", status.message());
}

}  // namespace

std::size_t LoopKernel::num_parallel() const {
  const auto first = std::find_if(domain.begin(), domain.end(), [](const LoopDim& dim) { return dim.is_reduction; });
  return static_cast<std::size_t>(first - domain.begin());
}

std::vector<std::size_t> LoopKernel::stores_of(std::optional<std::uint32_t> pass) const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (stores[i].pass == pass) numbers.push_back(i);
  }
  return numbers;
}

LoopKind classify(const LoopKernel& kernel) {
  if (kernel.terms.empty()) return LoopKind::kMap;
  const bool has_one_pass = kernel.terms.size() == 1 && kernel.temporaries.empty() && kernel.stores_of(0).empty();
  if (!has_one_pass) return LoopKind::kRows;
  return is_contraction(kernel) ? LoopKind::kContract : LoopKind::kReduce;
}

std::string_view to_text(LoopKind kind) {
  constexpr std::string_view kNames[] = {"map", "reduce", "contract", "rows"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_text(ReductionKind kind) {
  constexpr std::string_view kNames[] = {"sum", "prod", "min", "max", "argmin", "argmax"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const LoopKernel& kernel) {
  std::string text = fmt::format("loop_kernel {} {} {{\n", string_text(kernel.name), to_text(classify(kernel)));
  text += symbols_text(kernel);
  for (std::size_t d = 0; d < kernel.domain.size(); ++d) {
    const LoopDim& dim = kernel.domain[d];
    text += fmt::format("  d{} {} {} {}\n", d, name_text(dim.name),
                        dim.is_reduction       ? "reduction"
                        : dim.is_workgroup_dim ? "groups"
                                               : "parallel",
                        dim.extent.to_text());
  }
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    text += fmt::format("  operand {} {}\n", i, tensor_text(kernel.operands[i]));
  }
  for (std::size_t i = 0; i < kernel.results.size(); ++i) {
    text += fmt::format("  result {} {}\n", i, tensor_text(kernel.results[i]));
  }
  for (std::size_t i = 0; i < kernel.loads.size(); ++i) {
    text += fmt::format("  load {} operand {} {}\n", i, kernel.loads[i].tensor, access_text(kernel.loads[i]));
  }
  for (std::size_t i = 0; i < kernel.stores.size(); ++i) {
    text += fmt::format("  store {} result {} {}\n", i, kernel.stores[i].tensor, access_text(kernel.stores[i]));
  }
  for (std::size_t i = 0; i < kernel.reductions.size(); ++i) {
    const Reduction& reduction = kernel.reductions[i];
    text += fmt::format("  reduction {} {} {}{}\n", i, to_text(reduction.kind), to_text(reduction.dtype),
                        later_pass_text(reduction.pass));
  }
  for (std::size_t i = 0; i < kernel.temporaries.size(); ++i) {
    const Temporary& temporary = kernel.temporaries[i];
    text += fmt::format("  temporary {} {}{}\n", i, to_text(temporary.dtype), later_pass_text(temporary.pass));
  }
  for (std::size_t i = 0; i < kernel.extents.size(); ++i) {
    text += fmt::format("  extent {} {}\n", i, kernel.extents[i].to_text());
  }
  if (kernel.in_place) text += fmt::format("  operand {} in the result's buffer\n", *kernel.in_place);
  for (const Body& term : kernel.terms) text += "  term\n" + indented(to_text(term));
  return text + "  epilogue\n" + indented(to_text(kernel.epilogue)) + "}\n";
}

}  // namespace millrace
