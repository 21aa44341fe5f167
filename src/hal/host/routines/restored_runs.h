// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "hal/host/routines/element_copies.h"
#include "hal/host/routines/sort_rows.h"

namespace millrace {

/// The sorted values of a row of floats. Zeros and NaNs are two runs of equal elements among them, in some order.
class RestoredRuns {
 public:
  /// The first `wanted` values of a row of `count` elements.
  RestoredRuns(const SortRowsParameters& p, std::byte* values, std::int64_t stride, std::int64_t count,
               std::int64_t wanted)
      : p_(p), values_(values), stride_(stride), count_(count), wanted_(wanted) {}

  static constexpr std::int64_t kPieceElements = 8192;

  /// Gives them the order of the row, of which piece(first, count) gives elements side by side. `memory` has room for
  /// kPieceElements keys, or for all.
  template <class Piece>
  void restore(const Piece& piece, std::byte* memory, TakeRun take_zeros, TakeRun take_nans) const {
    const auto take = [&](TakeRun run, std::int64_t number) {
      const std::int64_t first = number * kPieceElements, count = std::min(kPieceElements, count_ - first);
      return (run(piece(first, count), memory, count) - memory) / p_.key_bytes;
    };
    const std::int64_t num_pieces = (count_ + kPieceElements - 1) / kPieceElements;
    std::int64_t num_nans = 0;
    for (std::int64_t i = 0; i < num_pieces; ++i) {
      // Where NaNs are the last values, from the last piece on: how many there are is not known yet.
      const bool is_descending = p_.is_descending != 0;
      const std::int64_t taken = take(take_nans, is_descending ? i : num_pieces - 1 - i);
      write_taken(memory, is_descending ? num_nans : count_ - num_nans - taken, taken);
      num_nans += taken;
    }
    std::int64_t position = -1;
    for (std::int64_t i = 0; i < num_pieces; ++i) {
      const std::int64_t taken = take(take_zeros, i);
      if (taken == 0) continue;
      if (position < 0) position = first_zero(num_nans);
      write_taken(memory, position, taken);
      position += taken;
    }
  }

 private:
  void write_taken(const std::byte* taken, std::int64_t position, std::int64_t count) const {
    copy_strided(taken, p_.key_bytes / p_.element_bytes, values_ + position * stride_ * p_.element_bytes, stride_,
                 std::min(count, wanted_ - position), p_.element_bytes);
  }
  /// The position of the first zero among the values, or that of their end.
  std::int64_t first_zero(std::int64_t num_nans) const {
    const bool is_ascending = p_.is_descending == 0;
    std::int64_t begin = is_ascending ? 0 : std::min(num_nans, wanted_);
    const std::int64_t count = (is_ascending ? std::min(count_ - num_nans, wanted_) : wanted_) - begin;
    // Before zeros are the negative values, whose bits are above those of -0, or the positive ones: each a range of
    // bits.
    const auto sign = static_cast<std::uint64_t>(p_.magnitude_bits) + 1;
    const std::uint64_t first_before = is_ascending ? sign + 1 : 1, num_before = sign - 1;
    with_element_size(p_.element_bytes, [this, &begin, count, first_before, num_before](auto bytes) {
      // Without branches, which would be unpredictable.
      std::int64_t position = begin;
      for (std::int64_t left = count; left > 0;) {
        const std::int64_t half = left / 2;
        std::uint64_t bits = 0;
        std::memcpy(&bits, values_ + (position + half) * stride_ * bytes, bytes);
        const bool is_before = bits - first_before < num_before;
        position += is_before ? half + 1 : 0;
        left = is_before ? left - half - 1 : half;
      }
      begin = position;
    });
    return begin;
  }

  const SortRowsParameters& p_;
  std::byte* values_;
  std::int64_t stride_, count_, wanted_;
};

}  // namespace millrace
