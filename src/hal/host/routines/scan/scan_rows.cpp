// SPDX-License-Identifier: Apache-2.0
// Scans each row, or part of a row. Long sums of floats are scanned in blocks, and the blocks' totals are added level
// by level, so that rounding errors stay small.
#include "hal/host/routines/scan/scan_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "hal/host/routines/routine.h"
#include "hal/host/routines/row_pair_walk.h"
#include "hal/host/routines/scan/nested_sum.h"

namespace millrace {
namespace {

/// The carry of a row that is scanned as one block.
class OneCarry {
 public:
  OneCarry(std::int64_t start, const ScanRowsParameters&) : carry_(start) {}
  std::int64_t before_block() const { return carry_; }
  void end_block(std::int64_t carry) { carry_ = carry; }

 private:
  std::int64_t carry_;
};

/// The sum of the blocks so far. `Bits` is the integer type that is as wide as a lane.
template <class Float, class Bits>
class BlockSum {
 public:
  BlockSum(std::int64_t start, const ScanRowsParameters& p) : sum_(float_of(start), p.sums_per_level) {}
  std::int64_t before_block() const { return std::bit_cast<Bits>(sum_.total()); }
  void end_block(std::int64_t total) { sum_.add(float_of(total)); }

 private:
  static Float float_of(std::int64_t bits) { return std::bit_cast<Float>(static_cast<Bits>(bits)); }

  NestedSum<Float> sum_;
};

class RowScan {
 public:
  RowScan(const void* code, const ScanRowsParameters& p, const KernelArgs& args)
      : code_(code),
        p_(p),
        args_(args),
        loader_(code, p.load, args),
        piece_(static_cast<std::byte*>(args.workgroup_memory)),
        walk_(args, p.num_other_dims),
        parts_(walk_.parts()) {}

  void run(std::uint32_t first_group, std::uint32_t end_group) {
    if (p_.block_elements == 0) return run_with<OneCarry>(first_group, end_group);
    if (p_.total_bytes == 4) return run_with<BlockSum<float, std::int32_t>>(first_group, end_group);
    run_with<BlockSum<double, std::int64_t>>(first_group, end_group);
  }

 private:
  struct Part {
    std::int64_t row, number, start, size;
  };

  template <class Carry>
  void run_with(std::uint32_t first_group, std::uint32_t end_group) {
    if (p_.step == ScanRowsStep::kTotals) return write_totals<Carry>(first_group, end_group);
    const bool may_stream = p_.stream.offset != 0 && args_.streams != 0;
    for (std::uint32_t group = first_group; group < end_group; ++group) {
      const Part part = find_part(group);
      std::byte* const to = walk_.result(p_.element_bytes, num_inputs()) + part.start * p_.element_bytes;
      const std::int64_t start = p_.is_reverse != 0 ? part.size * p_.element_bytes : 0;
      // Do not scan a few elements first to reach an aligned address: the rounding of sums would depend on the address.
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(to + start) % vector_bytes() == 0;
      const ScanElements scan = (may_stream && is_aligned ? p_.stream : p_.scan).at(code_);
      Carry carry(carry_into<Carry>(part), p_);
      if (loader_.is_used()) {
        loader_.select_row(part.row);
        scan_computed(scan, to, carry);
      } else {
        scan_blocks(scan, input(part), to, part.size, carry);
      }
    }
  }

  /// Scans piece by piece. Each piece has a whole number of vectors and blocks, so that sums round as for rows in
  /// memory; only the piece that is scanned last may be shorter.
  template <class Carry>
  void scan_computed(ScanElements scan, std::byte* to, Carry& carry) {
    const std::int64_t max = RowLoader::kPieceBytes / p_.element_bytes, n = walk_.n();
    for (std::int64_t done = 0; done < n; done += max) {
      const std::int64_t count = std::min(max, n - done);
      const std::int64_t first = p_.is_reverse != 0 ? n - done - count : done;
      loader_.compute(first, count, piece_);
      scan_blocks(scan, piece_, to + first * p_.element_bytes, count, carry);
    }
  }

  template <class Carry>
  void scan_blocks(ScanElements scan, const std::byte* from, std::byte* to, std::int64_t count, Carry& carry) const {
    const std::int64_t block = block_of(count);
    for (std::int64_t done = 0; done < count; done += block) {
      const std::int64_t size = std::min(block, count - done);
      const std::int64_t first = (p_.is_reverse != 0 ? count - done - size : done) * p_.element_bytes;
      const std::int64_t start = first + (p_.is_reverse != 0 ? size * p_.element_bytes : 0);
      carry.end_block(scan(from + start, to + start, size, carry.before_block(), from + first, to + first));
    }
  }

  /// The total of `count` elements, or of `count` totals.
  template <class Carry>
  std::int64_t total_of(const std::byte* from, std::int64_t count, std::int64_t element_bytes) const {
    const std::int64_t block = block_of(count);
    Carry carry(p_.identity, p_);
    for (std::int64_t done = 0; done < count; done += block) {
      const std::byte* const first = from + done * element_bytes;
      carry.end_block(p_.total.at(code_)(first, nullptr, std::min(block, count - done), p_.identity, first, nullptr));
    }
    return carry.before_block();
  }

  std::int64_t block_of(std::int64_t count) const { return p_.block_elements != 0 ? p_.block_elements : count; }

  std::uintptr_t vector_bytes() const { return static_cast<std::uintptr_t>(p_.vector_bytes); }
  /// The number of buffers before the result, including the totals.
  std::size_t num_inputs() const {
    if (p_.step == ScanRowsStep::kParts) return 2;
    return loader_.is_used() ? static_cast<std::size_t>(p_.load.num_operands) : 1;
  }
  const std::byte* input(const Part& part) const {
    return walk_.input(p_.element_bytes) + part.start * p_.element_bytes;
  }
  std::byte* totals() const { return static_cast<std::byte*>(args_.buffers[1]); }

  Part find_part(std::uint32_t group) {
    if (parts_.parts == 1) {
      walk_.find_row(group);
      return {group, 0, 0, parts_.n};
    }
    const std::int64_t row = group / parts_.parts;
    std::int64_t number = group % parts_.parts;
    // Take parts in reverse order: the end of the row was read last, and is still in the caches.
    if (p_.step == ScanRowsStep::kParts) number = parts_.parts - 1 - number;
    walk_.find_row(row);
    return {row, number, parts_.start(number), parts_.size(number)};
  }

  template <class Carry>
  void write_totals(std::uint32_t first_group, std::uint32_t end_group) {
    for (std::uint32_t group = first_group; group < end_group; ++group) {
      const Part part = find_part(group);
      const std::int64_t total = total_of<Carry>(input(part), part.size, p_.element_bytes);
      std::memcpy(totals() + group * p_.total_bytes, &total, static_cast<std::size_t>(p_.total_bytes));
    }
  }

  /// Combines the totals of the parts that precede this part in the order of the scan.
  template <class Carry>
  std::int64_t carry_into(const Part& part) const {
    if (p_.step == ScanRowsStep::kRows) return p_.identity;
    const bool is_reverse = p_.is_reverse != 0;
    const std::int64_t first = is_reverse ? part.number + 1 : 0, end = is_reverse ? parts_.parts : part.number;
    const std::byte* const from = totals() + (part.row * parts_.parts + first) * p_.total_bytes;
    return total_of<Carry>(from, end - first, p_.total_bytes);
  }

  const void* code_;
  const ScanRowsParameters& p_;
  const KernelArgs& args_;
  RowLoader loader_;
  std::byte* piece_;  // memory for one piece of a row, if its elements are computed
  RowPairWalk walk_;
  RowParts parts_;
};

}  // namespace

void scan_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  RowScan(code, parameters_of<ScanRowsParameters>(parameters), *args).run(first_group, end_group);
}

}  // namespace millrace
