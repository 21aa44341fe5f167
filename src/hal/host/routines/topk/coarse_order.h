// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "hal/host/routines/topk/topk_rows.h"

namespace millrace {

/// The order of coarse keys: integers that are cheap to compute from elements (CoarseKeys in
/// src/jit/lanes/sort_keys.h).
template <class Key>
class CoarseOrder {
 public:
  explicit CoarseOrder(const TopkRowsParameters& p) : p_(p) {}

  /// The key that the microkernels compute for an element.
  Key key_of(std::uint64_t element) const {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(p_.sort.element_bytes);
    std::int64_t key = static_cast<std::int64_t>(element << unused);
    key = p_.extends_sign != 0 ? key >> unused : static_cast<std::int64_t>(element);
    if (p_.sort.is_bool != 0) key = key != 0;
    if (is_float()) key = (key ^ ((key >> 63) & p_.sort.magnitude_bits));
    const std::uint64_t moved = static_cast<std::uint64_t>(key) + static_cast<std::uint64_t>(p_.coarse_offset);
    return inverted(static_cast<Key>(moved ^ static_cast<std::uint64_t>(p_.sort.inverted_bits)));
  }

  /// The keys that are equal to `key` in the order of the sort: zeros of both signs, and all NaNs.
  KeyRun<Key> run_of(Key key) const {
    if (!is_float()) return {key, key};
    const Key ascending = inverted(key);
    const auto zero = static_cast<Key>(p_.coarse_offset);
    const auto first_nan = static_cast<Key>(p_.coarse_offset + p_.sort.infinity_bits + 1);
    if (ascending == zero || ascending == zero - 1) return run(static_cast<Key>(zero - 1), zero);
    if (ascending >= first_nan) return run(first_nan, std::numeric_limits<Key>::max());
    return {key, key};
  }

 private:
  bool is_float() const { return p_.sort.magnitude_bits != 0; }
  Key inverted(Key key) const { return p_.sort.is_descending != 0 ? static_cast<Key>(~key) : key; }
  KeyRun<Key> run(Key first, Key last) const {
    if (p_.sort.is_descending != 0) return {static_cast<Key>(~last), static_cast<Key>(~first)};
    return {first, last};
  }

  const TopkRowsParameters& p_;
};

}  // namespace millrace
