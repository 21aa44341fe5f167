// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/prefetch.h"
#include "hal/host/routines/sort/sort_walk.h"
#include "hal/host/routines/topk/coarse_order.h"

namespace millrace {

/// Finds and sorts the first k elements of short rows. Each step runs for several rows before the next step, so that
/// one row's work hides another's latency. Where possible, the elements found in these rows are processed together.
template <class Key>
class ShortTopk {
 public:
  struct Memory {
    typename ShortSelector<Key>::Memory selector;
    Key* numbers;                 // kMaxFound
    std::byte* elements;          // kMaxFound elements of 8 bytes, like `keys` and `sorted`
    std::int64_t *keys, *sorted;  // `keys`: of all elements found, row by row; `sorted`: the first k of each row
    std::byte* computed;          // the current rows, if they are computed
  };
  static constexpr std::int64_t kMaxFound = 2 * ShortSelector<Key>::kMaxNumbers;

  ShortTopk(const void* code, const TopkRowsParameters& p, SortWalk<std::int64_t>& walk, const Memory& memory)
      : p_(p),
        walk_(walk),
        order_(p),
        make_keys_(p.make_numbered_keys.at(code)),
        memory_(memory),
        selector_(code, p.selector, p.sorter, memory.selector, walk.n(), walk.k()) {}

  void run(std::int64_t first_row, std::int64_t end_row) {
    place_next_rows(first_row, end_row);
    while (first_row < end_row) {
      num_rows_ = num_next_rows_;
      next_ = 1 - next_;
      next_row_ = first_row + num_rows_;
      place_next_rows(next_row_, end_row);
      bound_rows(first_row);
      for (std::int64_t done = 0; done < num_rows_;) {
        const std::int64_t end = find_rows(done);
        sort_rows(done, end);
        write_rows(done, end);
        done = end;
      }
      first_row += num_rows_;
    }
  }

 private:
  static constexpr std::int64_t kRowsAtOnce = ShortSelector<Key>::kRowsAtOnce;
  using Place = SortWalk<std::int64_t>::Place;

  const Place& place_of(std::int64_t row) const { return rows_[1 - next_].places[static_cast<std::size_t>(row)]; }
  std::int64_t& count_of(std::int64_t row) { return counts_[static_cast<std::size_t>(row)]; }
  std::int64_t* sorted_of(std::int64_t row) const { return memory_.sorted + row * walk_.k(); }
  const std::byte* input(std::int64_t row) const { return rows_[1 - next_].inputs[static_cast<std::size_t>(row)]; }
  std::byte* computed(std::int64_t row) const {
    return memory_.computed + row * TopkRowsMemory::short_row_bytes(walk_.n(), p_.sort.element_bytes);
  }
  StridedElements elements_of(std::int64_t row) const { return {input(row), 1, walk_.n()}; }

  void place_next_rows(std::int64_t first_row, std::int64_t end_row) {
    num_next_rows_ = std::min<std::int64_t>(end_row - first_row, kRowsAtOnce);
    for (std::int64_t row = 0; row < num_next_rows_; ++row) {
      const auto i = static_cast<std::size_t>(row);
      // Write the offsets in place: copying them by vector loads would wait for the scalar stores.
      Place& place = rows_[next_].places[i];
      walk_.find_place(first_row + row, place);
      rows_[next_].inputs[i] = walk_.loader().is_used() ? computed(row) : walk_.place(SortTensor::kInput, place);
    }
  }

  void bound_rows(std::int64_t first_row) {
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      if (walk_.loader().is_used()) {
        walk_.loader().select_row(first_row + row);
        walk_.loader().compute(0, walk_.n(), computed(row));
      }
      prefetch(row, Step::kFindMinima);
      selector_.find_minima(row, input(row));
    }
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      prefetch(row, Step::kSortMinima);
      selector_.sort_minima(row);
    }
  }

  /// The steps of the current rows. Each step prefetches only a part of the next rows, because the hardware can have
  /// only a few cache lines in flight.
  enum class Step : std::uint8_t { kFindMinima, kSortMinima, kFind, kSort, kEnd };
  void prefetch(std::int64_t row, Step step) {
    if (row >= num_next_rows_) return;
    if (walk_.loader().is_used()) {
      if (step != Step::kFind) return;
      walk_.loader().select_row(next_row_ + row);
      return walk_.loader().prefetch(walk_.n());
    }
    const std::byte* const elements = rows_[next_].inputs[static_cast<std::size_t>(row)];
    constexpr auto kNumSteps = static_cast<std::int64_t>(Step::kEnd);
    const std::int64_t lines = (walk_.n() * p_.sort.element_bytes + kCacheLineBytes - 1) / kCacheLineBytes;
    const auto start_of = [&](Step at) { return lines * static_cast<std::int64_t>(at) / kNumSteps; };
    const std::int64_t start = start_of(step), end = start_of(static_cast<Step>(static_cast<int>(step) + 1));
    prefetch_to_read(elements + start * kCacheLineBytes, (end - start) * kCacheLineBytes);
  }

  /// Finds the elements of rows from `first` on, as long as there is room, and makes their keys. Returns the end of
  /// these rows.
  std::int64_t find_rows(std::int64_t first) {
    std::int64_t num_found = 0, row = first;
    for (; row < num_rows_ && num_found + ShortSelector<Key>::kMaxNumbers <= kMaxFound; ++row) {
      Key* const numbers = memory_.numbers + num_found;
      const std::byte* const elements = input(row);
      count_of(row) = selector_.find(elements, order_.run_of(selector_.bound_of(row)), numbers);
      prefetch(row, Step::kFind);
      const std::int64_t bytes = p_.sort.element_bytes;
      RowReader(elements, bytes).copy(numbers, count_of(row), memory_.elements + num_found * bytes);
      num_found += count_of(row);
    }
    has_special_floats_ = make_keys_(memory_.elements, memory_.numbers, memory_.keys, num_found) != 0;
    return row;
  }

  /// Writes the first k keys of each row after those of the previous row.
  void sort_rows(std::int64_t first, std::int64_t end) {
    auto* const other = reinterpret_cast<std::int64_t*>(memory_.elements);
    std::int64_t* keys = memory_.keys;
    for (std::int64_t row = first; row < end; keys += count_of(row), ++row) {
      prefetch(row, Step::kSort);
      walk_.sort_keys_to(elements_of(row), keys, other, count_of(row), sorted_of(row));
    }
  }

  void write_rows(std::int64_t first, std::int64_t end) {
    const bool has_values = p_.sort.has_values != 0, has_indices = p_.sort.has_indices != 0;
    const bool are_truncated = p_.sort.keys_are_truncated != 0;
    for (std::int64_t row = first, next = first; row < end; row = next) {
      // Rows whose results are adjacent are written together.
      do ++next;
      while (next < end && !walk_.renumbers() && follows(SortTensor::kValues, next) &&
             follows(SortTensor::kIndices, next));
      walk_.select_row(place_of(row));
      const std::int64_t count = (next - row) * walk_.k();
      if (has_indices) walk_.write_indices(sorted_of(row), count);
      if (has_values && !are_truncated) walk_.write_key_values(sorted_of(row), count);
    }
    for (std::int64_t row = first; has_values && (are_truncated || has_special_floats_) && row < end; ++row) {
      walk_.select_row(place_of(row));
      walk_.write_lost_values(elements_of(row), sorted_of(row));
    }
  }
  bool follows(SortTensor tensor, std::int64_t row) const {
    const auto index = static_cast<std::size_t>(tensor);
    return place_of(row)[index] - place_of(row - 1)[index] == walk_.k() * walk_.stride(tensor);
  }

  const TopkRowsParameters& p_;
  SortWalk<std::int64_t>& walk_;
  CoarseOrder<Key> order_;
  MakeNumberedKeys make_keys_;
  Memory memory_;
  ShortSelector<Key> selector_;
  struct Rows {
    std::array<Place, kRowsAtOnce> places{};
    std::array<const std::byte*, kRowsAtOnce> inputs{};
  };
  std::int64_t num_rows_ = 0;
  std::int64_t next_row_ = 0, num_next_rows_ = 0;
  std::array<Rows, 2> rows_{};                      // the current rows and the next ones
  std::size_t next_ = 0;                            // the index of the next rows
  std::array<std::int64_t, kRowsAtOnce> counts_{};  // the number of elements found in each row
  bool has_special_floats_ = false;
};

}  // namespace millrace
