// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/scan_rows.h"

#include <algorithm>
#include <type_traits>
#include <xmmintrin.h>

#include "hal/host/routines/row_pair_walk.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

class RowScan {
 public:
  RowScan(const void* code, const ScanRowsParameters& p, const KernelArgs& args)
      : p_(p),
        loader_(code, p.load, args),
        piece_(static_cast<std::byte*>(args.workgroup_memory)),
        walk_(args, p.num_other_dims, loader_.is_used() ? static_cast<std::size_t>(p.load.num_operands) : 1),
        scan_(function(code, p.scan)),
        stream_(function(code, p.stream)) {}

  void run(std::uint32_t first_row, std::uint32_t end_row) {
    const bool may_stream = p_.stream != 0 && walk_.num_elements() * p_.element_bytes >= p_.stream_from_bytes;
    const std::int64_t start = p_.is_reverse != 0 ? walk_.n() * p_.element_bytes : 0;
    for (std::uint32_t row = first_row; row < end_row; ++row) {
      walk_.find_row(row);
      std::byte* const to = walk_.result(p_.element_bytes);
      // Others are not made so by scanning a few elements first, because sums would then round by their address.
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(to + start) % vector_bytes() == 0;
      const ScanElements scan = may_stream && is_aligned ? stream_ : scan_;
      if (loader_.is_used()) {
        loader_.go_to(row);
        scan_computed(scan, to);
      } else {
        const std::byte* const from = walk_.input(p_.element_bytes);
        scan(from + start, to + start, walk_.n(), p_.identity, from, to);
      }
    }
    // What bypassed the caches is seen before the end of the dispatch.
    if (may_stream) _mm_sfence();
  }

 private:
  /// Scans piece by piece. Pieces are whole vectors, so that sums round as they do in memory; the rest comes last in
  /// the order of the scan.
  void scan_computed(ScanElements scan, std::byte* to) {
    const std::int64_t most = RowLoader::kPieceBytes / p_.element_bytes, n = walk_.n();
    std::int64_t carry = p_.identity;
    for (std::int64_t done = 0; done < n; done += most) {
      const std::int64_t count = std::min(most, n - done);
      const std::int64_t first = p_.is_reverse != 0 ? n - done - count : done;
      loader_.compute(first, count, piece_);
      std::byte* const results = to + first * p_.element_bytes;
      const std::int64_t start = p_.is_reverse != 0 ? count * p_.element_bytes : 0;
      carry = scan(piece_ + start, results + start, count, carry, piece_, results);
    }
  }

  static ScanElements function(const void* code, std::int64_t offset) {
    return reinterpret_cast<ScanElements>(
        reinterpret_cast<std::uintptr_t>(static_cast<const std::byte*>(code) + offset));
  }

  std::uintptr_t vector_bytes() const { return static_cast<std::uintptr_t>(p_.vector_bytes); }

  const ScanRowsParameters& p_;
  RowLoader loader_;
  std::byte* piece_;  // of a row that is computed
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
