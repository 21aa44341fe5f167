// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/algorithms/algorithm.h"

namespace millrace {

/// Those sizes of a request that an algorithm may take, of which there is one or more; all where it says nothing else.
std::vector<RequestCase> cases_of(const Algorithm&, const KernelRequest&, const TargetSpec&);

/// Sequences for cases of one request as one sequence: a run has no groups of the kernels of other cases than its own,
/// and no bytes of their scratch.
class CaseSequence {
 public:
  /// Whether one of the earlier cases is seen to hold wherever the margin does.
  bool covers(const SizeExpr& margin) const;
  /// Counts the sizes that earlier cases leave.
  void append(KernelSequence sequence, std::string_view algorithm, const SizeExpr& margin);
  KernelSequence finish() { return std::move(all_); }

 private:
  KernelSequence all_;
  std::vector<SizeExpr> taken_;  // the margin of each case
};

}  // namespace millrace
