// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Calls `visit` with each size in the kernel: of dims, tensors, layouts, accesses and bodies.
template <class Visit>
void for_each_size(const LoopKernel& kernel, Visit&& visit) {
  const auto visit_all = [&](const std::vector<SizeExpr>& sizes) {
    for (const SizeExpr& size : sizes) visit(size);
  };
  for (const LoopDim& dim : kernel.domain) visit(dim.extent);
  for (const auto* tensors : {&kernel.operands, &kernel.results}) {
    for (const KernelTensor& tensor : *tensors) {
      visit_all(tensor.type.shape.dims());
      visit(tensor.layout.offset);
      visit_all(tensor.layout.strides);
    }
  }
  for (const auto* accesses : {&kernel.loads, &kernel.stores}) {
    for (const Access& access : *accesses) {
      for (const AffineIndex& index : access.indices) {
        visit(index.offset);
        visit_all(index.coefficients);
      }
    }
  }
  visit_all(kernel.extents);
}

}  // namespace millrace
