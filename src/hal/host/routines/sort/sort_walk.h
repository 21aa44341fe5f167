// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "hal/host/routines/element_copies.h"
#include "hal/host/routines/row_offsets.h"
#include "hal/host/routines/row_parts.h"
#include "hal/host/routines/sort/element_key.h"
#include "hal/host/routines/sort/restored_runs.h"
#include "hal/host/routines/sort/sort_columns.h"
#include "hal/host/routines/sort/sort_rows.h"

namespace millrace {

/// Sorts the rows of one call, and offers the steps of that sort to the other sorts.
template <class Key>
class SortWalk {
 public:
  /// For keys that are made in index order.
  SortWalk(const void* code, const SortRowsParameters& p, const KernelArgs& args)
      : SortWalk(code, p, args, p.keys_have_index != 0 ? KeyParts::kUpperHalf : KeyParts::kWhole) {}
  SortWalk(const void* code, const SortRowsParameters& p, const KernelArgs& args, KeyParts parts)
      : code_(code),
        p_(p),
        args_(args),
        n_(args.sizes[SortRowsSizes::kN]),
        k_(args.sizes[SortRowsSizes::kK]),
        loader_(code, p.load, args),
        sorter_(code, p.sorter, sorter_memory(), parts),
        columns_(workgroup_memory() + p.columns_offset, p.columns_bytes, column_tensors(code, p, args)) {}

  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  /// The parts per row, each of which has its own k results.
  std::int64_t num_parts() const { return args_.sizes[SortRowsSizes::kParts]; }

  /// Calls run_rows(first, end) for blocks of neighbouring rows. During the call, rows that interleave in memory are
  /// copied to be contiguous.
  template <class RunRows>
  void for_blocks(std::int64_t first, std::int64_t end, const RunRows& run_rows) {
    if (columns_.num_columns() == 0) return run_rows(first, end);
    while (first < end) {
      const std::int64_t extent = p_.num_other_dims == 0 ? 1 : columns_dim(p_, args_)[0], column = first % extent;
      const std::int64_t next_block = first + columns_.num_columns() - column % columns_.num_columns();
      block_ = {first, std::min({end, next_block, first + extent - column})};
      Place first_place;
      find_in_tensors(first, first_place);
      select_row(first_place);
      if (columns_.moves(0)) columns_.read(0, base(0) + offset_bytes(0), block_.end - first);
      run_rows(first, block_.end);
      select_row(first_place);
      for (std::size_t tensor = 1; tensor < kNumSortTensors; ++tensor) {
        if (columns_.moves(tensor)) columns_.write(tensor, base(tensor) + offset_bytes(tensor), block_.end - first);
      }
      first = block_.end;
    }
  }

  /// Sorts a row.
  void run(std::int64_t row) {
    if (n_ == 0) return;  // empty memory may have no address
    // Fill `offsets_` in place: vector loads that copy freshly written scalars would stall the rows after this one.
    find_place(row, offsets_);
    start_row();
    const std::int64_t num_keys = 2 * (n_ > CountingSort::kMaxElements ? n_ : std::min(n_, p_.max_keys));
    Key* const keys =
        num_keys * std::int64_t{sizeof(Key)} > p_.max_workgroup_key_bytes
            ? static_cast<Key*>(args_.buffers[num_buffers() - 1]) + row * num_keys
            : reinterpret_cast<Key*>(workgroup_memory() + SortRowsParameters::kFixedBytes + p_.columns_bytes);
    StridedElements elements = {place(SortTensor::kInput), stride(SortTensor::kInput), n_};
    if (loader_.is_used()) {
      loader_.select_row(row);
      elements = {nullptr, 1, n_};
    }
    if (p_.sorts_in_registers != 0 && elements.stride == 1 && stride(SortTensor::kValues) <= 1 &&
        stride(SortTensor::kIndices) <= 1) {
      // The memory of the keys is still free: a row that is not in memory is computed there.
      return sort_in_registers({contiguous_row(elements, keys), 1, n_}, keys);
    }
    if (p_.num_pattern_runs != 0 && CountingSort::takes(p_.element_bytes, n_)) return count(elements, keys);
    SplitKeys<Key> split = {keys, keys + n_, n_, n_};
    const bool splits = n_ >= kMinSplitAtFirst && p_.partition_elements.offset != 0 && is_contiguous(elements) &&
                        !(k_ == n_ && sorter_.prefers_digits(n_));
    const bool has_special_floats =
        splits ? split_elements(elements, choose_pivot(elements), 0, split) : make_keys(elements, keys, keys + n_, 0);
    sort_to_results(elements, split, has_special_floats);
    if (has_special_floats && p_.has_values != 0 && p_.keys_have_index == 0) restore_runs(elements, keys);
  }

  void sort_in_registers(const StridedElements& elements, Key* keys) const {
    if (p_.keys_have_index != 0) {
      auto* const indices = reinterpret_cast<std::int64_t*>(place(SortTensor::kIndices));
      at(p_.sort_indices)(elements.data, indices, n_);
    } else if (at(p_.sort_values)(elements.data, place(SortTensor::kValues), n_) != 0) {
      restore_runs(elements, keys);
    }
  }

  /// A row's offset in each tensor, in elements.
  using Place = std::array<std::int64_t, kNumSortTensors>;
  Place place_of(std::int64_t row) const {
    Place offsets;
    find_place(row, offsets);
    return offsets;
  }
  void find_place(std::int64_t row, Place& offsets) const {
    find_in_tensors(row, offsets);
    if (columns_.num_columns() == 0) return;
    for (std::size_t tensor = 0; tensor < kNumSortTensors; ++tensor) {
      if (columns_.moves(tensor)) {
        offsets[tensor] = (row - block_.first) * columns_.pitch_of(tensor) / element_bytes_of(p_, tensor);
      }
    }
  }
  /// Computes elements that are not in memory.
  RowLoader& loader() { return loader_; }
  /// Selects the row at this place for the later calls.
  void select_row(const Place& offsets) {
    offsets_ = offsets;
    start_row();
  }
  void start_row() {
    k_ = args_.sizes[SortRowsSizes::kK];
    first_index_ = 0;
  }
  /// Makes the later calls write only `count` of the row's sorted elements, from position `first` (less than k) on.
  void narrow_to(std::int64_t first, std::int64_t count) {
    for (const SortTensor tensor : {SortTensor::kValues, SortTensor::kIndices}) {
      offsets_[static_cast<std::size_t>(tensor)] += first * stride(tensor);
    }
    k_ = std::min(k_ - first, count);
  }
  /// Selects a part of the row at this place for the later calls. Returns the number of elements in the part.
  std::int64_t select_part(const Place& offsets, std::int64_t part) {
    const RowParts parts = {n_, num_parts()};
    select_row(offsets);
    first_index_ = parts.start(part);
    for (const SortTensor tensor : {SortTensor::kInput, SortTensor::kValues, SortTensor::kIndices}) {
      const std::int64_t first = tensor == SortTensor::kInput ? first_index_ : part * k_;
      offsets_[static_cast<std::size_t>(tensor)] += first * stride(tensor);
    }
    return parts.size(part);
  }
  /// The position in the row at which the part begins.
  std::int64_t first_index() const { return first_index_; }
  /// Whether indices differ from the positions that keys hold.
  bool renumbers() const { return p_.has_input_indices != 0 || first_index_ != 0; }
  std::int64_t stride(SortTensor tensor) const {
    const auto index = static_cast<std::size_t>(tensor);
    return columns_.moves(index) ? 1 : args_.sizes[SortRowsSizes::kAxisStrides + index];
  }
  std::byte* place(SortTensor tensor) const { return place(tensor, offsets_); }
  /// The address of another row.
  std::byte* place(SortTensor tensor, const Place& offsets) const {
    const auto index = static_cast<std::size_t>(tensor);
    return (columns_.moves(index) ? columns_.rows_of(index) : base(index)) +
           offsets[index] * element_bytes_of(p_, index);
  }

  /// Writes the keys of elements; the first element has index `first`. Returns whether there is a -0 or a NaN.
  bool make_keys(const StridedElements& elements, Key* keys, Key* other, std::int64_t first) const {
    return at(p_.make_keys)(contiguous_row(elements, other), keys, elements.count, first) != 0;
  }
  /// Writes the keys, split at a pivot, and sets split.num_low. Returns whether there is a -0 or a NaN.
  bool split_elements(const StridedElements& elements, Key pivot, std::int64_t first, SplitKeys<Key>& split) {
    if (p_.partition_elements.offset == 0 || !is_contiguous(elements)) {
      const bool has_special_floats = make_keys(elements, split.keys, split.other, first);
      split.num_low = sorter_.split(split.keys, split.count, pivot, split.keys, split.other);
      return has_special_floats;
    }
    const auto end = reinterpret_cast<std::uintptr_t>(
        at(p_.partition_elements)(elements.data, split.keys, split.other, split.count, pivot, first));
    constexpr std::uintptr_t kSpecialFloats = 1;
    split.num_low = reinterpret_cast<const Key*>(end & ~kSpecialFloats) - split.keys;
    return (end & kSpecialFloats) != 0;
  }

  /// Sorts `count` keys, so that the first k are in order.
  void sort_keys(const StridedElements& elements, Key* keys, Key* other, std::int64_t count) {
    sort_keys(elements, {keys, other, count, count});
  }
  void sort_keys(const StridedElements& elements, const SplitKeys<Key>& split) {
    if (p_.keys_are_truncated == 0) return sorter_.sort(split, k_);
    sorter_.sort(split, k_, RowSorter<Key>::Rest::kKept);
    sort_by_lower_halves(elements, split.keys, split.other, split.count);
  }

  /// Sorts keys, and writes the results of the first k.
  void sort_to_results(const StridedElements& elements, const SplitKeys<Key>& split, bool has_special_floats) {
    if (p_.writes_sorted == 0) {
      sort_keys(elements, split);
      return write_results(elements, split.keys, has_special_floats);
    }
    const SortTensor result = p_.has_values != 0 ? SortTensor::kValues : SortTensor::kIndices;
    sorter_.sort_to(split, k_, p_.writer, place(result));
  }
  /// Like sort_keys, but writes the first k keys to `sorted`, which has room for `count` keys.
  void sort_keys_to(const StridedElements& elements, Key* keys, Key* other, std::int64_t count, Key* sorted) {
    if (p_.keys_are_truncated == 0 && count <= p_.sorter.max_network_keys())
      return sorter_.sort_in_registers(keys, sorted, count);
    sort_keys(elements, keys, other, count);
    std::copy_n(keys, k_, sorted);
  }
  /// Writes the indices of `count` keys.
  void write_indices(const Key* keys, std::int64_t count) const {
    write(SortTensor::kIndices, at(p_.write_indices), sizeof(std::int64_t), keys, count);
    if (renumbers()) renumber(count);
  }
  /// Writes the values of `count` keys, restored from the keys themselves.
  void write_key_values(const Key* keys, std::int64_t count) const {
    write(SortTensor::kValues, at(p_.write_values), p_.element_bytes, keys, count);
  }
  /// Writes those of the first k values that cannot be restored from keys with an index.
  void write_lost_values(const StridedElements& elements, const Key* keys) const {
    constexpr std::int64_t kFew = 32;  // writing these is faster than searching for the runs among them
    if (p_.keys_are_truncated != 0 || k_ <= kFew) return write_indexed(elements, keys, 0, k_);
    for (const std::int64_t element_key : {std::int64_t{0}, p_.magnitude_bits}) {
      const std::int64_t first = (p_.is_descending != 0 ? ~element_key : element_key) << kIndexBits;
      const auto begin = std::lower_bound(keys, keys + k_, static_cast<Key>(first));
      const auto end = std::upper_bound(begin, keys + k_, static_cast<Key>(first | kIndexMask));
      write_indexed(elements, keys, begin - keys, end - keys);
    }
  }
  /// Writes the results of the first k sorted keys. Without an index, -0 and NaN are in the order of their bits.
  void write_results(const StridedElements& elements, const Key* keys, bool has_special_floats) const {
    if (p_.has_indices != 0) write_indices(keys, k_);
    if (p_.has_values == 0) return;
    if (p_.keys_are_truncated == 0) write_key_values(keys, k_);
    if (p_.keys_are_truncated != 0 || (has_special_floats && p_.keys_have_index != 0))
      write_lost_values(elements, keys);
  }

  /// Restores the row's order of zeros and NaNs among the values. Overwrites `keys`, which has room for two pieces.
  void restore_runs(const StridedElements& elements, Key* keys) const {
    const RestoredRuns runs(p_, place(SortTensor::kValues), stride(SortTensor::kValues), n_, k_);
    const auto piece = [&](std::int64_t first, std::int64_t count) {
      return contiguous_part(elements, first, count, keys);
    };
    runs.restore(piece, bytes_of(keys + std::min(n_, RestoredRuns::kPieceElements)), at(p_.take_zeros),
                 at(p_.take_nans));
  }
  std::uint64_t element(const StridedElements& elements, std::int64_t index) const {
    return elements.data == nullptr ? loader_.element(index) : element_at(elements, index, p_.element_bytes);
  }
  /// Keys hold the index in their lower half.
  static constexpr unsigned kIndexBits = 4 * sizeof(Key);
  static constexpr std::int64_t kIndexMask = (std::int64_t{1} << kIndexBits) - 1;
  static std::int64_t index_of(Key key) { return static_cast<std::int64_t>(key) & kIndexMask; }
  std::byte* workgroup_memory() const { return static_cast<std::byte*>(args_.workgroup_memory); }
  RowSorterMemory sorter_memory() const {
    return {workgroup_memory(), workgroup_memory() + RowSorterMemory::kSampleBytes};
  }
  template <class Function>
  Function at(Microkernel<Function> microkernel) const {
    return microkernel.at(code_);
  }

 private:
  /// From this row length on, the first partition also makes the keys. The keys of shorter rows stay in the cache.
  static constexpr std::int64_t kMinSplitAtFirst = 4096;
  static constexpr std::size_t kIndicesTensor = static_cast<std::size_t>(SortTensor::kIndices);

  std::int64_t offset_bytes(std::size_t tensor) const { return offsets_[tensor] * element_bytes_of(p_, tensor); }
  std::byte* base(std::size_t tensor) const {
    const std::size_t buffer =
        tensor == 0 ? 0 : num_inputs() + static_cast<std::size_t>(tensor == kIndicesTensor ? p_.has_values : 0);
    return static_cast<std::byte*>(args_.buffers[buffer]);
  }
  void find_in_tensors(std::int64_t row, Place& offsets) const {
    find_row(row, args_.sizes + SortRowsSizes::kOffsets, args_.sizes + SortRowsSizes::kDims, p_.num_other_dims,
             kNumSortTensors, offsets.data());
  }
  static bool is_contiguous(const StridedElements& elements) {
    return elements.data != nullptr && elements.stride == 1;
  }
  /// The elements as contiguous memory: in place, or else copied or computed to `memory`.
  const std::byte* contiguous_row(const StridedElements& elements, Key* memory) const {
    return contiguous_part(elements, 0, elements.count, memory);
  }
  const std::byte* contiguous_part(const StridedElements& elements, std::int64_t first, std::int64_t count,
                                   Key* memory) const {
    if (elements.data == nullptr) {
      loader_.compute(first, count, bytes_of(memory));
      return bytes_of(memory);
    }
    const std::byte* const from = elements.data + first * elements.stride * p_.element_bytes;
    if (elements.stride == 1) return from;
    copy_strided(from, elements.stride, bytes_of(memory), 1, count, p_.element_bytes);
    return bytes_of(memory);
  }
  /// A pivot for contiguous elements.
  Key choose_pivot(const StridedElements& elements) {
    return sorter_.choose_pivot(elements.count, [&](std::int64_t place, Key* to) {
      make_keys({elements.data + place * p_.element_bytes, 1, p_.sorter.num_lanes}, to, nullptr, place);
    });
  }
  static std::byte* bytes_of(Key* keys) { return reinterpret_cast<std::byte*>(keys); }
  std::size_t num_buffers() const {
    return num_inputs() + static_cast<std::size_t>(p_.has_values + p_.has_indices + p_.uses_scratch);
  }
  std::size_t num_inputs() const {
    return static_cast<std::size_t>(loader_.is_used() ? p_.load.num_operands : 1 + p_.has_input_indices);
  }
  /// Replaces positions in the results with the indices of the elements there.
  void renumber(std::int64_t count) const {
    auto* const indices = reinterpret_cast<std::int64_t*>(place(SortTensor::kIndices));
    for (std::int64_t i = 0; i < count; ++i) indices[i * stride(SortTensor::kIndices)] += first_index_;
    if (p_.has_input_indices == 0) return;
    const auto* const given =
        static_cast<const std::int64_t*>(args_.buffers[1]) + offsets_[static_cast<std::size_t>(SortTensor::kInput)];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t& index = indices[i * stride(SortTensor::kIndices)];
      index = given[index * stride(SortTensor::kInput)];
    }
  }
  void write(SortTensor tensor, WriteFromKeys writer, std::int64_t bytes, const Key* keys, std::int64_t count) const {
    const std::int64_t to_stride = stride(tensor);
    if (to_stride == 1) {
      writer(keys, place(tensor), count);
      return;
    }
    std::byte* const piece = sorter_memory().sample;
    const std::int64_t max_now = RowSorterMemory::kSampleBytes / bytes;
    for (std::int64_t i = 0; i < count; i += max_now) {
      const std::int64_t num_now = std::min(max_now, count - i);
      writer(keys + i, piece, num_now);
      copy_strided(piece, 1, place(tensor) + i * to_stride * bytes, to_stride, num_now, bytes);
    }
  }

  void write_indexed(const StridedElements& elements, const Key* keys, std::int64_t first, std::int64_t end) const {
    const StridedResults values = {place(SortTensor::kValues), stride(SortTensor::kValues), end};
    with_element_size(p_.element_bytes, [&](auto bytes) {
      if (elements.data != nullptr) return copy_indexed(bytes, elements, keys, first, values);
      for (std::int64_t i = first; i < end; ++i) {
        const std::uint64_t bits = loader_.element(index_of(keys[i]));
        std::memcpy(values.data + i * values.stride * bytes, &bits, bytes);
      }
    });
  }
  template <class Bytes>
  static void copy_indexed(Bytes bytes, StridedElements from, const Key* keys, std::int64_t first, StridedResults to) {
    for (std::int64_t i = first; i < to.count; ++i) {
      std::memcpy(to.data + i * to.stride * bytes, from.data + index_of(keys[i]) * from.stride * bytes, bytes);
    }
  }

  /// Sorts each run of keys with equal upper halves by their elements' lower halves. Only the first k keys are in
  /// order, so more keys of the last run can be anywhere after them.
  void sort_by_lower_halves(const StridedElements& elements, Key* keys, Key* other, std::int64_t count) {
    for (std::int64_t begin = 0, end = 0; begin < k_; begin = end) {
      while (end < k_ && upper_half(keys[end]) == upper_half(keys[begin])) ++end;
      const bool is_last = end == k_;
      for (std::int64_t i = k_; is_last && i < count; ++i) {
        if (upper_half(keys[i]) == upper_half(keys[begin])) std::swap(keys[end++], keys[i]);
      }
      if (end - begin == 1) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t index = index_of(keys[i]);
        constexpr std::int64_t kBytes = sizeof(std::uint64_t);
        const std::int64_t key =
            whole_key(p_, elements.data == nullptr ? loader_.element(index) : element_at(elements, index, kBytes));
        keys[i] = static_cast<Key>(key_of_lower_half(key) | static_cast<std::uint64_t>(index));
      }
      sorter_.sort(keys + begin, other, end - begin, k_ - begin);
    }
  }
  /// Sorts values by counting, in the memory of the keys.
  void count(const StridedElements& elements, Key* keys) const {
    static_assert(sizeof(Key) >= sizeof(std::int32_t));  // the key size that CountingSort assumes
    static_assert(RestoredRuns::kPieceElements <= CountingSort::max_keys(2));
    CountingSort sort(p_.element_bytes, bytes_of(keys), code_, p_.counts_bytes != 0 ? &p_.byte_counter : nullptr);
    sort.count(elements);
    if (p_.is_bool != 0) sort.join_truths();
    const std::span<const PatternRun> runs(p_.pattern_runs, static_cast<std::size_t>(p_.num_pattern_runs));
    sort.write(runs, {place(SortTensor::kValues), stride(SortTensor::kValues), k_});
    const bool has_special_floats = std::any_of(runs.begin(), runs.end(), [&](const PatternRun& run) {
      return (is_nan(p_, run.first) || (is_zero(p_, run.first) && run.first != 0)) && sort.has(run);
    });
    if (has_special_floats) restore_runs(elements, keys);
  }

  const void* code_;
  const SortRowsParameters& p_;
  const KernelArgs& args_;
  std::int64_t n_, k_;
  RowLoader loader_;
  RowSorter<Key> sorter_;
  ColumnBlock columns_;
  struct Rows {
    std::int64_t first = 0, end = 0;
  } block_;
  Place offsets_{};
  std::int64_t first_index_ = 0;  // the index of the part's first element
};

}  // namespace millrace
