// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "millrace/base/status.h"
#include "tests/support/allocation_count.h"

namespace millrace {

/// A call takes ten times as long under a sanitizer, which tries some of the allocations.
#ifdef MILLRACE_SANITIZED
inline constexpr std::uint64_t kMaxTrials = 150;
#else
inline constexpr std::uint64_t kMaxTrials = UINT64_MAX;
#endif

/// From one allocation to the next that fails, of `num`.
inline std::uint64_t stride_of(std::uint64_t num, std::uint64_t max_trials = kMaxTrials) {
  return num / std::min(max_trials, kMaxTrials) + 1;
}

/// Messages that single allocations lead to are met when all of them are tried.
inline void check_said(const std::set<std::string>& messages, const std::string& where) {
  CAPTURE(where);
  if (kMaxTrials == UINT64_MAX) CHECK(messages.contains(where + ": out of memory; free memory, or ask for less"));
}

/// Makes each allocation of `body(prepare())` fail in turn, alone and with all later ones; those of `prepare` never
/// fail. The body must succeed anyway or return kResourceExhausted, and give back all its memory. With more allocations
/// than `max_trials`, some in even distances fail. Returns the messages.
template <class Prepare, class Body>
std::set<std::string> fail_each_allocation(Prepare prepare, Body body, std::uint64_t max_trials = kMaxTrials) {
  REQUIRE(body(prepare()).message() == "");
  auto counted = prepare();
  const std::uint64_t before = num_allocations();
  REQUIRE(body(std::move(counted)).ok());
  const std::uint64_t num = num_allocations() - before;
  CAPTURE(num);
  std::set<std::string> messages;
  std::uint64_t num_leaks = 0;
  std::string wrong;
  for (const Failing which : {Failing::kOne, Failing::kAllFromThere}) {
    for (std::uint64_t n = 0; n < num; n += stride_of(num, max_trials)) {
      const std::int64_t live = num_live_allocations();
      std::int64_t kept = 0;
      {
        auto prepared = prepare();
        Status status;
        {
          const FailingAllocation failing(n, which);
          status = body(std::move(prepared));
        }
        if (!status.ok() && status.code() != StatusCode::kResourceExhausted) wrong = status.message();
        kept = num_live_allocations();
        if (!status.ok()) messages.emplace(status.message());
        kept = num_live_allocations() - kept;
      }
      if (num_live_allocations() != live + kept) ++num_leaks;
    }
  }
  CHECK(messages.empty() == (num == 0));
  CHECK(wrong == "");
  CHECK(num_leaks == 0);
  CHECK(body(prepare()).message() == "");
  return messages;
}

/// Prepares nothing.
inline int nothing() { return 0; }

}  // namespace millrace
