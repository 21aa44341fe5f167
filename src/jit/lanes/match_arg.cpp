// SPDX-License-Identifier: Apache-2.0
// Recognises the loop nests that are an argmin or argmax of contiguous rows.
#include "jit/lanes/match_arg.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

Status check_epilogue(const LoopKernel& kernel) {
  const bool is_index = kernel.stores.size() == 1 && kernel.epilogue.yields.size() == 1 &&
                        kernel.epilogue.instructions[kernel.epilogue.yields[0]].op == KernelOp::kReduced;
  if (is_index) return {};
  return unimplemented(fmt::format("an {} whose index enters an epilogue, expected the index as the only result",
                                   to_text(kernel.reductions[0].kind)));
}

}  // namespace

bool finds_index(const LoopKernel& kernel) {
  return std::ranges::any_of(kernel.reductions, [](const Reduction& one) { return gives_index(one.kind); });
}

Result<ArgDescriptor> match_arg(const LoopKernel& nest) {
  const LoopKernel kernel = collapse_dims(nest);
  if (kernel.reductions.size() != 1 || kernel.loads.size() != 1) {
    return unimplemented(fmt::format("an argmin or argmax with {} other reductions and {} loads, expected 0 and 1",
                                     kernel.reductions.size() - 1, kernel.loads.size()));
  }
  const Access &load = kernel.loads[0], &store = kernel.stores[0];
  const std::string_view kind = to_text(kernel.reductions[0].kind);
  if (load.fill || load.dynamic_dim) {
    return unimplemented(fmt::format("an {} of padded or gathered elements, expected plain rows", kind));
  }
  const BodyInstruction& term = kernel.term.instructions[kernel.term.yields[0]];
  if (term.op != KernelOp::kLoad) {
    return unimplemented(
        fmt::format("an {} of values computed by {}, expected an operand's elements", kind, to_text(term.op)));
  }
  ArgDescriptor arg;
  arg.name = kernel.name;
  arg.smallest = kernel.reductions[0].kind == ReductionKind::kArgMin;
  MILLRACE_TRY(check_epilogue(kernel));
  const AffineIndex &from = load.indices[0], &to = store.indices[0];
  const std::size_t axis = kernel.num_parallel();
  if (!from.coefficients[axis].is(1)) {
    return unimplemented(fmt::format("an {} of elements that are {} apart, expected contiguous rows", kind,
                                     from.coefficients[axis].to_text()));
  }
  std::vector<SizeExpr> extents;
  for (const LoopDim& dim : kernel.domain) extents.push_back(dim.extent);
  const KernelTensor &operand = kernel.operands[load.tensor], &result = kernel.results[store.tensor];
  arg.input = {operand.name, {operand.type.dtype, Shape(extents)}, {from.offset, from.coefficients}};
  extents[axis] = 1;
  arg.indices = {result.name, {DType::kI64, Shape(extents)}, {to.offset, to.coefficients}};
  return arg;
}

}  // namespace millrace
