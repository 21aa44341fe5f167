// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "isa/decode.h"
#include "isa/workgroup.h"

namespace millrace::isa::test {

/// A wave of a workgroup of its own, whose registers a test sets, and that executes single instructions.
class BareWave {
 public:
  explicit BareWave(const char* gfx, std::uint32_t num_lanes, bool finds_mistakes = true,
                    std::uint32_t num_vector_registers = 64)
      : kernel_{.symbol = "bare",
                .machine = make_machine(gfx, num_lanes).value(),
                .workgroup_size = num_lanes,
                .num_vector_registers = num_vector_registers},
        launch_{.finds_mistakes = finds_mistakes},
        dispatch_{.kernel = kernel_, .launch = launch_, .random = {}, .global = GlobalMemory(kernel_, launch_)},
        local_(kernel_, launch_),
        group_{.dispatch = dispatch_, .local = local_},
        wave_(kernel_.machine, group_, 0, num_vector_registers, finds_mistakes) {
    wave_.write_scalar({.kind = OperandKind::kScalar, .first = kExec, .count = 2}, kernel_.machine.all_lanes());
  }
  BareWave(const BareWave&) = delete;
  BareWave& operator=(const BareWave&) = delete;

  Wave& wave() { return wave_; }
  /// See Launch::seed.
  void set_seed(std::uint64_t seed) { launch_.seed = seed; }
  void set_scalar(std::uint32_t first, std::uint64_t value, std::uint64_t undefined = 0, std::uint16_t count = 2) {
    wave_.write_scalar({.kind = OperandKind::kScalar, .first = static_cast<std::uint16_t>(first), .count = count},
                       value, undefined);
  }
  std::uint64_t scalar(std::uint32_t first, std::uint16_t count = 2) const {
    return wave_.read_scalar(
        {.kind = OperandKind::kScalar, .first = static_cast<std::uint16_t>(first), .count = count});
  }
  std::uint64_t undefined_scalar(std::uint32_t first, std::uint16_t count = 2) const {
    return wave_.undefined_bits(
        {.kind = OperandKind::kScalar, .first = static_cast<std::uint16_t>(first), .count = count});
  }

  /// Executes an instruction. Returns its mistake, or why it cannot be decoded; empty: no mistake.
  std::string run(std::string text) {
    Result<Instruction> instruction =
        decode_instruction({.size_bytes = 4, .text = std::move(text)}, 0, kernel_.machine);
    if (!instruction.ok()) return instruction.status().message();
    wave_.failure.clear();
    instruction->run(wave_, *instruction);
    return wave_.failure;
  }

 private:
  Kernel kernel_;
  Launch launch_;
  Dispatch dispatch_;
  LocalMemory local_;
  Workgroup group_;
  Wave wave_;
};

}  // namespace millrace::isa::test
