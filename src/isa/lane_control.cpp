// SPDX-License-Identifier: Apache-2.0
// Decodes DPP controls into one source lane per lane.
// Source: RDNA 3 ISA, 7.7 "Data Parallel Processing"; Vega ISA, 13.3.9 "DPP". Rows have 16 lanes, banks four.
#include "isa/lane_control.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "isa/machine.h"

namespace millrace::isa {
namespace {

constexpr std::uint32_t kRow = 16;

/// Returns the lane that lane `i` reads; empty if that lane would be outside the row.
using Source = std::optional<std::uint32_t> (*)(std::uint32_t i, std::uint32_t amount);

std::optional<std::uint32_t> in_row(std::uint32_t i, std::int64_t place) {
  if (place < 0 || place >= static_cast<std::int64_t>(kRow)) return std::nullopt;
  return i / kRow * kRow + static_cast<std::uint32_t>(place);
}

struct Control {
  std::string_view name;
  Source source;
};

constexpr Control kControls[] = {
    {"row_shl", [](std::uint32_t i, std::uint32_t n) { return in_row(i, std::int64_t{i % kRow} + n); }},
    {"row_shr", [](std::uint32_t i, std::uint32_t n) { return in_row(i, std::int64_t{i % kRow} - n); }},
    {"row_ror", [](std::uint32_t i, std::uint32_t n) { return in_row(i, (i + kRow - n) % kRow); }},
    {"row_share", [](std::uint32_t i, std::uint32_t n) { return in_row(i, n); }},
    {"row_newbcast", [](std::uint32_t i, std::uint32_t n) { return in_row(i, n); }},
    {"row_xmask", [](std::uint32_t i, std::uint32_t n) { return in_row(i, (i % kRow) ^ n); }},
    {"row_mirror", [](std::uint32_t i, std::uint32_t) { return in_row(i, 15 - i % kRow); }},
    {"row_half_mirror", [](std::uint32_t i, std::uint32_t) { return in_row(i, (i & 8) + 7 - i % 8); }}};

/// The lanes that two 4-bit masks keep active: one for the rows, one for the banks in each row.
std::uint64_t written_lanes_of(std::uint32_t row_mask, std::uint32_t bank_mask) {
  std::uint64_t lanes = 0;
  for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
    const bool is_on = (row_mask >> (i / kRow) & 1) != 0 && (bank_mask >> (i % kRow / 4) & 1) != 0;
    lanes |= std::uint64_t{is_on} << i;
  }
  return lanes;
}

Status decode_sources(const ModifierText& modifier, LaneControl& control) {
  if (modifier.name == "quad_perm" || modifier.name == "dpp8") {
    MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> order, parse_list(modifier.value));
    const auto size = static_cast<std::uint32_t>(order.size());
    if (size != (modifier.name == "dpp8" ? 8u : 4u)) return unimplemented("an order of lanes with the wrong length");
    for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
      control.source[i] = static_cast<std::uint8_t>(i / size * size + order[i % size]);
    }
    return {};
  }
  const auto* found = std::ranges::find(kControls, modifier.name, &Control::name);
  const std::optional<std::int64_t> amount = modifier.value.empty() ? 0 : parse_integer(modifier.value);
  if (found == std::end(kControls) || !amount) {
    return unimplemented(fmt::format("lane control '{}:{}' is not modelled", modifier.name, modifier.value));
  }
  for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
    const auto source = found->source(i, static_cast<std::uint32_t>(*amount));
    control.source[i] = static_cast<std::uint8_t>(source.value_or(LaneControl::kNobody));
  }
  return {};
}

bool chooses_lanes(std::string_view name) {
  return name == "quad_perm" || name == "dpp8" || name.starts_with("row_") || name.starts_with("wave_");
}

}  // namespace

bool is_lane_control(std::string_view name) {
  return chooses_lanes(name) || name == "bank_mask" || name == "bound_ctrl" || name == "fi";
}

Result<std::shared_ptr<const LaneControl>> decode_lane_control(const InstructionText& text, const Machine&) {
  LaneControl control;
  bool has_sources = false;
  std::int64_t row_mask = 15, bank_mask = 15;
  for (const ModifierText& modifier : text.modifiers) {
    if (modifier.name == "row_mask") {
      row_mask = parse_integer(modifier.value).value_or(15);
    } else if (modifier.name == "bank_mask") {
      bank_mask = parse_integer(modifier.value).value_or(15);
    } else if (modifier.name == "bound_ctrl") {
      control.bound_control = true;  // "bound_ctrl:0" and "bound_ctrl:1" are two spellings of one bit
    } else if (modifier.name == "fi") {
      control.fetches_inactive = modifier.value == "1";
    } else if (chooses_lanes(modifier.name)) {
      MILLRACE_TRY(decode_sources(modifier, control));
      has_sources = true;
    }
  }
  if (!has_sources) return std::shared_ptr<const LaneControl>();
  control.written = written_lanes_of(static_cast<std::uint32_t>(row_mask), static_cast<std::uint32_t>(bank_mask));
  return std::make_shared<const LaneControl>(control);
}

}  // namespace millrace::isa
