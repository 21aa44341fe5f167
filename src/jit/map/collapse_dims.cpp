// SPDX-License-Identifier: Apache-2.0
// Simplifies a loop nest before it is mapped: drops dims of extent 1 and merges dims that all accesses traverse as one.
#include <algorithm>

#include "jit/ir/affine.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

bool needs_fill(const LoopKernel& kernel, const Access& load) {
  if (!load.fill) return false;
  if (load.dynamic_dim) return true;
  const Shape& shape = kernel.operands[load.tensor].type.shape;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!is_inside(load.indices[axis], shape[axis], kernel.domain)) return true;
  }
  return false;
}

/// The whole buffer of the tensor, as a tensor with one dim.
KernelTensor as_rank_one(const KernelTensor& tensor) {
  const Shape shape{extent_elements(tensor.type.shape, tensor.layout)};
  return {tensor.name, {tensor.type.dtype, shape}, Layout::row_major(shape)};
}

void flatten_accesses(std::vector<Access>& accesses, std::uint32_t number, const Layout& layout, std::size_t num_dims) {
  for (Access& access : accesses) {
    if (access.tensor == number) access.indices = {element_offset(access, layout, num_dims)};
  }
}

void flatten_tensors(LoopKernel& kernel) {
  for (std::uint32_t i = 0; i < kernel.operands.size(); ++i) {
    const bool is_guarded = std::any_of(kernel.loads.begin(), kernel.loads.end(), [i](const Access& load) {
      return load.tensor == i && (load.fill || load.dynamic_dim);
    });
    if (is_guarded) continue;
    flatten_accesses(kernel.loads, i, kernel.operands[i].layout, kernel.domain.size());
    kernel.operands[i] = as_rank_one(kernel.operands[i]);
  }
  for (std::uint32_t i = 0; i < kernel.results.size(); ++i) {
    flatten_accesses(kernel.stores, i, kernel.results[i].layout, kernel.domain.size());
    kernel.results[i] = as_rank_one(kernel.results[i]);
  }
}

template <class F>
void for_each_index(LoopKernel& kernel, F&& f) {
  for (std::vector<Access>* accesses : {&kernel.loads, &kernel.stores}) {
    for (Access& access : *accesses) {
      for (AffineIndex& index : access.indices) f(index);
    }
  }
}

/// For each domain dim, whether a body, argmin or argmax reads its index.
std::vector<bool> observed_dims(const LoopKernel& kernel) {
  std::vector<bool> is_observed(kernel.domain.size());
  const auto observe = [&](const Body& body) {
    for (const BodyInstruction& instruction : body.instructions) {
      if (instruction.op == KernelOp::kIndex) is_observed[instruction.immediate] = true;
    }
  };
  std::ranges::for_each(kernel.terms, observe);
  observe(kernel.epilogue);
  for (const Reduction& reduction : kernel.reductions) {
    if (returns_index(reduction.kind)) is_observed[kernel.num_parallel()] = true;
  }
  return is_observed;
}

/// The body with its index instructions renumbered; the index of a dropped dim is 0.
Body renumber_indices(const Body& body, const std::vector<std::optional<std::uint32_t>>& numbers) {
  BodyBuilder builder;
  const auto replace = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
    if (instruction.op != KernelOp::kIndex) return std::nullopt;
    const std::optional<std::uint32_t> number = numbers[instruction.immediate];
    return number ? builder.index(*number) : builder.constant_int(DType::kI64, 0);
  };
  for (const BodyValue value : builder.inline_body(body, replace)) builder.yield(value);
  return builder.finish();
}

/// Removes the marked dims. Their index is 0 everywhere.
void drop_dims(LoopKernel& kernel, const std::vector<bool>& is_dropped) {
  std::vector<std::optional<std::uint32_t>> numbers(is_dropped.size());
  std::vector<LoopDim> domain;
  for (std::size_t d = 0; d < is_dropped.size(); ++d) {
    if (is_dropped[d]) continue;
    numbers[d] = static_cast<std::uint32_t>(domain.size());
    domain.push_back(kernel.domain[d]);
  }
  for_each_index(kernel, [&](AffineIndex& index) {
    std::vector<SizeExpr> coefficients;
    for (std::size_t d = 0; d < is_dropped.size(); ++d) {
      if (!is_dropped[d]) coefficients.push_back(index.coefficients[d]);
    }
    index.coefficients = std::move(coefficients);
  });
  for (Body& term : kernel.terms) term = renumber_indices(term, numbers);
  kernel.epilogue = renumber_indices(kernel.epilogue, numbers);
  kernel.domain = std::move(domain);
}

void drop_unit_dims(LoopKernel& kernel) {
  const bool has_index = std::any_of(kernel.reductions.begin(), kernel.reductions.end(),
                                     [](const Reduction& reduction) { return returns_index(reduction.kind); });
  std::vector<bool> is_dropped(kernel.domain.size());
  for (std::size_t d = 0; d < kernel.domain.size(); ++d) {
    is_dropped[d] = kernel.domain[d].extent.is(1) && !(has_index && kernel.domain[d].is_reduction);
  }
  drop_dims(kernel, is_dropped);
}

/// Whether, in every access, one step of the outer dim equals `extent` steps of the inner dim.
bool walk_as_one(LoopKernel& kernel, std::size_t outer) {
  bool is_one = true;
  const SizeExpr& extent = kernel.domain[outer + 1].extent;
  for_each_index(kernel, [&](const AffineIndex& index) {
    is_one &= index.coefficients[outer] == index.coefficients[outer + 1] * extent;
  });
  return is_one;
}

void merge_neighbours(LoopKernel& kernel) {
  const std::vector<bool> is_observed = observed_dims(kernel);
  std::vector<bool> is_dropped(kernel.domain.size());
  for (std::size_t outer = kernel.domain.size() < 2 ? 0 : kernel.domain.size() - 1; outer-- > 0;) {
    LoopDim& inner = kernel.domain[outer + 1];
    LoopDim& dim = kernel.domain[outer];
    if (is_observed[outer] || is_observed[outer + 1] || dim.is_reduction != inner.is_reduction) continue;
    if (dim.is_workgroup_dim || inner.is_workgroup_dim) continue;
    if (!walk_as_one(kernel, outer)) continue;
    // Merges the pair into the outer dim, so that the next pair can include it.
    dim = {dim.name + "." + inner.name, dim.extent * inner.extent, dim.is_reduction};
    for_each_index(kernel, [&](AffineIndex& index) { index.coefficients[outer] = index.coefficients[outer + 1]; });
    is_dropped[outer + 1] = true;
  }
  drop_dims(kernel, is_dropped);
}

}  // namespace

LoopKernel collapse_dims(const LoopKernel& kernel) {
  LoopKernel collapsed = kernel;
  for (Access& load : collapsed.loads) {
    if (!needs_fill(kernel, load)) load.fill.reset();
  }
  flatten_tensors(collapsed);
  drop_unit_dims(collapsed);
  merge_neighbours(collapsed);
  return collapsed;
}

}  // namespace millrace
