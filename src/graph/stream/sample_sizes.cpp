// SPDX-License-Identifier: Apache-2.0
// Binds symbols to sample values, so that orders can be compared by the memory that they need.
#include "graph/stream/sample_sizes.h"

#include <algorithm>
#include <map>

#include "base/guard_allocations.h"
#include "graph/run/slab_plan.h"

namespace millrace {
namespace {

/// The allowed value nearest to `wanted`.
std::int64_t value_near(const Dim& dim, std::int64_t wanted) {
  const std::int64_t multiple = std::max<std::int64_t>(dim.multiple(), 1);
  const std::int64_t value = std::clamp(wanted, dim.min(), dim.max()) / multiple * multiple;
  return value < dim.min() ? value + multiple : value;
}

std::array<SymbolValues, kNumSamples> sample_bindings(const Schedule& schedule) {
  constexpr std::int64_t kSmall = 1, kMiddle = 64, kLarge = 4096;
  std::map<std::string, Dim> symbols;
  for (const Resource& resource : schedule.resources) {
    // This fails only if memory runs out: a symbol with two sets of facts was refused when the graph was built.
    if (resource.lifetime == Lifetime::kTransient) (void)unguarded(resource.size_bytes.collect_symbols(symbols));
  }
  std::array<SymbolValues, kNumSamples> bindings;
  bool is_odd = false;
  for (const auto& [name, dim] : symbols) {
    const std::int64_t wanted[kNumSamples] = {kSmall, kMiddle, kLarge, is_odd ? kSmall : kLarge,
                                              is_odd ? kLarge : kSmall};
    for (std::size_t i = 0; i < kNumSamples; ++i) bindings[i][name] = value_near(dim, wanted[i]);
    is_odd = !is_odd;
  }
  return bindings;
}

}  // namespace

bool is_at_most(const SampleBytes& a, const SampleBytes& b) {
  for (std::size_t i = 0; i < kNumSamples; ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

SampleSizes::SampleSizes(const Schedule& schedule) {
  const std::array<SymbolValues, kNumSamples> bindings = sample_bindings(schedule);
  bytes_.resize(schedule.resources.size());
  for (std::uint32_t i = 0; i < schedule.resources.size(); ++i) {
    const Resource& resource = schedule.resources[ResourceId{i}];
    if (resource.lifetime != Lifetime::kTransient) continue;
    for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
      const Result<std::int64_t> bytes = unguarded(resource.size_bytes.evaluate(bindings[sample]));
      // A size that cannot be computed for these values, such as one with a divisor of 0, counts as 0.
      if (bytes.ok()) bytes_[ResourceId{i}][sample] = align_slab_bytes(*bytes);
    }
  }
}

void find_lives(Schedule& schedule) {
  std::vector<bool> seen(schedule.resources.size());
  for (const Step& step : schedule.steps) {
    for (const ResourceUse& use : step.uses) {
      Resource& resource = schedule.resources[use.resource];
      const bool is_first = !seen[index_of(use.resource)];
      resource.first_timepoint = is_first ? step.timepoint : std::min(resource.first_timepoint, step.timepoint);
      resource.last_timepoint = is_first ? step.timepoint : std::max(resource.last_timepoint, step.timepoint);
      seen[index_of(use.resource)] = true;
    }
  }
}

SampleBytes max_live_bytes(const Schedule& schedule, const SampleSizes& sizes) {
  SampleBytes peak{};
  std::vector<PackedTransient> transients;
  for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
    transients.clear();
    for (std::uint32_t i = 0; i < schedule.resources.size(); ++i) {
      const Resource& resource = schedule.resources[ResourceId{i}];
      if (resource.lifetime != Lifetime::kTransient) continue;
      transients.push_back({sizes[ResourceId{i}][sample], {resource.first_timepoint, resource.last_timepoint}, i});
    }
    peak[sample] = max_live_bytes(transients);
  }
  return peak;
}

}  // namespace millrace
