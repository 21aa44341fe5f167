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

  /// Gives them the order of the row. `memory` has room for as many keys as the row has elements.
  void restore(const std::byte* row, std::byte* memory, TakeRun take_zeros, TakeRun take_nans) const {
    const auto take = [&](TakeRun run) { return (run(row, memory, count_) - memory) / p_.key_bytes; };
    const std::int64_t num_nans = take(take_nans);
    write_taken(memory, p_.is_descending != 0 ? 0 : count_ - num_nans, num_nans);
    const std::int64_t num_zeros = take(take_zeros);
    if (num_zeros > 0) write_taken(memory, first_zero(num_nans), num_zeros);
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
