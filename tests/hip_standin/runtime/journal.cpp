// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/journal.h"

#include <algorithm>
#include <numeric>

#include "millrace/base/check.h"

namespace millrace::hip_standin {
namespace {

/// A test that makes more calls knows their numbers only.
constexpr std::size_t kMaxCalls = std::size_t{1} << 20;

}  // namespace

void Journal::add(const Call& call) {
  ++counts_[static_cast<std::size_t>(std::ranges::find(kEntryNames, call.entry) - kEntryNames.begin())];
  if (calls_.size() < kMaxCalls) calls_.push_back(call);
}

std::uint64_t Journal::num_calls(std::string_view entry) const {
  if (entry.empty()) return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  const auto found = std::ranges::find(kEntryNames, entry);
  MILLRACE_CHECK(found != kEntryNames.end());
  return counts_[static_cast<std::size_t>(found - kEntryNames.begin())];
}

void Journal::clear_calls() {
  calls_.clear();
  counts_ = {};
}

std::uint64_t Journal::thread_number() {
  const auto found = std::ranges::find(threads_, std::this_thread::get_id());
  const auto number = static_cast<std::uint64_t>(found - threads_.begin()) + 1;
  if (found == threads_.end()) threads_.push_back(std::this_thread::get_id());
  return number;
}

void Journal::ask_failures(std::string_view entry, std::uint64_t number, hip::Error error, std::uint64_t count) {
  MILLRACE_CHECK(number >= 1 && count >= 1);
  MILLRACE_CHECK(entry.empty() || std::ranges::find(kEntryNames, entry) != kEntryNames.end());
  asked_.push_back({std::string(entry), number - 1, count, error});
}

std::optional<hip::Error> Journal::next_failure(Entry entry) {
  std::optional<hip::Error> error;
  for (AskedFailure& asked : asked_) {
    if (!asked.entry.empty() && asked.entry != name_of(entry)) continue;
    if (asked.num_before > 0) {
      --asked.num_before;
    } else if (asked.num_left > 0) {
      --asked.num_left;
      error = asked.error;
    }
  }
  return error;
}

bool Journal::have_failed() const {
  return std::ranges::all_of(asked_, [](const AskedFailure& asked) { return asked.num_left == 0; });
}

}  // namespace millrace::hip_standin
