// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// Finds the one of many names that a mistyped one was meant to be: the fewest letters to change, add or leave out, and
/// at most a third of them.
class NearName {
 public:
  explicit NearName(std::string_view wanted);
  void consider(std::string_view candidate);
  /// "did you mean 'topk'?", or `otherwise` when no candidate is near.
  std::string remedy(std::string_view otherwise) const;

 private:
  std::string wanted_;
  std::size_t distance_;  // of nearest_, or one more than is allowed
  std::string nearest_;
};

}  // namespace millrace
