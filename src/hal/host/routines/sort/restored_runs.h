// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hal/host/routines/element_copies.h"
#include "hal/host/routines/sort/sort_rows.h"

namespace millrace {

/// The sorted values of a row of floats have a run of zeros and a run of NaNs, whose elements are in arbitrary order.
/// This class puts the elements of each run into the order that they have in the row.
class RestoredRuns {
 public:
  /// `values` has the first `wanted` values of a row of `count` elements.
  RestoredRuns(const SortRowsParameters& p, std::byte* values, std::int64_t stride, std::int64_t count,
               std::int64_t wanted)
      : p_(p), values_(values), stride_(stride), count_(count), wanted_(wanted) {}

  /// The number of elements in a piece of the row. A piece and the elements taken from it fill half of an L1 cache.
  static constexpr std::int64_t kPieceElements = 2048;

  /// Restores the order. piece(first, count) returns contiguous elements of the row. `memory` has room for
  /// kPieceElements keys, or for all keys of a shorter row.
  template <class Piece>
  void restore(const Piece& piece, std::byte* memory, TakeRun take_zeros, TakeRun take_nans) const {
    Run zeros = {take_zeros, first_zero()}, nans = {take_nans, first_nan()};
    for (std::int64_t first = 0; first < count_ && std::min(zeros.next, nans.next) < wanted_; first += kPieceElements) {
      const std::int64_t count = std::min(kPieceElements, count_ - first);
      const std::byte* const elements = piece(first, count);
      for (Run* const run : {&zeros, &nans}) {
        if (run->next >= wanted_) continue;
        const std::int64_t taken = (run->take(elements, memory, count) - memory) / p_.key_bytes;
        write_taken(memory, run->next, taken);
        run->next += taken;
      }
    }
  }

 private:
  struct Run {
    TakeRun take;
    std::int64_t next;  // position among the values
  };

  void write_taken(const std::byte* taken, std::int64_t position, std::int64_t count) const {
    copy_strided(taken, p_.key_bytes / p_.element_bytes, values_ + position * stride_ * p_.element_bytes, stride_,
                 std::min(count, wanted_ - position), p_.element_bytes);
  }

  /// The position of the first zero that is wanted, or `wanted_`.
  std::int64_t first_zero() const {
    const std::uint64_t sign = sign_bit(), infinity = infinity_bits();
    // Zeros come after the negative numbers, whose bits are above those of -0; if descending, after NaNs and positive
    // numbers.
    const std::int64_t first =
        p_.is_descending == 0 ? first_after([=](std::uint64_t bits) { return bits - (sign + 1) < infinity; })
                              : first_after([=](std::uint64_t bits) { return (bits ^ sign) > infinity && bits != 0; });
    return first < wanted_ && (bits_of(first) & ~sign) == 0 ? first : wanted_;
  }
  /// The position of the first NaN that is wanted, or `wanted_`.
  std::int64_t first_nan() const {
    const std::uint64_t sign = sign_bit(), infinity = infinity_bits();
    const auto is_number = [=](std::uint64_t bits) { return (bits & ~sign) <= infinity; };
    if (p_.is_descending == 0) return first_after(is_number);
    return wanted_ > 0 && !is_number(bits_of(0)) ? 0 : wanted_;
  }
  /// The number of leading values whose bits satisfy `is_before`; no later value does.
  template <class IsBefore>
  std::int64_t first_after(const IsBefore& is_before) const {
    std::int64_t position = 0;
    with_element_size(p_.element_bytes, [&](auto bytes) {
      // A binary search without branches, which would be mispredicted.
      std::int64_t begin = 0;
      for (std::int64_t left = wanted_; left > 0;) {
        const std::int64_t half = left / 2;
        const bool goes_on = is_before(bits_of(begin + half, bytes));
        begin += goes_on ? half + 1 : 0;
        left = goes_on ? left - half - 1 : half;
      }
      position = begin;
    });
    return position;
  }

  std::uint64_t bits_of(std::int64_t position) const { return bits_of(position, p_.element_bytes); }
  template <class Bytes>
  std::uint64_t bits_of(std::int64_t position, Bytes bytes) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, values_ + position * stride_ * bytes, static_cast<std::size_t>(bytes));
    return bits;
  }
  std::uint64_t sign_bit() const { return static_cast<std::uint64_t>(p_.magnitude_bits) + 1; }
  std::uint64_t infinity_bits() const { return static_cast<std::uint64_t>(p_.infinity_bits); }

  const SortRowsParameters& p_;
  std::byte* values_;
  std::int64_t stride_, count_, wanted_;
};

}  // namespace millrace
