// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace millrace {

/// A radix sort of signed keys by their upper halves, from the least significant digit on. The lower halves hold an
/// index, and keys with equal upper halves keep their order. One pass counts all digits, and a digit that is the same
/// in all keys is skipped. Source: Seward, "Information sorting in the application of electronic digital computers to
/// business operations", 1954.
template <class Key>
class UpperDigits {
 public:
  /// Counts the digits of `count` keys, from 1 to 2^32 - 1. `other` has room for `count` keys, and `counts` has
  /// kCountBytes.
  UpperDigits(Key* keys, Key* other, std::int64_t count, std::byte* counts)
      : keys_(keys), other_(other), count_(count), counts_(reinterpret_cast<std::uint32_t*>(counts)) {
    count_all(kAllDigits);
  }

  /// Returns the array that holds the sorted keys, `keys` or `other`; the contents of the other one are lost. Call
  /// either this or sort_to(), and only once.
  Key* sort() {
    move_all(kAllDigits, kDigits.size());
    return keys_;
  }
  /// Writes only the indices of the sorted keys. The keys are lost.
  void sort_to(std::int64_t* indices) {
    std::size_t last = kDigits.size();
    while (last > 0 && !moves(last - 1)) --last;
    if (last == 0) {
      std::transform(keys_, keys_ + count_, indices, index_of);
      return;
    }
    move_all(kAllDigits, last - 1);
    write_all(kAllDigits, last - 1, indices);
  }
  /// The number of keys read by all passes together.
  std::int64_t keys_read() const { return keys_read_; }

 private:
  using Unsigned = std::make_unsigned_t<Key>;

  struct Digit {
    unsigned shift, bits;
    std::size_t first_count;
    constexpr std::size_t num_values() const { return std::size_t{1} << bits; }
  };
  static constexpr auto kDigits = [] {
    if constexpr (sizeof(Key) == 8) return std::array<Digit, 3>{{{32, 11, 0}, {43, 11, 2048}, {54, 10, 4096}}};
    if constexpr (sizeof(Key) == 4) return std::array<Digit, 2>{{{16, 8, 0}, {24, 8, 256}}};
  }();
  static constexpr std::size_t kNumCounts = kDigits.back().first_count + kDigits.back().num_values();
  /// The digits as constants, so that loops are compiled per digit.
  static constexpr std::make_index_sequence<kDigits.size()> kAllDigits = {};

 public:
  static constexpr std::int64_t kCountBytes = kNumCounts * sizeof(std::uint32_t);

 private:
  static std::size_t digit_of(Key key, Digit digit) {
    const Unsigned ordered = static_cast<Unsigned>(key) ^ Unsigned { 1 } << (8 * sizeof(Key) - 1);
    return ordered >> digit.shift & (digit.num_values() - 1);
  }
  static std::int64_t index_of(Key key) {
    return static_cast<std::int64_t>(static_cast<Unsigned>(key) & ((Unsigned{1} << (4 * sizeof(Key))) - 1));
  }
  /// Whether keys differ in a digit. Call it before moving them by this digit, which changes its counts.
  bool moves(std::size_t digit) const {
    return counts_[kDigits[digit].first_count + digit_of(keys_[0], kDigits[digit])] != count_;
  }

  template <std::size_t... kDigit>
  void count_all(std::index_sequence<kDigit...>) {
    std::fill_n(counts_, kNumCounts, 0);
    std::uint32_t* const counts = counts_;
    for (const Key *key = keys_, *const end = key + count_; key != end; ++key) {
      (++counts[kDigits[kDigit].first_count + digit_of(*key, kDigits[kDigit])], ...);
    }
    keys_read_ += count_;
  }
  /// Moves keys by each of the first `num_digits` digits.
  template <std::size_t... kDigit>
  void move_all(std::index_sequence<kDigit...>, std::size_t num_digits) {
    const auto move = [&]<std::size_t kOne>() {
      if (kOne >= num_digits || !moves(kOne)) return;
      scatter<kOne>(other_, [](Key key) { return key; });
      std::swap(keys_, other_);
    };
    (move.template operator()<kDigit>(), ...);
  }
  template <std::size_t... kDigit>
  void write_all(std::index_sequence<kDigit...>, std::size_t by, std::int64_t* indices) {
    ((kDigit == by ? scatter<kDigit>(indices, index_of) : void()), ...);
  }
  /// Writes make(key) for each key, to the next position for the value of its digit.
  template <std::size_t kDigit, class Result, class Make>
  void scatter(Result* to, const Make& make) {
    constexpr Digit digit = kDigits[kDigit];
    std::uint32_t* const positions = counts_ + digit.first_count;
    std::uint32_t position = 0;
    for (std::size_t value = 0; value < digit.num_values(); ++value) {
      position += std::exchange(positions[value], position);
    }
    for (const Key *key = keys_, *const end = key + count_; key != end; ++key) {
      to[positions[digit_of(*key, digit)]++] = make(*key);
    }
    keys_read_ += count_;
  }

  Key* keys_;
  Key* other_;
  std::int64_t count_;
  std::uint32_t* counts_;
  std::int64_t keys_read_ = 0;
};

}  // namespace millrace
