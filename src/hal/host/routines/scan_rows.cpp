// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/scan_rows.h"

#include <type_traits>
#include <xmmintrin.h>

#include "hal/host/routines/row_pair_walk.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

class RowScan {
 public:
  RowScan(const void* code, const ScanRowsParameters& p, const KernelArgs& args)
      : p_(p), walk_(args, p.num_other_dims), scan_(function(code, p.scan)), stream_(function(code, p.stream)) {}

  void run(std::uint32_t first_row, std::uint32_t end_row) {
    const bool may_stream = p_.stream != 0 && walk_.num_elements() * p_.element_bytes >= p_.stream_from_bytes;
    const std::int64_t start = p_.is_reverse != 0 ? walk_.n() * p_.element_bytes : 0;
    for (std::uint32_t row = first_row; row < end_row; ++row) {
      walk_.find_row(row);
      const std::byte* const from = walk_.input(p_.element_bytes);
      std::byte* const to = walk_.result(p_.element_bytes);
      // Others are not made so by scanning a few elements first, because sums would then round by their address.
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(to + start) % vector_bytes() == 0;
      const ScanElements scan = may_stream && is_aligned ? stream_ : scan_;
      scan(from + start, to + start, walk_.n(), p_.identity, from, to);
    }
    // What bypassed the caches is seen before the end of the dispatch.
    if (may_stream) _mm_sfence();
  }

 private:
  static ScanElements function(const void* code, std::int64_t offset) {
    return reinterpret_cast<ScanElements>(
        reinterpret_cast<std::uintptr_t>(static_cast<const std::byte*>(code) + offset));
  }

  std::uintptr_t vector_bytes() const { return static_cast<std::uintptr_t>(p_.vector_bytes); }

  const ScanRowsParameters& p_;
  RowPairWalk walk_;
  ScanElements scan_, stream_;
};

}  // namespace

void scan_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  static_assert(std::is_standard_layout_v<ScanRowsParameters> && std::is_trivially_copyable_v<ScanRowsParameters>);
  MILLRACE_CHECK(parameters.size() * sizeof(std::int64_t) == sizeof(ScanRowsParameters));
  const auto& p = *reinterpret_cast<const ScanRowsParameters*>(parameters.data());
  RowScan(code, p, *args).run(first_group, end_group);
}

}  // namespace millrace
