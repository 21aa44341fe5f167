// SPDX-License-Identifier: Apache-2.0
// Finds where the lanes of a memory instruction access memory, and checks bounds, alignment, definedness and races.
#include "isa/memory_access.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace millrace::isa {
namespace {

bool is_local(const Instruction& instruction) { return instruction.row->kind == Class::kLocal; }
/// Scalar loads only access global memory.
Segment segment_of(const Instruction& instruction) {
  const bool is_scalar = instruction.row->kind == Class::kScalarLoad;
  return is_scalar ? Segment::kGlobal : static_cast<Segment>(instruction.immediate);
}

template <class F>
void for_lanes(std::uint64_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

bool check_address_defined(Wave& wave, const Instruction& instruction, std::uint64_t lanes) {
  const Operand& vector = instruction.operands[kAddress];
  const Operand& base = instruction.operands[kBase];
  if (lanes == 0) return true;
  if (base.is_scalar() && wave.undefined_bits(base) != 0) {
    wave.fail(fmt::format("uses an undefined address from {}", register_text({false, base.first, base.count})));
    return false;
  }
  if (!vector.is_vector() || !wave.may_be_undefined(vector)) return true;
  std::uint64_t undefined = 0;
  for_lanes(lanes, [&](std::uint32_t lane) {
    for (std::uint32_t i = 0; i < vector.count; ++i) {
      if (wave.undefined_vectors[vector.first + i].lanes[lane] != 0) undefined |= std::uint64_t{1} << lane;
    }
  });
  if (undefined == 0) return true;
  wave.fail(fmt::format("uses an undefined address from {}", register_text({true, vector.first, vector.count})),
            undefined);
  return false;
}

/// Each address is vaddr + offset or, with a base, saddr + vaddr + offset. Source: RDNA 3 ISA, 11.2 "Addressing";
/// LLVM's FLATInstructions.td.
void add_global_addresses(const Wave& wave, const Instruction& instruction, std::int64_t offset, Places& places) {
  const Operand& vector = instruction.operands[kAddress];
  const Operand& base = instruction.operands[kBase];
  const auto start = static_cast<std::uint64_t>(offset) + (base.is_scalar() ? wave.read_scalar(base) : 0);
  const std::uint32_t num_lanes = wave.machine.num_lanes;
  auto& addresses = places.addresses.values;
  if (!vector.is_vector()) {
    std::fill_n(addresses, num_lanes, start);
    return;
  }
  const auto& low = wave.vectors[vector.first].lanes;
  if (vector.count == 1) {
    for_all_lanes(num_lanes, [&](std::size_t i) { addresses[i] = start + low[i]; });
    return;
  }
  const auto& high = wave.vectors[vector.first + 1u].lanes;
  for_all_lanes(num_lanes,
                [&](std::size_t i) { addresses[i] = start + (low[i] | static_cast<std::uint64_t>(high[i]) << 32); });
}

bool find_global(Wave& wave, const Instruction& instruction, std::int64_t offset, std::uint32_t num_bytes,
                 AccessKind kind, Places& places) {
  add_global_addresses(wave, instruction, offset, places);
  GlobalMemory& memory = wave.group.dispatch.global;
  const auto outside = memory.find_outside(places.addresses, places.lanes, num_bytes, kind);
  if (!outside) {
    for_all_lanes(wave.machine.num_lanes, [&](std::size_t i) {
      places.addresses.values[i] = GlobalMemory::host_address(places.addresses.values[i]);
    });
    return true;
  }
  wave.fail(verb_text(kind, num_bytes) + memory.outside_text(places.addresses.values[*outside], num_bytes, kind),
            std::uint64_t{1} << *outside);
  return false;
}

/// The lanes whose offsets are outside a memory of `size` bytes.
std::uint64_t find_outside(const Places& places, std::uint32_t num_lanes, std::uint32_t num_bytes, std::uint64_t size) {
  // The top bit is set if any lane is beyond the end: SSE2 can subtract 64-bit numbers, but not compare them.
  std::uint64_t beyond = size - num_bytes;
  for_all_lanes(num_lanes, [&](std::size_t i) { beyond |= size - num_bytes - places.addresses.values[i]; });
  if (beyond >> 63 == 0) return 0;
  std::uint64_t outside = 0;
  for_lanes(places.lanes, [&](std::uint32_t lane) {
    const std::uint64_t address = places.addresses.values[lane];
    if (num_bytes > size || address > size - num_bytes) outside |= std::uint64_t{1} << lane;
  });
  return outside;
}

bool fail_outside(Wave& wave, const Places& places, std::uint32_t num_bytes, AccessKind kind, std::uint64_t outside,
                  std::string_view memory, std::uint64_t size) {
  const std::uint64_t address = places.addresses.values[std::countr_zero(outside)];
  wave.fail(fmt::format("{}{} + {}, which has {} bytes", verb_text(kind, num_bytes), memory, address, size), outside);
  return false;
}

/// Finds the places in workgroup memory. Addresses of DS instructions are 32 bits wide, and wrap.
bool find_local(Wave& wave, const Instruction& instruction, std::int64_t offset, std::uint32_t num_bytes,
                AccessKind kind, Places& places) {
  LocalMemory& memory = wave.group.local;
  const auto& lanes = wave.vectors[instruction.operands[kAddress].first].lanes;
  for_all_lanes(wave.machine.num_lanes,
                [&](std::size_t i) { places.addresses.values[i] = lanes[i] + static_cast<std::uint32_t>(offset); });
  places.base = reinterpret_cast<std::uint64_t>(memory.group_segment());
  places.shadow = wave.finds_mistakes() ? memory.group_size() : 0;
  const std::uint64_t outside = find_outside(places, wave.machine.num_lanes, num_bytes, memory.group_size());
  if (outside == 0) return true;
  return fail_outside(wave, places, num_bytes, kind, outside, "the workgroup's memory", memory.group_size());
}

/// Finds the places in the lanes' private segments, each of which begins at address 0.
bool find_private(Wave& wave, const Instruction& instruction, std::int64_t offset, std::uint32_t num_bytes,
                  AccessKind kind, Places& places) {
  LocalMemory& memory = wave.group.local;
  add_global_addresses(wave, instruction, offset, places);
  for (auto& address : places.addresses.values) address = static_cast<std::uint32_t>(address);
  const std::uint64_t outside = find_outside(places, wave.machine.num_lanes, num_bytes, memory.private_size());
  if (outside != 0) {
    return fail_outside(wave, places, num_bytes, kind, outside, "the thread's private memory", memory.private_size());
  }
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    const std::uint64_t thread = wave.number * std::uint64_t{wave.machine.num_lanes} + i;
    places.addresses.values[i] += thread * memory.private_size();
  }
  places.base = reinterpret_cast<std::uint64_t>(memory.private_segments());
  places.shadow = wave.finds_mistakes() ? memory.all_private_size() : 0;
  return true;
}

/// LLVM requests "unaligned-access-mode" from AMDHSA, and all processors here have "unaligned-ds-access": loads and
/// stores may use any address, but atomics must be aligned.
bool check_aligned(Wave& wave, std::uint32_t num_bytes, AccessKind kind, const Places& places) {
  if (kind != AccessKind::kAtomic) return true;
  std::uint64_t misaligned = 0;
  for_lanes(places.lanes, [&](std::uint32_t lane) {
    if (places.addresses.values[lane] % num_bytes != 0) misaligned |= std::uint64_t{1} << lane;
  });
  if (misaligned == 0) return true;
  wave.fail(fmt::format("updates {} bytes at an address that is not a multiple of {}", num_bytes, num_bytes),
            misaligned);
  return false;
}

MemoryHistory* history_at(Wave& wave, const Instruction& instruction, std::uint64_t address) {
  if (is_local(instruction)) return wave.group.local.history();
  if (segment_of(instruction) == Segment::kPrivate) return nullptr;
  return wave.group.dispatch.global.find_history(address);
}

/// Local accesses have group 0: no other workgroup can access the group segment. Workgroups run one after another in
/// the same LocalMemory, whose phase only grows, so that accesses of different workgroups have different phases.
WaveAccess access_of(const Wave& wave, std::uint32_t instruction, bool is_local) {
  return {.group = is_local ? 0 : wave.group.number,
          .wave = wave.number,
          .phase = wave.group.local.phase(),
          .address = instruction,
          .serial = static_cast<std::uint32_t>(wave.group.dispatch.counts.wave_instructions())};
}

std::string place_text(const Wave& wave, bool is_local, std::uint64_t address) {
  return is_local ? fmt::format("the workgroup's memory + {}", address)
                  : wave.group.dispatch.global.place_text(address);
}

std::string race_text(const Wave& wave, bool is_local, const WaveHistory::Race& race) {
  static constexpr const char* kPast[] = {"read", "wrote", "updated"};
  const std::string group =
      is_local || race.other.group == wave.group.number ? "" : fmt::format(" of workgroup {}", race.other.group);
  return fmt::format("races with wave {}{}, which {} it at {:#x}", race.other.wave, group,
                     kPast[static_cast<std::size_t>(race.kind)], race.other.address);
}

RegisterRange result_of(const Instruction& instruction) {
  const Operand& result = instruction.operands[kResult];
  return result.is_vector() ? RegisterRange{true, result.first, result.count} : RegisterRange{};
}

/// Accesses with a result count as loads, others as stores. LDS has its own kind; FLAT counts as both LDS and global.
FlightKind flight_of(const Instruction& instruction) {
  if (is_local(instruction)) return FlightKind::kLocal;
  const bool has_result = instruction.operands[kResult].is_vector();
  if (segment_of(instruction) == Segment::kFlat) return has_result ? FlightKind::kFlatLoad : FlightKind::kFlatStore;
  if (has_result) return FlightKind::kLoad;
  return segment_of(instruction) == Segment::kPrivate ? FlightKind::kPrivateStore : FlightKind::kStore;
}

constexpr std::size_t kMaxPassing = 1u << 14;  // 10 MB per wave

void add_footprint(Wave& wave, const Instruction& instruction, std::uint32_t num_bytes, AccessKind kind,
                   const Places& places) {
  if (places.lanes == 0) return;
  const std::uint64_t first = places.addresses.values[std::countr_zero(places.lanes)];
  if (history_at(wave, instruction, first) == nullptr) return;
  Footprint& footprint = wave.in_flight.add_footprint();
  footprint.kind = kind;
  footprint.is_local = is_local(instruction);
  footprint.num_bytes = num_bytes;
  footprint.instruction = instruction.address;
  footprint.lanes = places.lanes;
  const auto num_lanes = static_cast<std::uint32_t>(std::bit_width(places.lanes));
  std::copy_n(places.addresses.values, num_lanes, footprint.addresses.begin());
  if (!wave.has_signalled_barrier) return;
  if (wave.passing_barrier.size() >= kMaxPassing) {
    return wave.fail("makes more memory accesses between a barrier's signal and its wait than are modelled");
  }
  wave.passing_barrier.push_back(footprint);
}

}  // namespace

std::string verb_text(AccessKind kind, std::uint32_t num_bytes) {
  static constexpr const char* kVerbs[] = {"reads", "writes", "updates"};
  return fmt::format("{} {} byte{} at ", kVerbs[static_cast<std::size_t>(kind)], num_bytes, num_bytes == 1 ? "" : "s");
}

bool find_places(Wave& wave, const Instruction& instruction, std::int64_t offset, std::uint32_t num_bytes,
                 AccessKind kind, Places& places) {
  places.lanes = wave.exec();
  if (wave.finds_mistakes() && !check_address_defined(wave, instruction, places.lanes)) return false;
  bool is_inside = false;
  if (is_local(instruction)) {
    is_inside = find_local(wave, instruction, offset, num_bytes, kind, places);
  } else if (segment_of(instruction) == Segment::kPrivate) {
    is_inside = find_private(wave, instruction, offset, num_bytes, kind, places);
  } else {
    is_inside = find_global(wave, instruction, offset, num_bytes, kind, places);
  }
  return is_inside && check_aligned(wave, num_bytes, kind, places);
}

bool check_order(Wave& wave, const Instruction& instruction, std::uint32_t num_bytes, AccessKind kind, Places& places) {
  const WaveAccess me = access_of(wave, instruction.address, is_local(instruction));
  std::optional<WaveHistory::Race> race;
  std::uint64_t racing = 0, address = 0, last_loaded = UINT64_MAX;
  for_lanes(places.lanes, [&](std::uint32_t lane) {
    const std::uint64_t place = places.addresses.values[lane];
    // Adjacent lanes often load the same place.
    if (kind == AccessKind::kLoad && std::exchange(last_loaded, place) == place) return;
    MemoryHistory* history = history_at(wave, instruction, place);
    if (history == nullptr) return;
    std::uint32_t overlap = 0;
    const auto found = history->add(place, num_bytes, kind, me, overlap);
    if (overlap != 0) {
      places.overlapping_lanes |= std::uint64_t{1} << lane;
      places.overlapping_bytes[lane] = overlap;
    }
    if (!found) return;
    if (!race) race = found, address = place;
    racing |= std::uint64_t{1} << lane;
  });
  if (!race) return true;
  wave.fail(fmt::format("{}{}: {}", verb_text(kind, num_bytes), place_text(wave, is_local(instruction), address),
                        race_text(wave, is_local(instruction), *race)),
            racing);
  return false;
}

bool check_scalar_order(Wave& wave, const Instruction& instruction, std::uint64_t address, std::uint32_t num_bytes) {
  MemoryHistory* history = wave.group.dispatch.global.find_history(address);
  if (history == nullptr) return true;
  std::uint32_t overlap = 0;
  const auto race =
      history->add(address, num_bytes, AccessKind::kLoad, access_of(wave, instruction.address, false), overlap);
  if (!race) return true;
  wave.fail(fmt::format("{}{}: {}", verb_text(AccessKind::kLoad, num_bytes), place_text(wave, false, address),
                        race_text(wave, false, *race)));
  return false;
}

bool check_stored_bits(Wave& wave, const Operand& data, std::uint32_t bits, const Places& places) {
  if (places.shadow != 0 || !wave.may_be_undefined(data)) return true;
  std::uint64_t undefined = 0;
  for_lanes(places.lanes, [&](std::uint32_t lane) {
    for (std::uint32_t i = 0; i < data.count; ++i) {
      if ((wave.undefined_vectors[data.first + i].lanes[lane] & bits) != 0) undefined |= std::uint64_t{1} << lane;
    }
  });
  if (undefined == 0) return true;
  wave.fail(fmt::format("undefined data of {} reaches memory", register_text({true, data.first, data.count})),
            undefined);
  return false;
}

void fail_overlap(Wave& wave, const Instruction& instruction, std::uint32_t num_bytes, const Places& places,
                  std::uint64_t lanes) {
  wave.fail(fmt::format("{}{}, where another lane writes a different value", verb_text(AccessKind::kStore, num_bytes),
                        place_text(wave, is_local(instruction), places.addresses.values[std::countr_zero(lanes)])),
            lanes);
}

void begin_flight(Wave& wave, FlightKind kind, const RegisterRange& result) {
  if (wave.finds_mistakes() || wave.group.dispatch.launch.profile != nullptr) wave.in_flight.begin(kind, result);
}

void count_bytes(IsaCounts& counts, bool is_local, AccessKind kind, std::uint64_t num_bytes) {
  if (kind != AccessKind::kStore) (is_local ? counts.local_bytes_read : counts.global_bytes_read) += num_bytes;
  if (kind != AccessKind::kLoad) (is_local ? counts.local_bytes_written : counts.global_bytes_written) += num_bytes;
}

/// Whether all lanes are active and access consecutive words, so that the banks share the work evenly.
bool is_one_stretch(const Places& places, std::uint32_t num_bytes, std::uint32_t num_lanes) {
  const std::uint64_t first = places.addresses.values[0];
  const bool is_full = places.lanes == (num_lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << num_lanes) - 1);
  if (!is_full || num_bytes % 4 != 0 || first % 4 != 0) return false;
  std::uint64_t difference = 0;
  for_all_lanes(num_lanes, [&](std::size_t i) { difference |= places.addresses.values[i] ^ (first + i * num_bytes); });
  return difference == 0;
}

void finish_access(Wave& wave, const Instruction& instruction, std::uint32_t num_bytes, AccessKind kind,
                   const Places& places, const Places* second) {
  IsaCounts& counts = wave.group.dispatch.counts;
  const auto num_lanes = static_cast<std::uint64_t>(std::popcount(places.lanes));
  count_bytes(counts, is_local(instruction), kind, num_lanes * num_bytes * (second == nullptr ? 1 : 2));
  if (is_local(instruction) && !(second == nullptr && is_one_stretch(places, num_bytes, wave.machine.num_lanes))) {
    counts.bank_conflicts += wave.group.dispatch.conflicts.extra_cycles(
        instruction, places.lanes, places.addresses, second == nullptr ? nullptr : &second->addresses, num_bytes,
        kind != AccessKind::kAtomic);
  }
  begin_flight(wave, flight_of(instruction), result_of(instruction));
  if (!wave.finds_mistakes()) return;
  add_footprint(wave, instruction, num_bytes, kind, places);
  if (second != nullptr) add_footprint(wave, instruction, num_bytes, kind, *second);
}

void finish_scalar_load(Wave& wave, const Instruction& instruction, std::uint64_t address, std::uint32_t num_bytes) {
  wave.group.dispatch.counts.global_bytes_read += num_bytes;
  begin_flight(wave, FlightKind::kScalarLoad, {false, instruction.result().first, instruction.result().count});
  if (!wave.finds_mistakes()) return;
  Places place;
  place.lanes = 1;
  place.addresses.values[0] = address;
  add_footprint(wave, instruction, num_bytes, AccessKind::kLoad, place);
}

namespace {

/// Adds an access that is in flight at a barrier to the phase after the barrier too.
void repeat_access(const Wave& wave, const Footprint& footprint) {
  const WaveAccess access = access_of(wave, footprint.instruction, footprint.is_local);
  for_lanes(footprint.lanes, [&](std::uint32_t lane) {
    const std::uint64_t address = footprint.addresses[lane];
    MemoryHistory* history =
        footprint.is_local ? wave.group.local.history() : wave.group.dispatch.global.find_history(address);
    std::uint32_t overlap = 0;
    if (history != nullptr) history->add(address, footprint.num_bytes, footprint.kind, access, overlap);
  });
}

}  // namespace

void pass_barrier(Workgroup& group) {
  group.local.open_barrier();
  // A barrier does not wait for accesses in flight: they may happen on either side.
  for (Wave& wave : group.waves) {
    for (const auto& footprint : wave.in_flight.footprints()) repeat_access(wave, *footprint);
    for (const Footprint& footprint : wave.passing_barrier) repeat_access(wave, footprint);
    wave.passing_barrier.clear();
  }
}

Status decode_memory_modifiers(const InstructionText& text, Instruction& instruction) {
  for (const ModifierText& modifier : text.modifiers) {
    // Cache controls have no effect here: accesses are done at once.
    static constexpr std::string_view kOfCaches[] = {"glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope"};
    if (std::ranges::find(kOfCaches, modifier.name) != std::end(kOfCaches)) continue;
    const bool is_first = modifier.name == "offset" || modifier.name == "offset0";
    const std::optional<std::int64_t> number = parse_integer(modifier.value);
    if ((!is_first && modifier.name != "offset1") || !number) {
      return unimplemented(fmt::format("modifier '{}' is not modelled", modifier.name));
    }
    (is_first ? instruction.modifiers.offset : instruction.modifiers.offset1) = *number;
  }
  return {};
}

bool is_into_half(const Row& row) {
  return row.access == AccessKind::kLoad && std::string_view(row.name).find("d16") != std::string_view::npos;
}

Status decode_memory_operand(std::string_view text, Type type, const Machine& machine, std::size_t place,
                             Instruction& instruction) {
  Operand& operand = instruction.operands[place];
  MILLRACE_TRY_ASSIGN(operand, parse_operand(text, type, machine.num_lanes));
  if (operand.is_vector() || (operand.is_scalar() && operand.first != kNull)) {
    instruction.registers.push_back({operand.is_vector(), operand.first, operand.count});
  }
  return {};
}

}  // namespace millrace::isa
