// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// Finds the name that a mistyped name most likely meant: the candidate with the smallest edit distance, which must be
/// at most a third of the mistyped name's length.
class NearName {
 public:
  explicit NearName(std::string_view wanted);
  void consider(std::string_view candidate) { consider(candidate, candidate); }
  /// Adds a candidate in another vocabulary, such as another library's name for an op; the remedy shows `meant`.
  void consider(std::string_view candidate, std::string_view meant);
  /// "did you mean 'topk'?", or `otherwise` when no candidate is near.
  std::string remedy(std::string_view otherwise) const;

 private:
  std::string wanted_;
  std::size_t distance_;  // edit distance to nearest_; initially one more than allowed
  std::string nearest_;
};

}  // namespace millrace
