// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "millrace/graph/schedule.h"

namespace millrace {

inline constexpr std::size_t kNumSamples = 5;
/// One number of bytes per sample.
using SampleBytes = std::array<std::int64_t, kNumSamples>;

bool is_at_most(const SampleBytes& a, const SampleBytes& b);

/// What transients take of the slab under some bindings of the symbols: small, middle and large sizes, and mixtures.
/// Decisions between orders need numbers where sizes are expressions. Resources that are no transients take nothing.
class SampleSizes {
 public:
  explicit SampleSizes(const Schedule&);
  const SampleBytes& operator[](ResourceId id) const { return bytes_[id]; }

 private:
  IdVector<ResourceId, SampleBytes> bytes_;
};

/// The first and the last timepoint of every resource.
void find_lives(Schedule&);
/// The largest sum of sizes that live at one timepoint. Precondition: find_lives.
SampleBytes max_live_bytes(const Schedule&, const SampleSizes&);

}  // namespace millrace
