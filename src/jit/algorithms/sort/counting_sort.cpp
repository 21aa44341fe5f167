// SPDX-License-Identifier: Apache-2.0
// Sorts values of 8 or 16 bits by counting the elements with each key: O(n), one row per workgroup, without scratch.
// Zeros share a key although their bits may differ, and so do NaNs, so these are copied from the row, in order.
// Source: Seward, "Information sorting in the application of electronic digital computers to business operations", MIT
// R-232, 1954.
#include <limits>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/key.h"

namespace millrace {
namespace {

/// The minimum number of elements per key. With fewer, a pass over the keys takes longer than sorting.
constexpr std::int64_t kMinElementsPerKey = 2;
constexpr std::uint32_t kLanes = 16;  // elements per vector store

std::int64_t num_keys(const SortDescriptor& sort) { return std::int64_t{1} << sort_key_bits(sort.input.type.dtype); }
/// The number of tables of counts. Neighbouring elements use different tables, so that equal neighbours increment
/// different counters: the increments do not wait for each other.
std::int64_t num_tables(const SortDescriptor& sort) { return size_bytes(sort.input.type.dtype) == 1 ? 4 : 1; }

DType counter_dtype(const SortDescriptor& sort) {
  const std::int64_t n = sort.input.type.shape[sort.axis].upper_bound();
  return n <= std::numeric_limits<std::int32_t>::max() ? DType::kI32 : DType::kI64;
}

class CountingBuilder {
 public:
  explicit CountingBuilder(const SortDescriptor& sort)
      : sort_(sort),
        b_(sort.name),
        stored_(sort.input.type.dtype),
        counter_(counter_dtype(sort)),
        num_keys_(num_keys(sort)),
        num_tables_(num_tables(sort)) {
    input_ = b_.buffer(sort.input.name, stored_, BufferAccess::kRead);
    values_ = b_.buffer(sort.values->name, stored_, BufferAccess::kWrite);
    counters_ = b_.workgroup_memory(counter_, static_cast<std::uint64_t>(num_tables_ * num_keys_), "counters");
  }

  MachineKernel run() {
    b_.set_num_groups(num_rows(sort_.input.type.shape, sort_.axis));
    const MachineValue row = b_.workgroup_id();
    n_ = b_.size(sort_.input.type.shape[sort_.axis]);
    k_ = b_.size(sort_.k);
    from_ = row_start(b_, sort_.input, sort_.axis, row);
    to_ = row_start(b_, *sort_.values, sort_.axis, row);
    count();
    write();
    return b_.finish();
  }

 private:
  MachineValue load(MachineValue i) { return b_.load(input_, row_element(b_, sort_.input, sort_.axis, from_, i)); }
  MachineValue key_of(MachineValue loaded) { return sort_key(b_, loaded, stored_, sort_.largest); }
  MachineValue place(MachineValue position) { return row_element(b_, *sort_.values, sort_.axis, to_, position); }

  void count_one(MachineValue i, std::int64_t table) {
    const MachineValue counter = b_.add(b_.convert(DType::kI64, key_of(load(i))), b_.i64(table * num_keys_));
    b_.store(counters_, counter, b_.add(b_.load(counters_, counter), b_.constant_int(counter_, 1)));
  }

  void count() {
    const MachineValue zeros = b_.splat(b_.constant_int(counter_, 0), kLanes);
    for_each(b_, b_.i64(0), b_.i64(num_tables_ * num_keys_), b_.i64(kLanes),
             [&](MachineValue i) { b_.store(counters_, i, zeros); });
    const MachineValue tables = b_.i64(num_tables_);
    const MachineValue whole = b_.mul(b_.div(n_, tables), tables);
    for_each(b_, b_.i64(0), whole, tables, [&](MachineValue i) {
      for (std::int64_t table = 0; table < num_tables_; ++table) count_one(b_.add(i, b_.i64(table)), table);
    });
    for_each(b_, whole, n_, b_.i64(1), [&](MachineValue i) { count_one(i, 0); });
  }

  MachineValue count_of(MachineValue key) {
    MachineValue sum = b_.load(counters_, key);
    for (std::int64_t table = 1; table < num_tables_; ++table) {
      sum = b_.add(sum, b_.load(counters_, b_.add(key, b_.i64(table * num_keys_))));
    }
    return b_.convert(DType::kI64, sum);
  }

  void write() {
    b_.for_loop(b_.i64(0), b_.i64(num_keys_), b_.i64(1), {b_.i64(0)},
                [&](MachineValue key, const MachineBuilder::Values& carried) {
                  const MachineValue position = carried[0];
                  const MachineValue next = b_.add(position, count_of(key));
                  const MachineValue end = b_.min(next, k_);
                  when(b_, b_.lt(position, end), [&] { write_run(key, position, end); });
                  return MachineBuilder::Values{next};
                });
  }

  void write_run(MachineValue number, MachineValue position, MachineValue end) {
    const MachineValue key = b_.convert(sort_key_dtype(stored_), number);
    const MachineValue all = sort_key_bit_pattern(b_, stored_, SortKeyBits::kAll);
    const MachineValue ascending = sort_.largest ? b_.bit_xor(key, all) : key;
    if (!is_float(stored_)) return write_equals(element_of_key(b_, ascending, stored_), position, end);
    b_.if_else(
        is_key_of_several(b_, ascending, stored_),
        [&] {
          copy_equals(key, position, end);
          return MachineBuilder::Values{};
        },
        [&] {
          write_equals(element_of_key(b_, ascending, stored_), position, end);
          return MachineBuilder::Values{};
        });
  }

  void write_equals(MachineValue element, MachineValue position, MachineValue end) {
    MachineValue rest = position;
    if (sort_.values->layout.strides[sort_.axis].is(1)) {
      const MachineValue lanes = b_.i64(kLanes), elements = b_.splat(element, kLanes);
      rest = b_.add(position, b_.mul(b_.div(b_.sub(end, position), lanes), lanes));
      for_each(b_, position, rest, lanes, [&](MachineValue at) { b_.store(values_, place(at), elements); });
    }
    for_each(b_, rest, end, b_.i64(1), [&](MachineValue at) { b_.store(values_, place(at), element); });
  }

  /// Copies the row's elements with this key, in order, to result places [position, end).
  void copy_equals(MachineValue key, MachineValue position, MachineValue end) {
    b_.for_loop(b_.i64(0), n_, b_.i64(1), {position}, [&](MachineValue i, const MachineBuilder::Values& carried) {
      const MachineValue element = load(i);
      const MachineValue is_copied = b_.bit_and(b_.eq(key_of(element), key), b_.lt(carried[0], end));
      when(b_, is_copied, [&] { b_.store(values_, place(carried[0]), element); });
      return MachineBuilder::Values{b_.add(carried[0], b_.convert(DType::kI64, is_copied))};
    });
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  DType stored_, counter_;
  std::int64_t num_keys_, num_tables_;
  MemoryHandle input_, values_, counters_;
  MachineValue n_, k_, from_, to_;
};

bool has_few_keys(const SortDescriptor& sort) { return size_bytes(sort.input.type.dtype) <= 2 && !sort.indices; }

SizeExpr margin_of_counted(const SortDescriptor& sort) {
  return margin_of_at_least(sort.input.type.shape[sort.axis], kMinElementsPerKey * num_keys(sort));
}

}  // namespace

std::vector<RequestCase> counting_sort_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  if (!has_few_keys(sort)) return {};
  return {sort_case(margin_of_counted(sort), sort, {}, "_counted")};
}

Result<KernelSequence> lower_counting_sort(const KernelRequest& request, const Target& target,
                                           const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  if (!has_few_keys(sort)) {
    return unimplemented(fmt::format("{} {} indices, expected values of 8 or 16 bits without indices",
                                     to_text(sort.input.type.dtype), sort.indices ? "with" : "without"));
  }
  if (options.force_algorithm.empty() && never_holds(margin_of_counted(sort))) {
    return unimplemented(fmt::format("rows of {} elements, expected at least {} to pay off",
                                     sort.input.type.shape[sort.axis].to_text(), kMinElementsPerKey * num_keys(sort)));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, CountingBuilder(sort).run(), operands_then_results(1, 1), target, options));
  return sequence;
}

}  // namespace millrace
