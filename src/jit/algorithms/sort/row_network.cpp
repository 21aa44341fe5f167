// SPDX-License-Identifier: Apache-2.0
// Sorts rows of a few elements by a sorting network. A vector holds one element of each of several neighbouring rows,
// so that a comparator is a minimum and a maximum of two vectors, without branches on data. A lane holds the key in its
// high bits and the element's index in its low bits, which makes the sort stable.
// Source: Batcher, "Sorting networks and their applications", AFIPS 1968.
#include <algorithm>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/line_walk.h"
#include "jit/algorithms/sort/key.h"
#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

constexpr std::int64_t kMaxElements = 15;  // per row; from 2 to 15 elements, lane_sort took longer (commit e40bb0ac)
constexpr std::int64_t kIndexBits = 4;     // the number of bits of a key that hold an element's index
/// The maximum length of contiguous rows that are gathered on AVX2 if only values are requested. AVX2 gathers slowly,
/// so longer rows are sorted faster one at a time.
constexpr std::int64_t kMaxGatheredByAvx2 = 7;

/// One element in a lane: the key in the high bits and the index in the low bits of one word, or two words if the key
/// has 64 bits.
struct LaneRecord {
  MachineValue key;
  MachineValue index;  // the key itself if one word holds both
};

/// Those comparators of the network, in order, on which the first k results depend.
std::vector<Comparator> network_of_first(int n, std::int64_t k) {
  std::vector<bool> is_wanted(static_cast<std::size_t>(n), false);
  std::fill_n(is_wanted.begin(), k, true);
  std::vector<Comparator> comparators = sorting_network(n), wanted;
  for (const Comparator& one : std::views::reverse(comparators)) {
    auto low = is_wanted.begin() + one.low, high = is_wanted.begin() + one.high;
    if (!*low && !*high) continue;
    *low = *high = true;
    wanted.push_back(one);
  }
  std::ranges::reverse(wanted);
  return wanted;
}

/// 32 bits if they hold a key and an index, otherwise 64.
DType lane_dtype(const SortDescriptor& sort) {
  return sort_key_bits(sort.input.type.dtype) + kIndexBits < 32 ? DType::kI32 : DType::kI64;
}

class NetworkBuilder {
 public:
  NetworkBuilder(const SortDescriptor& sort, std::uint32_t lanes)
      : sort_(sort),
        b_(sort.name),
        walk_(b_, sort.input.type.shape, sort.axis, {.lanes = lanes, .gathers = true}),
        stored_(sort.input.type.dtype),
        lane_(lane_dtype(sort)),
        is_packed_(sort_key_bits(stored_) < 64) {
    input_ = b_.buffer(sort.input.name, stored_, BufferAccess::kRead);
    if (sort.values) values_ = b_.buffer(sort.values->name, stored_, BufferAccess::kWrite);
    if (sort.indices) indices_ = b_.buffer(sort.indices->name, DType::kI64, BufferAccess::kWrite);
  }

  MachineKernel run() {
    b_.set_num_groups(walk_.num_groups());
    walk_.run([&] { sort_lines(); });
    return b_.finish();
  }

 private:
  void sort_lines() {
    const LinearValue from = walk_.start(sort_.input);
    const std::int64_t n = sort_.input.type.shape[sort_.axis].constant(), k = sort_.k.constant();
    std::vector<LaneRecord> records;
    for (std::int64_t i = 0; i < n; ++i) {
      const MachineValue at = walk_.element(sort_.input, from, b_.i64(i));
      records.push_back(record_of(walk_.load(input_, sort_.input.layout, at), i));
    }
    for (const Comparator& comparator : network_of_first(static_cast<int>(n), k)) {
      compare(records[static_cast<std::size_t>(comparator.low)], records[static_cast<std::size_t>(comparator.high)]);
    }
    write_results(from, std::span(records).first(static_cast<std::size_t>(k)));
  }

  LaneRecord record_of(MachineValue loaded, std::int64_t index) {
    const MachineValue key = sort_key(b_, loaded, stored_, sort_.largest);
    const MachineValue number = b_.splat(b_.constant_int(lane_, index), walk_.lanes());
    if (is_packed_) {
      // The sign bit stays 0, because key and index together have at most 36 of 64 bits, or 20 of 32.
      const MachineValue wide = b_.shl(b_.convert(lane_, key), b_.constant_int(lane_, kIndexBits));
      const MachineValue both = b_.bit_or(wide, number);
      return {both, both};
    }
    // Flips the sign bit, because signed integers compare faster.
    const MachineValue sign = b_.constant_int(DType::kU64, std::numeric_limits<std::int64_t>::min());
    return {b_.bitcast(DType::kI64, b_.bit_xor(key, sign)), number};
  }

  /// Puts the record that comes first into `low`, and the other into `high`.
  void compare(LaneRecord& low, LaneRecord& high) {
    const LaneRecord a = low, c = high;
    if (is_packed_) {
      low.key = low.index = b_.min(a.key, c.key);
      high.key = high.index = b_.max(a.key, c.key);
      return;
    }
    const MachineValue is_equal = b_.eq(a.key, c.key);
    const MachineValue stays = b_.bit_or(b_.lt(a.key, c.key), b_.bit_and(is_equal, b_.lt(a.index, c.index)));
    low = {b_.select(stays, a.key, c.key), b_.select(stays, a.index, c.index)};
    high = {b_.select(stays, c.key, a.key), b_.select(stays, c.index, a.index)};
  }

  MachineValue index_of(const LaneRecord& record) {
    if (!is_packed_) return record.index;
    const MachineValue mask = b_.constant_int(lane_, (std::int64_t{1} << kIndexBits) - 1);
    return b_.convert(DType::kI64, b_.bit_and(record.index, mask));
  }

  void write_results(const LinearValue& from, std::span<const LaneRecord> records) {
    const auto store = [&](MemoryHandle memory, const KernelTensor& tensor, std::size_t position, MachineValue value) {
      const MachineValue at = walk_.element(tensor, walk_.start(tensor), b_.i64(static_cast<std::int64_t>(position)));
      walk_.store(memory, tensor.layout, at, value);
    };
    const MachineBuilder::Values values = sort_.values ? values_of(from, records) : MachineBuilder::Values{};
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (sort_.values) store(values_, *sort_.values, i, values[i]);
      if (sort_.indices) store(indices_, *sort_.indices, i, index_of(records[i]));
    }
  }

  /// A key determines its element unless it is a zero or a NaN. If any result is a zero or a NaN, the values are read
  /// from the input again.
  MachineBuilder::Values values_of(const LinearValue& from, std::span<const LaneRecord> records) {
    std::vector<MachineValue> keys;
    for (const LaneRecord& record : records) keys.push_back(ascending_key(record));
    const auto computed = [&] {
      MachineBuilder::Values values;
      for (const MachineValue& key : keys) values.push_back(element_of_key(b_, key, stored_));
      return values;
    };
    if (!is_float(stored_) || records.empty()) return computed();
    MachineValue lost = is_key_of_several(b_, keys[0], stored_);
    for (const MachineValue& key : std::span(keys).subspan(1)) {
      lost = b_.bit_or(lost, is_key_of_several(b_, key, stored_));
    }
    const auto loaded = [&] {
      MachineBuilder::Values values;
      for (const LaneRecord& record : records) {
        values.push_back(walk_.load_each(input_, sort_.input, from, index_of(record)));
      }
      return values;
    };
    return b_.if_else(lost.lanes > 1 ? b_.reduce(KernelOp::kReduceMax, lost) : lost, loaded, computed);
  }

  /// The key that sort_key() returns with `largest` false.
  MachineValue ascending_key(const LaneRecord& record) {
    const DType dtype = sort_key_dtype(stored_);
    MachineValue key = record.key;
    if (is_packed_) {
      key = b_.convert(dtype, b_.shr(key, b_.constant_int(lane_, kIndexBits)));
    } else {
      key = b_.bit_xor(b_.bitcast(dtype, key), b_.constant_int(dtype, std::numeric_limits<std::int64_t>::min()));
    }
    return sort_.largest ? b_.bit_xor(key, sort_key_bit_pattern(b_, stored_, SortKeyBits::kAll)) : key;
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  LineWalk walk_;
  DType stored_, lane_;
  bool is_packed_;
  MemoryHandle input_, values_, indices_;
};

bool is_short(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  return n.is_constant() && sort.k.is_constant() && n.constant() <= kMaxElements;
}

}  // namespace

std::vector<RequestCase> row_network_cases(const KernelRequest& request, const TargetSpec& spec) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!is_short(sort) || sort.input_indices) return {};
  const bool gathers = sort.load || sort.input.layout.strides[sort.axis].is(1);
  if (spec.isa == IsaLevel::kAvx2 && gathers && !sort.indices && n.constant() > kMaxGatheredByAvx2) return {};
  return {{1, request}};
}

Result<KernelSequence> lower_row_network(const KernelRequest& request, const Target& target,
                                         const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!is_short(sort)) {
    return unimplemented(
        fmt::format("the first {} of {} elements per row, expected constant sizes and at most {} elements",
                    sort.k.to_text(), n.to_text(), kMaxElements));
  }
  const auto lane_bytes = static_cast<std::uint32_t>(size_bytes(lane_dtype(sort)));
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, NetworkBuilder(sort, target.spec().vector_bytes() / lane_bytes).run(),
                             operands_then_results(1, num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
