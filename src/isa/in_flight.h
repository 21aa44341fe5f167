// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isa/instruction.h"
#include "isa/machine.h"
#include "isa/memory_history.h"

namespace millrace::isa {

/// How an access to memory is counted. Accesses of one kind finish in order, except scalar loads and FLAT, which finish
/// in any order. A FLAT instruction may access local memory, so it also counts as a local access.
enum class FlightKind : std::uint8_t { kLoad, kStore, kPrivateStore, kLocal, kScalarLoad, kFlatLoad, kFlatStore };
inline constexpr std::size_t kNumFlightKinds = 7;

/// The counters that instructions wait for. Which kinds a counter counts depends on the processor.
enum class WaitCounter : std::uint8_t { kVm, kVs, kLgkm, kLoad, kStore, kDs, kKm };

/// The memory that an access touches. A barrier orders the access before later ones only if the wave has waited for the
/// access before the barrier.
struct Footprint {
  AccessKind kind = AccessKind::kLoad;
  bool is_local = false;
  std::uint32_t num_bytes = 0;    // per lane
  std::uint32_t instruction = 0;  // its address, from the kernel's entry
  std::uint64_t lanes = 0;
  std::array<std::uint64_t, kMaxLanes> addresses = {};
};

/// The memory accesses of a wave that have been issued and not been waited for. Source: RDNA 3 ISA, 5.6 "Data
/// Dependency Resolution"; Vega ISA, 4.4, likewise. LLVM's SIInsertWaitcnts says which kinds of one counter may
/// overtake each other.
class InFlight {
 public:
  InFlight(const Machine&, std::uint32_t num_vector_registers);

  /// Begins an access whose result, if any, arrives in these registers.
  void begin(FlightKind, const RegisterRange& result = {});
  /// Adds a footprint to the access that was begun last.
  Footprint& add_footprint();
  /// Waits until at most `count` accesses that `counter` counts are in flight.
  void wait(WaitCounter counter, std::uint32_t count);
  void wait_for_all();
  bool is_empty() const { return flights_.empty(); }
  std::size_t size() const { return flights_.size(); }
  bool has(FlightKind kind) const { return num_[static_cast<std::size_t>(kind)] != 0; }
  /// The first of the instruction's registers that a load in flight will write.
  std::optional<RegisterRange> find_pending(const Instruction&) const;
  /// The accesses in flight to memory that other waves may touch.
  const std::vector<std::unique_ptr<Footprint>>& footprints() const { return footprints_; }

 private:
  struct Flight {
    FlightKind kind = FlightKind::kLoad;
    std::uint8_t counters = 1;        // bits of the counters still to be waited for: FLAT has two
    std::uint8_t num_footprints = 0;  // its entries in footprints_, which are in the order of the flights
    RegisterRange result = {};
  };
  bool counts(WaitCounter, FlightKind) const;
  template <class IsDone>
  void land_if(IsDone);

  bool has_store_counter_ = false, has_split_counters_ = false;
  std::vector<Flight> flights_;  // in order of issue
  std::vector<std::unique_ptr<Footprint>> footprints_;
  std::vector<std::unique_ptr<Footprint>> spare_footprints_;    // from flights that ended, for reuse
  std::array<std::uint32_t, kNumFlightKinds> num_ = {};         // in flight, per kind
  std::array<std::uint8_t, kNumScalars> pending_scalars_ = {};  // per register, the flights that will write it
  std::vector<std::uint8_t> pending_vectors_;
  std::vector<std::uint8_t> pending_loads_;  // as in pending_vectors_, but only flights of kind kLoad
};

}  // namespace millrace::isa
