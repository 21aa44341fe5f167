// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// The requests of a region: its root's own, with the region's elementwise nodes composed into term and epilogue.
/// Request operands are numbered as `operands` says, results as `results`.
struct ComposedRequest {
  KernelRequest request;
  std::vector<Value> operands;
  std::vector<Value> results;
};

Result<std::vector<ComposedRequest>> compose_region(const DispatchGraph&, const Region&);

}  // namespace millrace
