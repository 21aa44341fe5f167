// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// A kernel request for a region: the root's own request, with the region's elementwise nodes composed into its term
/// and epilogue. The request numbers its operands and results in the order of `operands` and `results`.
struct ComposedRequest {
  KernelRequest request;
  std::vector<Value> operands;
  std::vector<Value> results;
};

Result<std::vector<ComposedRequest>> compose_region(const DispatchGraph&, const Region&);

}  // namespace millrace
