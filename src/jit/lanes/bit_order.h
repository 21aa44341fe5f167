// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace millrace {

/// An order of lanes, as a permutation of the bits of a lane's index. The lanes of two vectors share one index. Its
/// highest bit, the vectors' bit, is 0 in the first vector and 1 in the second. Each place of the new index holds one
/// bit of the old index.
class BitOrder {
 public:
  /// The order that LaneInstruction::imm encodes.
  explicit constexpr BitOrder(std::int64_t digits) : digits_(digits) {}

  /// `bits[place]` is the bit of the old index that goes to `place` of the new index. The vectors' place is the last.
  explicit constexpr BitOrder(std::span<const int> bits) {
    for (std::size_t place = 0; place < bits.size(); ++place) {
      digits_ |= std::int64_t{bits[place]} << (kDigitBits * static_cast<int>(place));
    }
  }

  /// Moves the vectors' bit to place `first`, the bits from `first` to end - 2 up by one place, and the bit at end - 1
  /// to the vectors' place.
  static constexpr BitOrder rotated_up(int num_lanes, int first, int end) {
    Bits bits = same(num_lanes);
    std::rotate(bits.data() + first, bits.data() + end - 1, bits.data() + end);
    std::swap(bits[static_cast<std::size_t>(first)], bits[vectors_place(num_lanes)]);
    return BitOrder(std::span<const int>(bits.data(), vectors_place(num_lanes) + 1));
  }
  /// The inverse rotation: moves the bit at `first` to the vectors' place, and the vectors' bit to place end - 1.
  static constexpr BitOrder rotated_down(int num_lanes, int first, int end) {
    Bits bits = same(num_lanes);
    std::rotate(bits.data() + first, bits.data() + first + 1, bits.data() + end);
    std::swap(bits[static_cast<std::size_t>(end) - 1], bits[vectors_place(num_lanes)]);
    return BitOrder(std::span<const int>(bits.data(), vectors_place(num_lanes) + 1));
  }
  /// Exchanges a bit of the lanes with the vectors' bit.
  static constexpr BitOrder exchanged(int num_lanes, int bit) { return rotated_up(num_lanes, bit, bit + 1); }
  /// The order in which lanes of the first and second vector alternate.
  static constexpr BitOrder interleaved(int num_lanes) {
    return rotated_up(num_lanes, 0, static_cast<int>(vectors_place(num_lanes)));
  }

  constexpr std::int64_t digits() const { return digits_; }
  constexpr int bit_at(int place) const { return static_cast<int>(digits_ >> (kDigitBits * place) & kDigit); }
  /// The old index of the lane with the new index `number`.
  constexpr int source(int number) const {
    int old = 0;
    for (int place = 0; number >> place != 0; ++place) {
      if ((number >> place & 1) != 0) old |= 1 << bit_at(place);
    }
    return old;
  }
  friend constexpr bool operator==(BitOrder, BitOrder) = default;

 private:
  using Bits = std::array<int, 8>;

  static constexpr std::size_t vectors_place(int num_lanes) {
    return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(num_lanes)));
  }
  static constexpr Bits same(int num_lanes) {
    Bits bits{};
    for (std::size_t place = 0; place <= vectors_place(num_lanes); ++place) bits[place] = static_cast<int>(place);
    return bits;
  }

  static constexpr int kDigitBits = 4;
  static constexpr std::int64_t kDigit = (1 << kDigitBits) - 1;
  std::int64_t digits_ = 0;  // four bits per place, with the number of the old bit there; place 0 is lowest
};

/// Whether AVX2 code exists for the order. It exists for the orders that sorts and transposes need.
constexpr bool has_code_in_256_bits(BitOrder order, int lane_bits) {
  const int n = 256 / lane_bits, block_bit = lane_bits == 64 ? 1 : 2;
  const bool moves_pairs = order == BitOrder::rotated_up(n, 0, 2) || order == BitOrder::rotated_down(n, 0, 2);
  return order == BitOrder::interleaved(n) || order == BitOrder::exchanged(n, block_bit) ||
         order == BitOrder::exchanged(n, block_bit - 1) || (lane_bits == 32 && moves_pairs);
}

}  // namespace millrace
