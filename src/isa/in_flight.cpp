// SPDX-License-Identifier: Apache-2.0
// Models the wait counters, to find uses of data whose load has not been waited for.
#include "isa/in_flight.h"

#include <algorithm>
#include <utility>

namespace millrace::isa {
namespace {

constexpr std::uint8_t kVectorCounter = 1, kLocalCounter = 2;  // the counters that a FLAT access waits for, as bits

bool is_flat(FlightKind kind) { return kind == FlightKind::kFlatLoad || kind == FlightKind::kFlatStore; }
bool is_vector_load(FlightKind kind) { return kind == FlightKind::kLoad || kind == FlightKind::kFlatLoad; }
bool is_vector_store(FlightKind kind) {
  return kind == FlightKind::kStore || kind == FlightKind::kPrivateStore || kind == FlightKind::kFlatStore;
}
/// Whether accesses of this kind finish in any order.
bool is_unordered(FlightKind kind) { return is_flat(kind) || kind == FlightKind::kScalarLoad; }

}  // namespace

InFlight::InFlight(const Machine& machine, std::uint32_t num_vector_registers)
    : has_store_counter_(machine.has_store_counter),
      has_split_counters_(machine.has_split_counters),
      pending_vectors_(num_vector_registers),
      pending_loads_(num_vector_registers) {}

bool InFlight::counts(WaitCounter counter, FlightKind kind) const {
  switch (counter) {
    case WaitCounter::kVm:
      return is_vector_load(kind) || (is_vector_store(kind) && !has_store_counter_);
    case WaitCounter::kLgkm:
      return kind == FlightKind::kLocal || kind == FlightKind::kScalarLoad || is_flat(kind);
    case WaitCounter::kLoad:
      return is_vector_load(kind);
    case WaitCounter::kVs:
    case WaitCounter::kStore:
      return is_vector_store(kind);
    case WaitCounter::kDs:
      return kind == FlightKind::kLocal || is_flat(kind);
    case WaitCounter::kKm:
      return kind == FlightKind::kScalarLoad;
  }
  return false;
}

void InFlight::begin(FlightKind kind, const RegisterRange& result) {
  // The counters have six bits, and a processor waits by itself when one is full. Programs rely on that: a loop of
  // stores may contain no wait instruction.
  constexpr std::uint32_t kMaxInFlight = 63;
  if (num_[static_cast<std::size_t>(kind)] >= kMaxInFlight && !is_unordered(kind)) {
    bool is_first = true;
    land_if([&](const Flight& flight) { return flight.kind == kind && std::exchange(is_first, false); });
  }
  for (std::uint32_t i = result.first; i < std::uint32_t{result.first} + result.count; ++i) {
    ++(result.is_vector ? pending_vectors_[i] : pending_scalars_[i]);
    if (result.is_vector && kind == FlightKind::kLoad) ++pending_loads_[i];
  }
  ++num_[static_cast<std::size_t>(kind)];
  const auto counters = static_cast<std::uint8_t>(is_flat(kind) ? kVectorCounter | kLocalCounter : 1);
  flights_.push_back({.kind = kind, .counters = counters, .result = result});
}

Footprint& InFlight::add_footprint() {
  ++flights_.back().num_footprints;
  if (spare_footprints_.empty()) spare_footprints_.push_back(std::make_unique<Footprint>());
  footprints_.push_back(std::move(spare_footprints_.back()));
  spare_footprints_.pop_back();
  return *footprints_.back();
}

/// Ends the flights for which `is_done` returns true. Calls `is_done` in order of issue.
template <class IsDone>
void InFlight::land_if(IsDone is_done) {
  std::size_t num_flights = 0, num_footprints = 0, next_footprint = 0;
  for (const Flight& flight : flights_) {
    const std::size_t first = std::exchange(next_footprint, next_footprint + flight.num_footprints);
    if (is_done(flight)) {
      for (std::uint32_t i = flight.result.first; i < std::uint32_t{flight.result.first} + flight.result.count; ++i) {
        --(flight.result.is_vector ? pending_vectors_[i] : pending_scalars_[i]);
        if (flight.result.is_vector && flight.kind == FlightKind::kLoad) --pending_loads_[i];
      }
      --num_[static_cast<std::size_t>(flight.kind)];
      for (std::size_t i = first; i < next_footprint; ++i) spare_footprints_.push_back(std::move(footprints_[i]));
      continue;
    }
    for (std::size_t i = first; i < next_footprint; ++i, ++num_footprints) {
      if (i != num_footprints) footprints_[num_footprints] = std::move(footprints_[i]);
    }
    flights_[num_flights++] = flight;
  }
  flights_.resize(num_flights);
  footprints_.resize(num_footprints);
}

void InFlight::wait(WaitCounter counter, std::uint32_t count) {
  if (flights_.empty()) return;
  std::uint32_t num_in_order = 0;
  for (Flight& flight : flights_) {
    if (!counts(counter, flight.kind)) continue;
    if (!is_unordered(flight.kind)) ++num_in_order;
    if (!is_flat(flight.kind) || count > 0) continue;
    const bool is_local = counter == WaitCounter::kLgkm || counter == WaitCounter::kDs;
    flight.counters &= static_cast<std::uint8_t>(is_local ? ~kLocalCounter : ~kVectorCounter);
  }
  std::uint32_t num_done = num_in_order > count ? num_in_order - count : 0;
  if (num_done == 0 && count > 0) return;
  // Some accesses finish in any order: only a count of 0 proves that they have finished.
  land_if([&](const Flight& flight) {
    if (!counts(counter, flight.kind)) return false;
    if (is_flat(flight.kind)) return flight.counters == 0;
    if (flight.kind == FlightKind::kScalarLoad) return count == 0;
    return num_done > 0 && num_done-- > 0;
  });
}

void InFlight::wait_for_all() {
  land_if([](const Flight&) { return true; });
}

std::optional<RegisterRange> InFlight::find_pending(const Instruction& instruction) const {
  // Vector loads write their results in order, except on gfx12, so one may overwrite another's result without a wait.
  const bool is_load = instruction.row->kind == Class::kGlobal && instruction.row->num_results > 0 &&
                       instruction.operands[0].is_vector() && !has_split_counters_;
  for (const RegisterRange& range : instruction.registers) {
    const bool is_result_of_load = is_load && &range == instruction.registers.data();
    for (std::uint16_t i = range.first; i < range.first + range.count; ++i) {
      const std::uint8_t pending = range.is_vector ? pending_vectors_[i] : pending_scalars_[i];
      if (pending == 0 || (is_result_of_load && pending == pending_loads_[i])) continue;
      return RegisterRange{range.is_vector, i, 1};
    }
  }
  return std::nullopt;
}

}  // namespace millrace::isa
