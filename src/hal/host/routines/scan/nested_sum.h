// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace {

/// A sum in levels: one float accumulates at most `sums_per_level` terms, the next float at most `sums_per_level` of
/// these sums, and so on. Each term is then rounded only a few times.
template <class Float>
class NestedSum {
 public:
  NestedSum(Float start, std::int64_t sums_per_level)
      : start_(start), higher_(start), sums_per_level_(sums_per_level) {}

  void add(Float term) {
    levels_[0] += term;
    if (++num_terms_ == sums_per_level_) raise();
  }

  /// The sum of the start and all levels, added from the highest down.
  Float total() const { return higher_ + levels_[0]; }

 private:
  static constexpr std::size_t kLevels = 9;  // 128^9 is 2^63

  /// Adds the sum of each full level to the next one.
  void raise() {
    num_terms_ = 0;
    std::int64_t sums = ++num_raised_;
    for (std::size_t level = 0; level + 1 < kLevels; ++level) {
      levels_[level + 1] += levels_[level];
      levels_[level] = 0;
      if (sums % sums_per_level_ != 0) break;
      sums /= sums_per_level_;
    }
    higher_ = start_;
    for (std::size_t level = kLevels; --level > 0;) higher_ += levels_[level];
  }

  std::array<Float, kLevels> levels_{};
  Float start_, higher_;         // higher_: the start plus all levels above the lowest
  std::int64_t num_terms_ = 0;   // in the lowest level
  std::int64_t num_raised_ = 0;  // sums of the lowest level that are in the next one
  std::int64_t sums_per_level_;
};

}  // namespace millrace
