// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/hal/hip_device.h"
#include "tests/hal/list_builder.h"
#include "tests/hip_standin/standin.h"

namespace millrace {

/// A program that uses all of a device, from opening it on, and compares every result with the expected one.
class HipScenario {
 public:
  explicit HipScenario(const HipStandin& standin, std::uint32_t ordinal = 0) : standin_(standin), ordinal_(ordinal) {}

  /// The first failure; kDataLoss, which no device gives here, if a result is wrong.
  Status run();

 private:
  using Words = std::vector<std::uint32_t>;
  using Bindings = std::vector<BufferBinding>;
  struct Program {
    std::shared_ptr<Recording> recording;
    std::vector<std::int64_t> sizes;
  };

  Status open();
  Result<Program> record(const ListBuilder&);
  Status submit(const Program&, const Bindings&, const std::vector<Timepoint>& wait, const Timepoint& signal,
                SubmissionTimes* times = nullptr);
  Status run_once(const Program&, const Bindings&, SubmissionTimes* times = nullptr);
  Status write(const Buffer&, Words& words);

  Result<Program> record_branches();
  Result<Bindings> bind_branches();
  Status check_branches() const;
  Status run_too_large();
  Status run_branches();
  Status run_chain();
  Status run_large_transfers();
  Status run_pinned_transfers();
  Status run_measured();
  Status run_failing();

  const HipStandin& standin_;
  std::uint32_t ordinal_;
  // The host's memory outlives the device, which may still use it after a failure.
  Words in_{1, 2, 3, 4}, scaled_ = Words(4), ids_ = Words(4), filled_ = Words(6), word_{0}, large_ = Words(20'000),
                         large_back_ = Words(20'000);
  Words pinned_ = Words(2048), pinned_back_ = Words(2048);
  std::vector<ExecutableImage> images_;
  std::shared_ptr<HipDevice> device_;
  std::shared_ptr<Executable> executable_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

}  // namespace millrace
