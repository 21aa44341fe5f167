// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/row_pair.h"

#include <limits>

#include <fmt/format.h>

namespace millrace {

SizeExpr RowPair::num_groups() const {
  SizeExpr groups = parts;
  for (const Dim& dim : dims) groups = groups * dim.extent;
  return groups;
}

std::vector<SizeExpr> RowPair::sizes() const {
  std::vector<SizeExpr> sizes = {n, parts, input_offset, result_offset};
  for (const Dim& dim : dims) sizes.insert(sizes.end(), {dim.extent, dim.input_stride, dim.result_stride});
  return sizes;
}

Result<PlannedKernel> plan_rows(const std::string& name, const RowPair& rows) {
  constexpr std::int64_t kMostGroups = std::numeric_limits<std::uint32_t>::max();
  PlannedKernel planned;
  planned.num_groups = rows.num_groups();
  if (planned.num_groups.lower_bound() > kMostGroups) {
    return unimplemented(fmt::format("{} rows, takes up to {}", planned.num_groups.to_text(), kMostGroups));
  }
  planned.name = name;
  planned.generator = "xbyak";
  planned.sizes = rows.sizes();
  planned.info.name = name;
  planned.info.num_buffers = 2;
  planned.info.buffer_is_written = {false, true};
  planned.info.num_sizes = static_cast<std::uint32_t>(planned.sizes.size());
  return planned;
}

}  // namespace millrace
