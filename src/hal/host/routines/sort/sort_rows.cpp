// SPDX-License-Identifier: Apache-2.0
// Sorts each row of a dispatch: chooses registers, counting or RowSorter by its length.
#include "hal/host/routines/sort/sort_rows.h"

#include "hal/host/routines/routine.h"
#include "hal/host/routines/sort/sort_walk.h"

namespace millrace {

void sort_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  const auto& p = parameters_of<SortRowsParameters>(parameters);
  const auto sort = [&]<class Key>(Key) {
    SortWalk<Key> walk(code, p, *args);
    walk.for_blocks(first_group, end_group, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) walk.run(row);
    });
  };
  p.key_bytes == 8 ? sort(std::int64_t{}) : sort(std::int32_t{});
}

}  // namespace millrace
