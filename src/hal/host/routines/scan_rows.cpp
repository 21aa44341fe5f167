// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/scan_rows.h"

#include <type_traits>

#include "hal/host/routines/row_pair_walk.h"
#include "millrace/base/check.h"

namespace millrace {

void scan_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  static_assert(std::is_standard_layout_v<ScanRowsParameters> && std::is_trivially_copyable_v<ScanRowsParameters>);
  MILLRACE_CHECK(parameters.size() * sizeof(std::int64_t) == sizeof(ScanRowsParameters));
  const auto& p = *reinterpret_cast<const ScanRowsParameters*>(parameters.data());
  const auto scan =
      reinterpret_cast<ScanElements>(reinterpret_cast<std::uintptr_t>(static_cast<const std::byte*>(code) + p.scan));
  RowPairWalk walk(*args, p.num_other_dims);
  const std::int64_t n = walk.n(), start = p.is_reverse != 0 ? n * p.element_bytes : 0;
  for (std::uint32_t group = first_group; group < end_group; ++group) {
    walk.find_row(group);
    const std::byte* const from = walk.input(p.element_bytes);
    std::byte* const to = walk.result(p.element_bytes);
    scan(from + start, to + start, n, p.identity, from, to);
  }
}

}  // namespace millrace
