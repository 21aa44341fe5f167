// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hal/host/routines/element_size.h"
#include "hal/host/routines/sort_rows.h"

namespace millrace {

/// Copies elements at constant strides.
inline void copy_strided(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                         std::int64_t count, std::int64_t element_bytes) {
  if (count <= 0) return;
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
    return;
  }
  with_element_size(element_bytes, [&](auto bytes) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, bytes);
    }
  });
}

/// What one call of a sort does for each of its rows.
template <class Key>
class SortWalk {
 public:
  SortWalk(const void* code, const SortRowsParameters& p, const KernelArgs& args)
      : code_(static_cast<const std::byte*>(code)),
        p_(p),
        args_(args),
        n_(args.sizes[SortRowsSizes::kN]),
        k_(args.sizes[SortRowsSizes::kK]),
        loader_(code, p.load, args),
        sorter_code_(sorter_code(p.sort_few, p.partition_less, p.partition_at_most, p.num_lanes)),
        sorter_(sorter_code_, sorter_memory(), p.keys_have_index != 0 ? KeyParts::kAboveIndex : KeyParts::kWhole) {}

  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }

  /// Sorts a row.
  void run(std::int64_t row) {
    go_to(place_of(row));
    Key* const keys = p_.uses_scratch != 0
                          ? static_cast<Key*>(args_.buffers[num_buffers() - 1]) + row * 2 * n_
                          : reinterpret_cast<Key*>(workgroup_memory() + SortRowsParameters::kFixedBytes);
    StridedElements elements = {place(SortTensor::kInput), stride(SortTensor::kInput), n_};
    if (loader_.is_used()) {
      loader_.go_to(row);
      elements.data = nullptr;
    }
    if (p_.sorts_few != 0 && elements.stride == 1 && stride(SortTensor::kValues) <= 1 &&
        stride(SortTensor::kIndices) <= 1) {
      // The memory of the keys is free.
      return sort_in_registers({contiguous_row(elements, keys), 1, n_}, keys);
    }
    if (p_.num_pattern_runs != 0 && CountingSort::takes(p_.element_bytes, n_)) return count(elements, keys);
    const bool has_lost_bits = sort(elements, keys, keys + n_);
    if (p_.has_indices != 0) write_indices(keys, keys + n_, k_);
    write_values(elements, keys, keys + n_, has_lost_bits);
  }

  void sort_in_registers(const StridedElements& elements, Key* keys) const {
    if (p_.keys_have_index != 0) {
      auto* const indices = reinterpret_cast<std::int64_t*>(place(SortTensor::kIndices));
      function<SortIndices>(p_.sort_indices)(elements.data, indices, n_);
    } else if (function<SortValues>(p_.sort_values)(elements.data, place(SortTensor::kValues), n_) != 0) {
      restore_runs(elements, keys);
    }
  }

  /// Where a row is in each tensor, in elements.
  using Place = std::array<std::int64_t, kNumSortTensors>;
  Place place_of(std::int64_t row) const {
    Place offsets;
    std::copy_n(args_.sizes + SortRowsSizes::kOffsets, kNumSortTensors, offsets.begin());
    for (std::int64_t dim = p_.num_other_dims; dim-- > 0;) {
      const std::int64_t* sizes = args_.sizes + SortRowsSizes::kDims + dim * std::int64_t{SortRowsSizes::kPerDim};
      const std::int64_t position = row % sizes[0];
      row /= sizes[0];
      for (std::size_t tensor = 0; tensor < kNumSortTensors; ++tensor) offsets[tensor] += position * sizes[1 + tensor];
    }
    return offsets;
  }
  /// Elements that are computed have no place of their own.
  RowLoader& loader() { return loader_; }
  /// What follows is done for the row at this place.
  void go_to(const Place& offsets) { offsets_ = offsets; }
  std::int64_t stride(SortTensor tensor) const {
    return args_.sizes[SortRowsSizes::kAxisStrides + static_cast<std::size_t>(tensor)];
  }
  std::byte* place(SortTensor tensor) const {
    const bool is_indices = tensor == SortTensor::kIndices;
    const std::size_t buffer =
        tensor == SortTensor::kInput ? 0 : num_inputs() + (is_indices ? static_cast<std::size_t>(p_.has_values) : 0);
    const std::int64_t bytes = is_indices ? static_cast<std::int64_t>(sizeof(std::int64_t)) : p_.element_bytes;
    return static_cast<std::byte*>(args_.buffers[buffer]) + offsets_[static_cast<std::size_t>(tensor)] * bytes;
  }

  /// Sorts the keys of elements, so that the first k are in order. Returns whether there is a -0 or a NaN.
  bool sort(const StridedElements& elements, Key* keys, Key* other) {
    const std::byte* const contiguous = contiguous_row(elements, other);
    const bool has_lost_bits = function<MakeKeys>(p_.make_keys)(contiguous, keys, elements.count) != 0;
    sort_keys(elements, keys, other, elements.count);
    return has_lost_bits;
  }

  /// Sorts `count` keys, so that the first k are in order.
  void sort_keys(const StridedElements& elements, Key* keys, Key* other, std::int64_t count) {
    if (p_.keys_are_halved == 0) return sorter_.sort(keys, other, count, k_);
    sorter_.sort(keys, other, count, k_, RowSorter<Key>::Rest::kKept);
    sort_by_lower_halves(elements, keys, other, count);
  }

  /// The same, leaving the first k keys of a few at `sorted`, where up to `count` keys are written.
  void sort_keys_to(const StridedElements& elements, Key* keys, Key* other, std::int64_t count, Key* sorted) {
    if (p_.keys_are_halved == 0 && count <= sorter_code_.most_few()) return sorter_.sort_few(keys, sorted, count);
    sort_keys(elements, keys, other, count);
    std::copy_n(keys, k_, sorted);
  }
  /// Writes the indices of `count` keys.
  void write_indices(const Key* keys, Key* other, std::int64_t count) const {
    write(SortTensor::kIndices, p_.write_indices, sizeof(std::int64_t), keys, other, count);
  }
  /// Writes the values of `count` keys, which hold them.
  void write_key_values(const Key* keys, Key* other, std::int64_t count) const {
    write(SortTensor::kValues, p_.write_values, p_.element_bytes, keys, other, count);
  }
  /// Writes the first k sorted elements of a row that keys above indices do not hold.
  void write_lost_values(const StridedElements& elements, const Key* keys) const {
    if (p_.keys_are_halved != 0) return write_indexed(elements, keys, 0, k_);
    for (const std::int64_t element_key : {std::int64_t{0}, p_.magnitude_bits}) {
      const std::int64_t first = (p_.is_descending != 0 ? ~element_key : element_key) << 32;
      const auto begin = std::lower_bound(keys, keys + k_, static_cast<Key>(first));
      const auto end = std::upper_bound(begin, keys + k_, static_cast<Key>(first | 0xffff'ffff));
      write_indexed(elements, keys, begin - keys, end - keys);
    }
  }
  /// Writes the first k sorted elements of a row, if they are wanted.
  void write_values(const StridedElements& elements, Key* keys, Key* other, bool has_special_floats) const {
    if (p_.has_values == 0) return;
    if (p_.keys_are_halved == 0) write_key_values(keys, other, k_);
    if (p_.keys_are_halved != 0 || (has_special_floats && p_.keys_have_index != 0)) {
      write_lost_values(elements, keys);
    } else if (has_special_floats) {
      restore_runs(elements, keys);
    }
  }

  std::uint64_t element(const StridedElements& elements, std::int64_t index) const {
    if (elements.data == nullptr) return loader_.element(index);
    std::uint64_t bits = 0;
    std::memcpy(&bits, elements.data + index * elements.stride * p_.element_bytes,
                static_cast<std::size_t>(p_.element_bytes));
    return bits;
  }
  static std::int64_t index_of(Key key) { return static_cast<std::int64_t>(key) & 0xffff'ffff; }
  std::byte* workgroup_memory() const { return static_cast<std::byte*>(args_.workgroup_memory); }
  RowSorterMemory sorter_memory() const {
    return {workgroup_memory(), workgroup_memory() + RowSorterMemory::kSampleBytes};
  }
  template <class Function>
  Function function(std::int64_t offset) const {
    return reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(code_ + offset));
  }
  RowSorterCode sorter_code(const std::int64_t (&sort_few)[RowSorterCode::kNumFew], std::int64_t partition_less,
                            std::int64_t partition_at_most, std::int64_t num_lanes) const {
    RowSorterCode code;
    for (std::size_t i = 0; i < code.sort_few.size(); ++i) code.sort_few[i] = function<SortFew>(sort_few[i]);
    code.partition_less = function<PartitionKeys>(partition_less);
    code.partition_at_most = function<PartitionKeys>(partition_at_most);
    code.num_lanes = num_lanes;
    return code;
  }

 private:
  /// The elements side by side: where they are, or in `memory`.
  const std::byte* contiguous_row(const StridedElements& elements, Key* memory) const {
    if (elements.data != nullptr && elements.stride == 1) return elements.data;
    if (elements.data == nullptr) {
      loader_.compute(0, elements.count, bytes_of(memory));
    } else {
      copy_strided(elements.data, elements.stride, bytes_of(memory), 1, elements.count, p_.element_bytes);
    }
    return bytes_of(memory);
  }
  static std::byte* bytes_of(Key* keys) { return reinterpret_cast<std::byte*>(keys); }
  std::size_t num_buffers() const {
    return num_inputs() + static_cast<std::size_t>(p_.has_values + p_.has_indices + p_.uses_scratch);
  }
  std::size_t num_inputs() const { return loader_.is_used() ? static_cast<std::size_t>(p_.load.num_operands) : 1; }
  void write(SortTensor tensor, std::int64_t writer, std::int64_t bytes, const Key* keys, Key* other,
             std::int64_t count) const {
    if (stride(tensor) == 1) {
      function<WriteFromKeys>(writer)(keys, place(tensor), count);
      return;
    }
    function<WriteFromKeys>(writer)(keys, other, count);
    copy_strided(bytes_of(other), 1, place(tensor), stride(tensor), count, bytes);
  }

  void write_indexed(const StridedElements& elements, const Key* keys, std::int64_t first, std::int64_t end) const {
    std::byte* const values = place(SortTensor::kValues);
    const std::int64_t to_stride = stride(SortTensor::kValues);
    with_element_size(p_.element_bytes, [&](auto bytes) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::int64_t index = index_of(keys[i]);
        if (elements.data == nullptr) {
          const std::uint64_t bits = loader_.element(index);
          std::memcpy(values + i * to_stride * bytes, &bits, bytes);
        } else {
          std::memcpy(values + i * to_stride * bytes, elements.data + index * elements.stride * bytes, bytes);
        }
      }
    });
  }

  static std::int64_t upper_half(Key key) { return static_cast<std::int64_t>(key) >> 32; }

  /// Sorts runs of equal upper halves by lower halves. Only the first k keys are in order, so the last run may have
  /// keys anywhere behind them.
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
        // The lower half has no sign: inverts its highest bit, which is compared as one.
        std::uint64_t bits = 0;
        if (elements.data == nullptr) {
          bits = loader_.element(index);
        } else {
          std::memcpy(&bits, elements.data + index * elements.stride * std::int64_t{sizeof(bits)}, sizeof(bits));
        }
        const std::uint64_t lower = static_cast<std::uint64_t>(whole_key(bits)) << 32;
        keys[i] = static_cast<Key>((lower ^ std::uint64_t{1} << 63) | static_cast<std::uint64_t>(index));
      }
      sorter_.sort(keys + begin, other, end - begin, k_ - begin);
    }
  }
  /// The signed integer that orders a 64-bit element, as make_keys computes it.
  std::int64_t whole_key(std::uint64_t bits) const {
    auto key = static_cast<std::int64_t>(bits) ^ p_.inverted_bits;
    if (p_.magnitude_bits != 0) {
      const std::int64_t magnitude = key & p_.magnitude_bits;
      key ^= (key >> 63) & p_.magnitude_bits;
      if (magnitude == 0) key = 0;
      if (magnitude > p_.infinity_bits) key = p_.magnitude_bits;
    }
    return p_.is_descending != 0 ? ~key : key;
  }

  /// Sorts values by counting, in the memory of the keys.
  void count(const StridedElements& elements, Key* keys) const {
    CountingSort sort(p_.element_bytes, bytes_of(keys));
    sort.count(elements);
    const std::span<const PatternRun> runs(p_.pattern_runs, static_cast<std::size_t>(p_.num_pattern_runs));
    sort.write(runs, {place(SortTensor::kValues), stride(SortTensor::kValues), k_});
    const bool has_special_floats = std::any_of(runs.begin(), runs.end(), [&](const PatternRun& run) {
      return (is_nan(run.first) || (is_zero(run.first) && run.first != 0)) && sort.has(run);
    });
    if (has_special_floats) restore_runs(elements, keys);
  }

  bool is_zero(std::int64_t bits) const { return p_.magnitude_bits != 0 && (bits & p_.magnitude_bits) == 0; }
  bool is_nan(std::int64_t bits) const { return (bits & p_.magnitude_bits) > p_.infinity_bits; }

  /// Zeros and NaNs are two runs of equal elements among the values, in some order. Gives them that of the row. `keys`
  /// has room for two rows, and is not read.
  void restore_runs(const StridedElements& elements, Key* keys) const {
    Key* const taken = keys + n_;
    const std::byte* const row = contiguous_row(elements, keys);
    const auto take = [&](std::int64_t run) {
      return reinterpret_cast<const Key*>(function<TakeRun>(run)(row, taken, n_)) - taken;
    };
    const std::int64_t num_nans = take(p_.take_nans);
    write_taken(taken, p_.is_descending != 0 ? 0 : n_ - num_nans, num_nans);
    const std::int64_t num_zeros = take(p_.take_zeros);
    if (num_zeros > 0) write_taken(taken, first_zero(num_nans), num_zeros);
  }
  void write_taken(Key* taken, std::int64_t position, std::int64_t count) const {
    const std::int64_t to_stride = stride(SortTensor::kValues);
    copy_strided(bytes_of(taken), p_.key_bytes / p_.element_bytes,
                 place(SortTensor::kValues) + position * to_stride * p_.element_bytes, to_stride,
                 std::min(count, k_ - position), p_.element_bytes);
  }
  /// The position of the first zero among the values, or k.
  std::int64_t first_zero(std::int64_t num_nans) const {
    const std::byte* const values = place(SortTensor::kValues);
    const std::int64_t value_stride = stride(SortTensor::kValues);
    const bool is_ascending = p_.is_descending == 0;
    std::int64_t begin = is_ascending ? 0 : std::min(num_nans, k_);
    std::int64_t count = (is_ascending ? std::min(n_ - num_nans, k_) : k_) - begin;
    with_element_size(p_.element_bytes, [&](auto bytes) {
      // Without branches, which would be unpredictable.
      while (count > 0) {
        const std::int64_t half = count / 2;
        std::uint64_t bits = 0;
        std::memcpy(&bits, values + (begin + half) * value_stride * bytes, bytes);
        const std::uint64_t magnitude = bits & static_cast<std::uint64_t>(p_.magnitude_bits);
        const bool is_negative = magnitude != bits;
        const bool is_before = (magnitude != 0) & (is_negative == is_ascending);
        begin += is_before ? half + 1 : 0;
        count = is_before ? count - half - 1 : half;
      }
    });
    return begin;
  }

  const std::byte* code_;
  const SortRowsParameters& p_;
  const KernelArgs& args_;
  std::int64_t n_, k_;
  RowLoader loader_;
  RowSorterCode sorter_code_;
  RowSorter<Key> sorter_;
  std::array<std::int64_t, kNumSortTensors> offsets_{};
};

}  // namespace millrace
