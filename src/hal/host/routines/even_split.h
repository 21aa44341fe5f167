// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace {

/// Splits `total` evenly into `parts` pieces: the first `extra` have `base + 1` items, the others `base`. Kernel images
/// store a split as three i64.
struct EvenSplit {
  std::int64_t parts = 0, base = 0, extra = 0;

  static EvenSplit at_most(std::int64_t total, std::int64_t largest) {
    const std::int64_t parts = std::max<std::int64_t>((total + largest - 1) / largest, 1);
    return {parts, total / parts, total % parts};
  }
  std::int64_t start(std::int64_t piece) const { return piece * base + std::min(piece, extra); }
  std::int64_t size(std::int64_t piece) const { return base + (piece < extra); }
  std::int64_t largest() const { return base + (extra > 0); }
  friend bool operator==(const EvenSplit&, const EvenSplit&) = default;
};

}  // namespace millrace
