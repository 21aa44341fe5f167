// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Lowers requests for one target. Loop nests that differ only in their names are lowered once: the layers of a model
/// repeat, and mapping a nest takes most of the time of a compile from the cache.
class RequestMemo {
 public:
  /// Both must outlive the memo.
  RequestMemo(const Target& target, const LowerOptions& options) : target_(target), options_(options) {}

  /// lower_request(), or a copy of an earlier result with the names that lower_request() would give.
  Result<KernelSequence> lower(const KernelRequest&);

 private:
  struct Lowered {
    LoopKernel request;  // without its name
    std::string name;
    KernelSequence sequence;
  };

  const Target& target_;
  const LowerOptions& options_;
  std::unordered_multimap<std::uint64_t, Lowered> lowered_;  // by a hash of the request
};

}  // namespace millrace
