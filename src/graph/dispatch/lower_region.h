// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/request_memo.h"
#include "millrace/graph/dispatch.h"

namespace millrace {

/// Like the public lower_region(). A memo that serves all regions of a graph lowers equal requests once.
Result<std::vector<KernelSequence>> lower_region(const DispatchGraph&, RegionId, RequestMemo&);

}  // namespace millrace
