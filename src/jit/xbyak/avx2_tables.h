// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/xbyak/lane_assembler.h"

// The memory operands of AVX2 code of lane functions: spilled values, and tables of permutations.
namespace millrace {

/// A register, or the slot of a spilled value. Most instructions accept either as their last operand.
class Avx2Source {
 public:
  explicit Avx2Source(const Xbyak::Ymm& ymm) : ymm_(ymm) {}
  explicit Avx2Source(const Xbyak::Address& memory) : memory_(memory), is_memory_(true) {}
  operator const Xbyak::Operand&() const { return is_memory_ ? static_cast<const Xbyak::Operand&>(memory_) : ymm_; }

 private:
  Xbyak::Ymm ymm_;
  Xbyak::Address memory_{0, false, Xbyak::RegExp()};
  bool is_memory_ = false;
};

/// A table indexed by the bits of a mask. Each entry is the permutation that moves the mask's lanes to the front. It
/// has four bits per 32-bit unit of the vector, the first unit's lowest. Units after the mask's lanes are 0.
inline LaneAssembler::Table compressing_places(int num_lanes) {
  constexpr int kUnits = 8;  // 32-bit units of a vector
  LaneAssembler::Table places((std::size_t{1} << num_lanes) / 2);
  for (std::uint32_t mask = 0; mask < 2 * places.size(); ++mask) {
    std::uint64_t units = 0;
    int num_units = 0;
    for (int unit = 0; unit < kUnits; ++unit) {
      const bool is_on = (mask >> (unit / (kUnits / num_lanes)) & 1) != 0;
      if (is_on) units |= static_cast<std::uint64_t>(unit) << (4 * num_units++);
    }
    places[mask / 2] |= units << (32 * (mask % 2));
  }
  return places;
}

/// The shuffle that takes the lower `bytes` bytes of each lane, and packs them at the start of each half of the vector.
inline LaneAssembler::Table bytes_of_cut_lanes(int half_lanes, int lane_bytes, int bytes) {
  LaneAssembler::Table from(4);
  for (int byte = 0; byte < half_lanes * bytes; ++byte) {
    const auto source = static_cast<std::uint64_t>(byte / bytes * lane_bytes + byte % bytes);
    for (const std::size_t half : {0u, 2u}) from[half + static_cast<std::size_t>(byte) / 8] |= source << byte % 8 * 8;
  }
  return from;
}

}  // namespace millrace
