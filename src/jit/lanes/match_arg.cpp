// SPDX-License-Identifier: Apache-2.0
// Recognises the loop nests that are an argmin or argmax of contiguous rows, or of rows that interleave.
#include "jit/lanes/match_arg.h"

#include <algorithm>

#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"

namespace millrace {
namespace {

/// The minimum length of rows that interleave. Shorter rows are left to the general mapping, which handles several at
/// once.
constexpr std::int64_t kMinInterleaved = 1024;

/// The parallel dim with stride 1, if its extent equals the stride between the elements of a row.
std::optional<std::size_t> interleaved_dim(const Layout& layout, const Shape& shape) {
  const SizeExpr& step = layout.strides.back();
  if (!step.is_constant() || step.constant() < 2) return std::nullopt;
  for (std::size_t d = 0; d + 1 < shape.rank(); ++d) {
    if (layout.strides[d].is(1) && shape[d] == step) return d;
  }
  return std::nullopt;
}

Status check_epilogue(const LoopKernel& kernel) {
  const bool is_index = kernel.stores.size() == 1 && kernel.epilogue.yields.size() == 1 &&
                        kernel.epilogue.instructions[kernel.epilogue.yields[0]].op == KernelOp::kReduced;
  if (is_index) return {};
  return unimplemented(fmt::format("an {} whose index enters an epilogue, expected the index as the only result",
                                   to_text(kernel.reductions[0].kind)));
}

}  // namespace

bool finds_index(const LoopKernel& kernel) {
  return std::ranges::any_of(kernel.reductions, [](const Reduction& one) { return returns_index(one.kind); });
}

Result<ArgDescriptor> match_arg(const LoopKernel& nest) {
  const LoopKernel kernel = collapse_dims(nest);
  if (classify(kernel) != LoopKind::kReduce) {
    return unimplemented(fmt::format("a {} nest, expected an argmin or argmax", to_text(classify(kernel))));
  }
  if (kernel.reductions.size() != 1 || kernel.loads.size() != 1) {
    return unimplemented(fmt::format("an argmin or argmax with {} other reductions and {} loads, expected 0 and 1",
                                     kernel.reductions.size() - 1, kernel.loads.size()));
  }
  const Access &load = kernel.loads[0], &store = kernel.stores[0];
  const std::string_view kind = to_text(kernel.reductions[0].kind);
  if (load.fill || load.dynamic_dim) {
    return unimplemented(fmt::format("an {} of padded or gathered elements, expected plain rows", kind));
  }
  const BodyInstruction& term = kernel.terms[0].instructions[kernel.terms[0].yields[0]];
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
  std::vector<SizeExpr> extents;
  for (const LoopDim& dim : kernel.domain) extents.push_back(dim.extent);
  const KernelTensor &operand = kernel.operands[load.tensor], &result = kernel.results[store.tensor];
  arg.input = {operand.name, {operand.type.dtype, Shape(extents)}, {from.offset, from.coefficients}};
  const SizeExpr n = extents[axis];
  extents[axis] = 1;
  arg.indices = {result.name, {DType::kI64, Shape(extents)}, {to.offset, to.coefficients}};
  if (from.coefficients[axis].is(1)) return arg;
  const std::optional<std::size_t> columns = columns_dim(arg);
  if (columns && num_columns(arg) <= ArgRowsParameters::kMaxColumns && n.upper_bound() >= kMinInterleaved &&
      to.coefficients[*columns].is(1)) {
    return arg;
  }
  return unimplemented(fmt::format("an {} of elements that are {} apart, expected contiguous rows", kind,
                                   from.coefficients[axis].to_text()));
}

std::optional<std::size_t> columns_dim(const ArgDescriptor& arg) {
  return interleaved_dim(arg.input.layout, arg.input.type.shape);
}

std::int64_t num_columns(const ArgDescriptor& arg) {
  return columns_dim(arg) ? arg.input.layout.strides.back().constant() : 1;
}

}  // namespace millrace
