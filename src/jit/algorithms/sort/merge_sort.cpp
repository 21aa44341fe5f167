// SPDX-License-Identifier: Apache-2.0
// Bottom-up merge sort of (key, index) records, a row a workgroup: n log n, stable, no branch on data. Two halves of
// memory take turns; they are workgroup memory where that fits, else scratch of the sequence.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/key.h"
#include "jit/ir/linear_value.h"

namespace millrace {
namespace {

/// Records are one u64 (key above, index below) while both fit in 32 bits, else two.
std::int64_t words_per_record(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const bool is_packed =
      sort_key_dtype(sort.input.type.dtype) == DType::kU32 && n.upper_bound() <= (std::int64_t{1} << 32);
  return is_packed ? 1 : 2;
}

SizeExpr words_per_row(const SortDescriptor& sort) {
  return sort.input.type.shape[sort.axis] * (2 * words_per_record(sort));
}

struct Record {
  MachineValue key;    // with the index below it when packed
  MachineValue index;  // not used when packed
};

class SortBuilder {
 public:
  SortBuilder(const SortDescriptor& sort, bool in_scratch)
      : sort_(sort), b_(sort.name), stored_(sort.input.type.dtype), is_packed_(words_per_record(sort) == 1) {
    input_ = b_.buffer(sort.input.name, stored_, BufferAccess::kRead);
    if (sort.values) values_ = b_.buffer(sort.values->name, stored_, BufferAccess::kWrite);
    if (sort.indices) indices_ = b_.buffer(sort.indices->name, DType::kI64, BufferAccess::kWrite);
    n_ = size(sort.input.type.shape[sort.axis]);
    if (in_scratch) {
      records_ = b_.buffer("records", DType::kU64, BufferAccess::kReadWrite);
    } else {
      const std::int64_t words = words_per_row(sort).constant();
      records_ =
          b_.workgroup_memory(DType::kU64, static_cast<std::uint64_t>(std::max<std::int64_t>(words, 1)), "records");
    }
    in_scratch_ = in_scratch;
  }

  MachineKernel run() {
    b_.set_num_groups(num_rows(sort_.input.type.shape, sort_.axis));
    const MachineValue row = b_.workgroup_id();
    base_ = in_scratch_ ? b_.mul(row, size(words_per_row(sort_))) : b_.i64(0);
    // An element of rows of extent 0 has no place to take.
    const MachineValue from = row_offset(row, sort_.input);
    fill_records(from);
    const MachineValue sorted_half = merge_passes();
    write_results(row, from, sorted_half);
    return b_.finish();
  }

 private:
  MachineValue size(const SizeExpr& expr) { return LinearValue::of_size(b_, expr).value(b_); }

  /// Where row number `row` of `tensor` begins.
  MachineValue row_offset(MachineValue row, const KernelTensor& tensor) {
    LinearValue offset = LinearValue::of_size(b_, tensor.layout.offset);
    const Shape& shape = sort_.input.type.shape;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      if (axis == sort_.axis || shape[axis].is(1)) continue;
      const MachineValue extent = size(shape[axis]);
      offset = offset.plus(b_, LinearValue(b_.rem(row, extent)), tensor.layout.strides[axis]);
      row = b_.div(row, extent);
    }
    return offset.value(b_);
  }

  MachineValue element(MachineValue row_start, const KernelTensor& tensor, MachineValue position) {
    return LinearValue(row_start).plus(b_, LinearValue(position), tensor.layout.strides[sort_.axis]).value(b_);
  }

  /// Calls f(i) for i in [0, count).
  template <class F>
  void for_each(MachineValue count, F&& f) {
    b_.for_loop(b_.i64(0), count, b_.i64(1), {}, [&](MachineValue i, const MachineBuilder::Values&) {
      f(i);
      return MachineBuilder::Values{};
    });
  }

  /// The word where record `position` of half 0 or 1 stands.
  MachineValue word_of(MachineValue half, MachineValue position) {
    MachineValue start = b_.mul(half, n_);
    if (!is_packed_) start = b_.mul(start, b_.i64(2));
    return b_.add(b_.add(base_, start), position);
  }
  Record load_record(MachineValue word) {
    const MachineValue key = b_.load(records_, word);
    return {key, is_packed_ ? key : b_.load(records_, b_.add(word, n_))};
  }
  void store_record(MachineValue word, const Record& record) {
    b_.store(records_, word, record.key);
    if (!is_packed_) b_.store(records_, b_.add(word, n_), record.index);
  }

  void fill_records(MachineValue from) {
    for_each(n_, [&](MachineValue i) {
      const MachineValue loaded = b_.load(input_, element(from, sort_.input, i));
      const MachineValue key = b_.convert(DType::kU64, sort_key(b_, loaded, stored_, sort_.largest));
      const MachineValue index = b_.convert(DType::kU64, i);
      const MachineValue packed = is_packed_ ? b_.bit_or(b_.shl(key, b_.constant_int(DType::kU64, 32)), index) : key;
      store_record(word_of(b_.i64(0), i), {packed, index});
    });
  }

  /// Passes until a run is a row: ceil(log2(n)).
  MachineValue num_passes() {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    if (n.is_constant()) {
      return b_.i64(n.constant() < 2 ? 0 : std::bit_width(static_cast<std::uint64_t>(n.constant() - 1)));
    }
    return b_.for_loop(b_.i64(0), b_.i64(62), b_.i64(1), {b_.i64(0)},
                       [&](MachineValue i, const MachineBuilder::Values& count) {
                         const MachineValue more = b_.lt(b_.shl(b_.i64(1), i), n_);
                         return MachineBuilder::Values{b_.add(count[0], b_.convert(DType::kI64, more))};
                       })[0];
  }

  /// Merges runs of doubling width from half to half; gives the half that the last pass wrote.
  MachineValue merge_passes() {
    const MachineValue passes = num_passes();
    for_each(passes, [&](MachineValue pass) {
      const MachineValue width = b_.shl(b_.i64(1), pass);
      const MachineValue from = b_.bit_and(pass, b_.i64(1));
      const MachineValue to = b_.sub(b_.i64(1), from);
      b_.for_loop(b_.i64(0), n_, b_.add(width, width), {}, [&](MachineValue start, const MachineBuilder::Values&) {
        merge_runs(start, width, {from, to});
        return MachineBuilder::Values{};
      });
      b_.barrier();
    });
    return b_.bit_and(passes, b_.i64(1));
  }

  struct Halves {
    MachineValue from;
    MachineValue to;
  };

  /// Merges the runs [start, mid) and [mid, end). The record of an exhausted run is read (it is in the row) and not
  /// taken.
  void merge_runs(MachineValue start, MachineValue width, Halves halves) {
    const MachineValue mid = b_.min(b_.add(start, width), n_);
    const MachineValue end = b_.min(b_.add(mid, width), n_);
    const MachineValue last = b_.sub(n_, b_.i64(1));
    b_.for_loop(start, end, b_.i64(1), {start, mid}, [&](MachineValue out, const MachineBuilder::Values& heads) {
      const MachineValue left = heads[0];
      const MachineValue right = heads[1];
      const Record a = load_record(word_of(halves.from, b_.min(left, last)));
      const Record c = load_record(word_of(halves.from, b_.min(right, last)));
      // Equal records do not occur when packed; otherwise equal keys keep the left run's.
      const MachineValue keep_order = b_.le(a.key, c.key);
      const MachineValue take_left = b_.bit_and(b_.lt(left, mid), b_.bit_or(b_.le(end, right), keep_order));
      store_record(word_of(halves.to, out),
                   {b_.select(take_left, a.key, c.key), is_packed_ ? a.key : b_.select(take_left, a.index, c.index)});
      const MachineValue step = b_.convert(DType::kI64, take_left);
      return MachineBuilder::Values{b_.add(left, step), b_.add(right, b_.sub(b_.i64(1), step))};
    });
  }

  void write_results(MachineValue row, MachineValue from, MachineValue half) {
    const MachineValue values_start = sort_.values ? row_offset(row, *sort_.values) : from;
    const MachineValue indices_start = sort_.indices ? row_offset(row, *sort_.indices) : from;
    for_each(size(sort_.k), [&](MachineValue i) {
      const Record record = load_record(word_of(half, i));
      MachineValue index = record.index;
      if (is_packed_) index = b_.bit_and(record.key, b_.constant_int(DType::kU64, 0xffffffff));
      index = b_.convert(DType::kI64, index);
      if (sort_.values) {
        const MachineValue value = b_.load(input_, element(from, sort_.input, index));
        b_.store(values_, element(values_start, *sort_.values, i), value);
      }
      if (sort_.indices) b_.store(indices_, element(indices_start, *sort_.indices, i), index);
    });
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  DType stored_;
  bool is_packed_;
  bool in_scratch_ = false;
  MemoryHandle input_, values_, indices_, records_;
  MachineValue n_;
  MachineValue base_;
};

Result<KernelSequence> lower(const SortDescriptor& sort, bool in_scratch, const Target& target,
                             const LowerOptions& options) {
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(1, num_results(sort));
  if (in_scratch) {
    sequence.scratch.push_back({"records", num_rows(sort.input.type.shape, sort.axis) * words_per_row(sort) * 8});
    buffers.push_back({SequenceOperand::Kind::kScratch, 0});
  }
  MILLRACE_TRY(append_kernel(sequence, SortBuilder(sort, in_scratch).run(), std::move(buffers), target, options));
  return sequence;
}

}  // namespace

Result<KernelSequence> lower_merge_sort(const KernelRequest& request, const Target& target,
                                        const LowerOptions& options) {
  const SortDescriptor& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr bytes = words_per_row(sort) * 8;
  const std::uint64_t limit = memory_limits(target.spec()).workgroup_bytes;
  if (!bytes.is_constant()) {
    return unimplemented(fmt::format("rows of {} elements; workgroup memory is sized when the kernel is made",
                                     sort.input.type.shape[sort.axis].to_text()));
  }
  if (static_cast<std::uint64_t>(bytes.constant()) > limit) {
    return resource_exhausted(fmt::format("{} bytes of workgroup memory for a row of {}, {} has {}", bytes.constant(),
                                          sort.input.type.shape[sort.axis].to_text(), target.to_text(), limit));
  }
  return lower(sort, /*in_scratch=*/false, target, options);
}

Result<KernelSequence> lower_merge_sort_scratch(const KernelRequest& request, const Target& target,
                                                const LowerOptions& options) {
  const SortDescriptor& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  return lower(sort, /*in_scratch=*/true, target, options);
}

}  // namespace millrace
