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

/// The slab bytes that each transient takes for some bindings of the symbols: small, middle and large sizes, and
/// mixtures. Orders are compared by these numbers if sizes are expressions. Resources other than transients take no
/// slab bytes.
class SampleSizes {
 public:
  explicit SampleSizes(const Schedule&);
  const SampleBytes& operator[](ResourceId id) const { return bytes_[id]; }

 private:
  IdVector<ResourceId, SampleBytes> bytes_;
};

/// Sets the first and the last timepoint of every resource.
void find_lives(Schedule&);
/// The maximum, over all timepoints, of the bytes that are live, per sample. Precondition: find_lives.
SampleBytes max_live_bytes(const Schedule&, const SampleSizes&);

}  // namespace millrace
