// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/ops/op_def.h"

namespace millrace::ops {

/// The requests of an op whose kernel is a single nest.
inline Result<std::vector<KernelRequest>> finish_request(LoopKernelBuilder& nest) {
  MILLRACE_TRY_ASSIGN(LoopKernel kernel, nest.finish_unverified());
  std::vector<KernelRequest> requests;
  requests.emplace_back(std::move(kernel));
  return requests;
}

}  // namespace millrace::ops
