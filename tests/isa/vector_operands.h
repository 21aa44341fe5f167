// SPDX-License-Identifier: Apache-2.0
// Runs any row of the table of vector instructions on registers with chosen values and undefined bits.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/isa/bare_wave.h"

namespace millrace::isa::test {

/// What a source or result is for each lane, bit by bit.
struct LaneValues {
  std::array<std::uint64_t, kMaxLanes> value = {}, undefined = {};
};

inline bool has_two_words(Type type) {
  return type == Type::kB64 || type == Type::kI64 || type == Type::kF64 || type == Type::kPackedF32;
}

/// Operand i of a row stands in vector registers from 4 * i on, or in scalar ones.
class RowRunner {
 public:
  RowRunner(const Row& row, const char* gfx, std::uint32_t num_lanes)
      : row_(row), num_lanes_(num_lanes), bare_(gfx, num_lanes) {
    while (num_operands_ < kMaxOperands && row.types[num_operands_] != Type::kNone) ++num_operands_;
    text_ = row.name;
    const bool leaves_out_first = text_.starts_with("v_cmpx_") && bare_.wave().machine.major >= 10;
    for (std::size_t i = leaves_out_first ? 1 : 0; i < num_operands_; ++i) {
      text_ += fmt::format("{}{}", text_.find(' ') == text_.npos ? " " : ", ", operand_text(i));
    }
  }

  Wave& wave() { return bare_.wave(); }
  const std::string& text() const { return text_; }
  std::size_t num_operands() const { return num_operands_; }
  bool is_mask(std::size_t operand) const { return row_.types[operand] == Type::kMask; }

  void set(std::size_t operand, const LaneValues& lanes) {
    Wave& wave = bare_.wave();
    if (is_mask(operand)) {
      std::uint64_t mask = 0, undefined = 0;
      for (std::uint32_t i = 0; i < num_lanes_; ++i) {
        mask |= (lanes.value[i] & 1) << i;
        undefined |= (lanes.undefined[i] & 1) << i;
      }
      return wave.set_mask(scalar(operand), mask, undefined);
    }
    for (std::uint32_t word = 0; word < 2; ++word) {
      LaneWords undefined;
      for (std::uint32_t i = 0; i < num_lanes_; ++i) {
        wave.vectors[vector(operand) + word].lanes[i] = static_cast<std::uint32_t>(lanes.value[i] >> (32 * word));
        undefined.lanes[i] = static_cast<std::uint32_t>(lanes.undefined[i] >> (32 * word));
      }
      wave.set_undefined(vector(operand) + word, wave.machine.all_lanes(), undefined);
    }
  }

  LaneValues get(std::size_t operand) {
    Wave& wave = bare_.wave();
    LaneValues lanes;
    for (std::uint32_t i = 0; i < num_lanes_; ++i) {
      if (is_mask(operand)) {
        lanes.value[i] = wave.mask(scalar(operand)) >> i & 1;
        lanes.undefined[i] = wave.undefined_mask(scalar(operand)) >> i & 1;
        continue;
      }
      for (std::uint32_t word = 0; word < (has_two_words(row_.types[operand]) ? 2u : 1u); ++word) {
        const std::uint32_t number = vector(operand) + word;
        lanes.value[i] |= std::uint64_t{wave.vectors[number].lanes[i]} << (32 * word);
        lanes.undefined[i] |= std::uint64_t{wave.undefined_vectors[number].lanes[i]} << (32 * word);
      }
    }
    return lanes;
  }

  /// The instruction's mistake, or why it cannot be decoded.
  std::string run() { return bare_.run(text_); }
  std::string run(const std::string& modifiers) { return bare_.run(text_ + " " + modifiers); }

 private:
  static std::uint32_t vector(std::size_t operand) { return static_cast<std::uint32_t>(4 * operand); }
  static std::uint32_t scalar(std::size_t operand) { return static_cast<std::uint32_t>(20 + 2 * operand); }

  std::string operand_text(std::size_t i) const {
    if (is_mask(i)) {
      return num_lanes_ == 64 ? fmt::format("s[{}:{}]", scalar(i), scalar(i) + 1) : fmt::format("s{}", scalar(i));
    }
    const std::uint32_t first = vector(i);
    return has_two_words(row_.types[i]) ? fmt::format("v[{}:{}]", first, first + 1) : fmt::format("v{}", first);
  }

  const Row& row_;
  std::uint32_t num_lanes_;
  std::size_t num_operands_ = 0;
  std::string text_;
  BareWave bare_;
};

/// Values that find mistakes: small, large, single bits, and any.
inline std::uint64_t awkward_value(std::mt19937_64& random) {
  static constexpr std::uint64_t kEdges[] = {0,           1,
                                             2,           ~0ull,
                                             0x7fff,      0x8000,
                                             0xffff,      0x10000,
                                             0x7fff'ffff, 0x8000'0000,
                                             0xffff'ffff, 0x7fff'ffff'ffff'ffff,
                                             1ull << 63,  0xffff'ffff'0000'0000,
                                             0x3f80'0000, 0x7fc0'0001,
                                             0x0080'0001, 0x7f'ffff,
                                             0x80'0000,   0x7fff'8000,
                                             0x8000'7fff};
  switch (random() % 6) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:
      return random() % 64;
    case 2:
      return std::uint64_t{1} << random() % 64;
    case 3:
      return 0 - random() % 64;
    default:
      return random();
  }
}
/// Mostly none, or few.
inline std::uint64_t awkward_undefined(std::mt19937_64& random) {
  static constexpr std::uint64_t kPatterns[] = {
      0xffff'0000'ffff'0000, 0xffff'ffff'0000'0000, 0xff,       0xffff'ffff, ~0ull,
      0xffff'ff00,           0xff00'ff00'ff00'ff00, 1ull << 31, 1ull << 63};
  switch (random() % 6) {
    case 0:
      return kPatterns[random() % std::size(kPatterns)];
    case 1:
      return std::uint64_t{1} << random() % 64 | std::uint64_t{1} << random() % 32;
    case 2:
      return random() & random() & random();
    default:
      return 0;
  }
}

}  // namespace millrace::isa::test
