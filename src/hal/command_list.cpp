// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/command_list.h"

#include <algorithm>

namespace millrace {

SizeIndex CommandList::add_size(const SizeExpr& size) {
  // Linear: a list has some hundreds of sizes, most of them constants that compare in a cycle.
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  if (found == sizes.end()) return sizes.push_back(size);
  return static_cast<SizeIndex>(found - sizes.begin());
}

}  // namespace millrace
