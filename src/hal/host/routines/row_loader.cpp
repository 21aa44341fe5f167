// SPDX-License-Identifier: Apache-2.0
// Computes the elements of a row piece by piece while another routine reads them.
#include "hal/host/routines/row_loader.h"

#include <algorithm>

#include "hal/host/routines/element_copies.h"
#include "hal/host/routines/prefetch.h"
#include "hal/host/routines/row_offsets.h"

namespace millrace {

void RowLoader::select_row(std::int64_t row, std::int64_t first) {
  std::array<std::int64_t, kMaxRowSources> offsets{};
  find_row(row, sizes_ + RowLoadSizes::kOffsets, sizes_ + RowLoadSizes::extent_of(p_.num_sources, 0), p_.num_dims,
           num_sources(), offsets.data());
  for (std::size_t i = 0; i < num_sources(); ++i) {
    const void* const buffer = buffers_[p_.buffers[i]];
    row_[i] = static_cast<const std::byte*>(buffer) + offsets[i] * p_.element_bytes[i];
  }
  row_ = at(first);
}

template <class Number>
void RowLoader::compute_some(const Number* numbers, std::int64_t count, std::byte* to, std::byte* memory) const {
  for (std::int64_t done = 0; done < count; done += kSomeAtOnce) {
    const std::int64_t num_now = std::min(kSomeAtOnce, count - done);
    Places places = row_;
    for (std::size_t source = 0; source < num_sources(); ++source) {
      if (p_.is_spread[source] != 0) continue;
      std::byte* const gathered = memory + static_cast<std::int64_t>(source) * kSomeAtOnce * 8;
      copy_elements(row_[source], p_.element_bytes[source], numbers + done, num_now, gathered);
      places[source] = gathered;
    }
    call(places, num_now, to + done * p_.computed_bytes);
  }
}
template void RowLoader::compute_some(const std::uint32_t*, std::int64_t, std::byte*, std::byte*) const;
template void RowLoader::compute_some(const std::uint64_t*, std::int64_t, std::byte*, std::byte*) const;

void RowLoader::prefetch(std::int64_t count) const {
  for (std::size_t i = 0; i < num_sources(); ++i) {
    prefetch_to_read(row_[i], p_.is_spread[i] != 0 ? 1 : count * p_.element_bytes[i]);
  }
}

}  // namespace millrace
