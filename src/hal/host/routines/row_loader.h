// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hal/host/routines/microkernel.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The maximum number of loads that an element is computed from.
inline constexpr std::size_t kMaxRowSources = 4;

/// The parameters of rows that are computed while they are read. The operands are the kernel's first buffers. All
/// fields are i64.
struct RowLoadParameters {
  Microkernel<ComputeElements> compute;
  std::int64_t num_operands;
  std::int64_t computed_bytes;  // the size of an element; 0 if rows are in memory, and the other fields are unused
  std::int64_t num_sources, num_dims;
  std::int64_t first_size;  // the first of the size arguments that RowLoadSizes describes
  std::int64_t buffers[kMaxRowSources], element_bytes[kMaxRowSources];
  std::int64_t is_spread[kMaxRowSources];  // whether one element serves the whole row
};

/// The size arguments, in elements: the offset of each source, and then per dim of the rows, outermost first, its
/// extent and the stride of each source.
struct RowLoadSizes {
  static constexpr std::int64_t kOffsets = 0;
  static constexpr std::int64_t extent_of(std::int64_t num_sources, std::int64_t dim) {
    return num_sources + dim * (1 + num_sources);
  }
};

/// Computes elements of rows.
class RowLoader {
 public:
  /// Elements that are read once are computed in pieces of this many bytes, which fit into the L1 cache.
  static constexpr std::int64_t kPieceBytes = 8 << 10;
  /// The number of elements that compute_some() computes at once, and the memory that it needs.
  static constexpr std::int64_t kSomeAtOnce = 64;
  static constexpr std::int64_t kSomeBytes = std::int64_t{kMaxRowSources} * kSomeAtOnce * 8;

  RowLoader(const void* code, const RowLoadParameters& p, const KernelArgs& args)
      : p_(p), sizes_(args.sizes + p.first_size), buffers_(args.buffers), compute_(p.compute.at(code)) {}

  bool is_used() const { return p_.computed_bytes != 0; }

  /// Selects the row for all later calls. Element 0 of the later calls is the row's element `first`.
  void select_row(std::int64_t row, std::int64_t first = 0);
  /// Computes the elements from `first` on.
  void compute(std::int64_t first, std::int64_t count, std::byte* to) const { call(at(first), count, to); }
  /// Like compute(), but calls another function, which computes other results from the elements.
  void compute_by(ComputeElements function, std::int64_t first, std::int64_t count, void* to) const {
    const Places places = at(first);
    function(to, count, places[0], places[1], places[2], places[3]);
  }
  /// Computes the elements at these indices. `memory` has kSomeBytes.
  template <class Number>
  void compute_some(const Number* numbers, std::int64_t count, std::byte* to, std::byte* memory) const;
  /// The bits of one element.
  std::uint64_t element(std::int64_t number) const {
    std::uint64_t bits = 0;
    call(at(number), 1, reinterpret_cast<std::byte*>(&bits));
    return bits;
  }
  /// Prefetches the first `count` elements of the row's sources.
  void prefetch(std::int64_t count) const;

 private:
  using Places = std::array<const std::byte*, kMaxRowSources>;

  Places at(std::int64_t number) const {
    Places places = row_;
    for (std::size_t i = 0; i < num_sources(); ++i) {
      if (p_.is_spread[i] == 0) places[i] += number * p_.element_bytes[i];
    }
    return places;
  }
  void call(const Places& places, std::int64_t count, std::byte* to) const {
    compute_(to, count, places[0], places[1], places[2], places[3]);
  }
  std::size_t num_sources() const { return static_cast<std::size_t>(p_.num_sources); }

  const RowLoadParameters& p_;
  const std::int64_t* sizes_;
  void* const* buffers_;
  ComputeElements compute_;
  Places row_{};
};

}  // namespace millrace
