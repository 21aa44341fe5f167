// SPDX-License-Identifier: Apache-2.0
// Radix sort of (key, index) records, lowest digit first, one row per workgroup: O(n), stable, without branches on
// data. One pass over the row counts the values of all digits. Then one pass per digit moves all records. A pass is
// skipped if its digit is equal in all records.
// Source: Seward, "Information sorting in the application of electronic digital computers to business operations", MIT
// R-232, 1954; digits of 11 bits: Herf, "Radix tricks", 2001.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/row_halves.h"

namespace millrace {
namespace {

constexpr std::int64_t kMinElements = 64;  // below this, counting takes longer than merging
/// Bits of a digit. Wide digits move records with 32-bit keys 3 times instead of 4, but need 8 times the counters per
/// digit. Measured (commit 0e176bdc): 10k f32 take 46 us with wide digits and 50 us without.
constexpr unsigned kDigitBits = 8, kWideDigitBits = 11;
constexpr std::int64_t kMinElementsForWide = 4096;

struct Digits {
  unsigned bits = kDigitBits;  // of each digit except the highest, which may have fewer
  unsigned count = 1;
  std::int64_t num_values() const { return std::int64_t{1} << bits; }
};

Digits digits_of(const SortDescriptor& sort) {
  const unsigned key_bits = sort_key_bits(sort.input.type.dtype);
  const bool is_wide = key_bits >= 32 && sort.input.type.shape[sort.axis].lower_bound() >= kMinElementsForWide;
  const unsigned bits = is_wide ? kWideDigitBits : kDigitBits;
  return {bits, (key_bits + bits - 1) / bits};
}

class RadixBuilder {
 public:
  RadixBuilder(const SortDescriptor& sort, bool in_scratch)
      : b_(sort.name),
        row_(b_, sort, in_scratch),
        digits_(digits_of(sort)),
        key_bits_(sort_key_bits(sort.input.type.dtype)) {
    counter_ = row_.records().index_dtype();
    counters_ =
        b_.workgroup_memory(counter_, static_cast<std::uint64_t>(digits_.count * digits_.num_values()), "counters");
  }

  MachineKernel run() {
    count_digits();
    MachineValue half = b_.i64(0);
    for (unsigned digit = 0; digit < digits_.count; ++digit) half = move_by(digit, half);
    row_.write_results(half);
    return b_.finish();
  }

 private:
  /// The counter of a record's digit.
  MachineValue counter_of(const SortRecord& record, unsigned digit) {
    const unsigned first = digit * digits_.bits;
    const MachineValue value = row_.records().key_bits(record, first, std::min(digits_.bits, key_bits_ - first));
    return b_.add(value, b_.i64(digit * digits_.num_values()));
  }
  MachineValue one() { return b_.constant_int(counter_, 1); }

  void count_digits() {
    constexpr std::uint32_t kLanes = 16;
    const MachineValue zeros = b_.splat(b_.constant_int(counter_, 0), kLanes);
    for_each(b_, b_.i64(0), b_.i64(digits_.count * digits_.num_values()), b_.i64(kLanes),
             [&](MachineValue i) { b_.store(counters_, i, zeros); });
    for_each(b_, b_.i64(0), row_.n(), b_.i64(1), [&](MachineValue i) {
      const SortRecord record = row_.make(i);
      row_.store(b_.i64(0), i, record);
      for (unsigned digit = 0; digit < digits_.count; ++digit) {
        const MachineValue counter = counter_of(record, digit);
        b_.store(counters_, counter, b_.add(b_.load(counters_, counter), one()));
      }
    });
  }

  /// Replaces the count of each value of a digit by the position where the records with that value begin.
  void find_positions(unsigned digit) {
    const MachineValue begin = b_.i64(digit * digits_.num_values());
    const MachineValue end = b_.i64((digit + 1) * digits_.num_values());
    b_.for_loop(begin, end, b_.i64(1), {b_.constant_int(counter_, 0)},
                [&](MachineValue i, const MachineBuilder::Values& position) {
                  const MachineValue count = b_.load(counters_, i);
                  b_.store(counters_, i, position[0]);
                  return MachineBuilder::Values{b_.add(position[0], count)};
                });
  }

  /// Moves the records to the other half by this digit, unless the digit is equal in all of them. Returns the half that
  /// then holds the records.
  MachineValue move_by(unsigned digit, MachineValue half) {
    const MachineValue other = b_.sub(b_.i64(1), half);
    const MachineValue has_any = b_.lt(b_.i64(0), row_.n());
    const MachineValue differ = b_.if_else(
        has_any,
        [&] {
          const MachineValue equal = b_.load(counters_, counter_of(row_.load(half, b_.i64(0)), digit));
          return MachineBuilder::Values{b_.lt(b_.convert(DType::kI64, equal), row_.n())};
        },
        [&] { return MachineBuilder::Values{has_any}; })[0];
    return b_.if_else(
        differ,
        [&] {
          find_positions(digit);
          for_each(b_, b_.i64(0), row_.n(), b_.i64(1), [&](MachineValue i) {
            const SortRecord record = row_.load(half, i);
            const MachineValue counter = counter_of(record, digit);
            const MachineValue position = b_.load(counters_, counter);
            b_.store(counters_, counter, b_.add(position, one()));
            row_.store(other, b_.convert(DType::kI64, position), record);
          });
          return MachineBuilder::Values{other};
        },
        [&] { return MachineBuilder::Values{half}; })[0];
  }

  MachineBuilder b_;
  RowHalves row_;
  Digits digits_;
  unsigned key_bits_;
  DType counter_;
  MemoryHandle counters_;
};

SizeExpr margin_of_long(const SortDescriptor& sort) {
  return margin_of_at_least(sort.input.type.shape[sort.axis], kMinElements);
}

}  // namespace

std::vector<RequestCase> radix_sort_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  return {sort_case(margin_of_long(sort), sort, {}, "_radix")};
}

Result<KernelSequence> lower_radix_sort(const KernelRequest& request, const Target& target,
                                        const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  if (options.force_algorithm.empty() && never_holds(margin_of_long(sort))) {
    return unimplemented(fmt::format("rows of {} elements, expected at least {} to pay off",
                                     sort.input.type.shape[sort.axis].to_text(), kMinElements));
  }
  const Digits digits = digits_of(sort);
  const SizeExpr bytes = row_halves_bytes(sort) + digits.count * digits.num_values() * 8;
  const bool in_scratch = !fits_workgroup(bytes, target.spec());
  return lower_row_halves(sort, RadixBuilder(sort, in_scratch).run(), in_scratch, target, options);
}

}  // namespace millrace
