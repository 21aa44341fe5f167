// SPDX-License-Identifier: Apache-2.0
// The calls and findings that the stand-in has recorded, and the failures that a test has requested.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/hip_standin/control.h"
#include "tests/hip_standin/runtime/entries.h"

namespace millrace::hip_standin {

class Journal {
 public:
  void add(const Call& call);
  /// So that the next add() throws nothing.
  void make_room() {
    if (calls_.size() == calls_.capacity()) calls_.reserve(2 * calls_.size() + 16);
  }
  std::uint64_t num_calls(std::string_view entry) const;
  const std::vector<Call>& calls() const { return calls_; }
  void clear_calls();
  /// A number for the calling thread.
  std::uint64_t thread_number();

  void find(std::string finding) { findings_.push_back(std::move(finding)); }
  std::vector<std::string>& findings() { return findings_; }

  void ask_failures(std::string_view entry, std::uint64_t number, hip::Error error, std::uint64_t count);
  /// Counts a call; the error that it is to fail with, if any.
  std::optional<hip::Error> next_failure(Entry entry);
  bool have_failed() const;

 private:
  struct AskedFailure {
    std::string entry;  // empty: any
    std::uint64_t num_before = 0, num_left = 0;
    hip::Error error;
  };

  std::vector<Call> calls_;
  std::array<std::uint64_t, kEntryNames.size()> counts_ = {};
  std::vector<std::string> findings_;
  std::vector<AskedFailure> asked_;
  std::vector<std::thread::id> threads_;
};

}  // namespace millrace::hip_standin
