// SPDX-License-Identifier: Apache-2.0
// The "did you mean" of messages: finds the known name with the smallest edit distance.
#include "base/text/near_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxLength = 64;  // only this many characters are compared

/// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

NearName::NearName(std::string_view wanted)
    : wanted_(wanted.substr(0, kMaxLength)), distance_(wanted_.size() / 3 + 1) {}

void NearName::consider(std::string_view candidate, std::string_view meant) {
  const std::size_t distance = edit_distance(wanted_, candidate.substr(0, kMaxLength));
  if (distance >= distance_) return;
  distance_ = distance;
  nearest_ = meant;
}

std::string NearName::remedy(std::string_view otherwise) const {
  return nearest_.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", printable(nearest_));
}

}  // namespace millrace
