// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/op_def.h"
#include "tests/reference/tensor.h"
#include "tests/support/guarded_tensor.h"
#include "tests/support/kernels/run_request.h"

namespace millrace::test {

struct OpRunOptions {
  RunOptions run;
  Strides strides = Strides::kDense;
  GuardedBuffer::Guard guard = GuardedBuffer::Guard::kAfter;
  std::uint32_t used_results = ~0u;
  /// Runs nests point by point with evaluate_loop_kernel, without target, algorithm or generator.
  bool by_definition = false;
};

struct OpRun {
  std::vector<reference::Tensor> results;  // the used ones, in order
  std::vector<RunReport> reports;          // one per request; none by definition
};

/// Infers and builds an op; its requests have the strides asked for.
Result<std::vector<KernelRequest>> build_requests(Op op, const Attributes&, std::span<const TensorType> operands,
                                                  Strides strides, std::uint32_t used_results = ~0u);

/// Runs an op in guarded, read-only mapped memory. kInternal if a byte of an input, or one outside of a result's
/// elements, has changed.
Result<OpRun> run_op(Op op, const Attributes&, std::span<const reference::Tensor> operands, const OpRunOptions&);

std::vector<TensorType> types_of(std::span<const reference::Tensor> tensors);

}  // namespace millrace::test
