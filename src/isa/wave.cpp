// SPDX-License-Identifier: Apache-2.0
// Reads and writes the registers of a wave, with their undefined bits.
#include "isa/wave.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace millrace::isa {
namespace {

constexpr std::uint64_t low_bits(std::uint32_t num_words) {
  return num_words >= 2 ? ~std::uint64_t{0} : (std::uint64_t{1} << 32) - 1;
}

std::uint64_t join(const std::array<std::uint32_t, kNumScalars>& words, std::uint32_t first, std::uint32_t count) {
  std::uint64_t value = words[first];
  if (count >= 2) value |= static_cast<std::uint64_t>(words[first + 1]) << 32;
  return value;
}

}  // namespace

Wave::Wave(const Machine& its_machine, Workgroup& its_group, std::uint32_t its_number,
           std::uint32_t num_vector_registers, bool finds_mistakes)
    : machine(its_machine),
      group(its_group),
      number(its_number),
      vectors(num_vector_registers),
      in_flight(its_machine, num_vector_registers) {
  if (!finds_mistakes) return;
  undefined_scalars.fill(~0u);
  undefined_scalars[kNull] = 0;
  is_scc_undefined = true;
  LaneWords undefined;
  undefined.lanes.fill(~0u);
  undefined_vectors.assign(num_vector_registers, undefined);
  has_undefined.assign(num_vector_registers, 1);
}

std::uint64_t Wave::mask(std::uint32_t first) const { return join(scalars, first, machine.num_lanes / 32); }

std::uint64_t Wave::undefined_mask(std::uint32_t first) const {
  return join(undefined_scalars, first, machine.num_lanes / 32);
}

void Wave::set_mask(std::uint32_t first, std::uint64_t lanes, std::uint64_t undefined) {
  write_scalar({.kind = OperandKind::kScalar,
                .first = static_cast<std::uint16_t>(first),
                .count = static_cast<std::uint16_t>(machine.num_lanes / 32)},
               lanes, undefined);
}

std::uint64_t Wave::read_scalar(const Operand& operand) const {
  if (operand.first == kNull && operand.kind == OperandKind::kScalar) return 0;
  if (operand.kind == OperandKind::kScalar) return join(scalars, operand.first, operand.count);
  return operand.kind == OperandKind::kScc ? scc : operand.bits;
}

std::uint64_t Wave::undefined_bits(const Operand& operand) const {
  if (operand.first == kNull && operand.kind == OperandKind::kScalar) return 0;
  if (operand.kind == OperandKind::kScalar) return join(undefined_scalars, operand.first, operand.count);
  return operand.kind == OperandKind::kScc && is_scc_undefined ? ~std::uint64_t{0} : 0;
}

void Wave::write_scalar(const Operand& operand, std::uint64_t value, std::uint64_t undefined) {
  if (operand.first == kNull || operand.kind != OperandKind::kScalar) return;
  const bool is_exec = operand.first + operand.count > kExec;
  if (is_exec && (undefined & low_bits(operand.count)) != 0) {
    fail("undefined data reaches EXEC", undefined & low_bits(operand.count));
  }
  for (std::uint32_t i = 0; i < operand.count; ++i) {
    scalars[operand.first + i] = static_cast<std::uint32_t>(value >> (32 * i));
    undefined_scalars[operand.first + i] = static_cast<std::uint32_t>(undefined >> (32 * i));
  }
}

bool Wave::may_be_undefined(const Operand& operand) const {
  if (!finds_mistakes()) return false;
  if (operand.kind != OperandKind::kVector) return undefined_bits(operand) != 0;
  for (std::uint32_t i = 0; i < operand.count; ++i) {
    if (has_undefined[operand.first + i] != 0) return true;
  }
  return false;
}

void Wave::set_undefined(std::uint32_t vector_register, std::uint64_t lanes, const LaneWords& bits) {
  LaneWords& shadow = undefined_vectors[vector_register];
  std::uint32_t any = 0;
  for (std::uint32_t lane = 0; lane < machine.num_lanes; ++lane) {
    if ((lanes >> lane & 1) != 0) shadow.lanes[lane] = bits.lanes[lane];
    any |= shadow.lanes[lane];
  }
  has_undefined[vector_register] = any != 0;
}

void Wave::set_defined(std::uint32_t vector_register, std::uint64_t lanes) {
  if (has_undefined.empty() || has_undefined[vector_register] == 0) return;
  if (lanes == machine.all_lanes()) {
    undefined_vectors[vector_register] = {};
    has_undefined[vector_register] = 0;
    return;
  }
  set_undefined(vector_register, lanes, {});
}

void Wave::fail(std::string what, std::uint64_t lanes) {
  if (!failure.empty()) return;
  failure = std::move(what);
  failing_lanes = lanes;
}

std::string register_text(const RegisterRange& range) {
  static constexpr const char* kNames[] = {"vcc", "m0", "null", "exec"};
  static constexpr std::uint32_t kFirsts[] = {kVcc, kM0, kNull, kExec};
  std::uint32_t first = range.first;
  if (!range.is_vector) {
    for (std::size_t i = 0; i < std::size(kFirsts); ++i) {
      if (first == kFirsts[i]) {
        const bool is_half = (first == kVcc || first == kExec) && range.count == 1;
        return std::string(kNames[i]) + (is_half ? "_lo" : "");
      }
    }
    if (first == kVcc + 1) return "vcc_hi";
    if (first == kExec + 1) return "exec_hi";
  }
  std::string kind = range.is_vector ? "v" : "s";
  if (range.is_vector && first >= kFirstAccumulator) kind = "a", first -= kFirstAccumulator;
  if (!range.is_vector && first >= kTtmp && first < kM0) kind = "ttmp", first -= kTtmp;
  if (range.count == 1) return fmt::format("{}{}", kind, first);
  return fmt::format("{}[{}:{}]", kind, first, first + range.count - 1);
}

}  // namespace millrace::isa
