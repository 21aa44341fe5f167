// SPDX-License-Identifier: Apache-2.0
// Finds the index of the minimum or maximum of each row, or part of a row: surveys the chunks, then searches the best
// chunk. Rows that interleave in memory, like the columns of a matrix, are surveyed together.
#include "hal/host/routines/arg_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "hal/host/routines/routine.h"
#include "hal/host/routines/row_pair_walk.h"

namespace millrace {
namespace {

constexpr std::int64_t kMaxElementBytes = 8;
/// A chunk has at most this many elements of one column.
constexpr std::int64_t kVectorsPerChunk = ArgRowsParameters::kVectorsPerChunk, kMaxLanes = 16,
                       kMaxChunkElements = kVectorsPerChunk * kMaxLanes;

class ArgSearch {
 public:
  ArgSearch(const void* code, const ArgRowsParameters& p, const KernelArgs& args)
      : code_(code), p_(p), walk_(args, p.num_other_dims), parts_(walk_.parts()) {}

  void run(std::uint32_t first_group, std::uint32_t end_group) {
    if (p_.num_columns > 1) return find_in_columns(first_group, end_group);
    if (parts_.parts > 1 || p_.has_input_indices != 0 || p_.has_values != 0)
      return find_in_parts(first_group, end_group);
    if (walk_.n() >= p_.chunk_elements && walk_.n() <= p_.max_at_once) return find_interleaved(first_group, end_group);
    for (; first_group < end_group; ++first_group) {
      walk_.find_row(first_group);
      write(walk_.result(sizeof(std::int64_t)), find(walk_.input(p_.element_bytes), walk_.n()));
    }
  }

 private:
  const std::byte* at(const std::byte* row, std::int64_t element) const { return row + element * p_.element_bytes; }

  void survey(const std::byte* row, std::int64_t count, FoundInLanes& found) const {
    const std::int64_t last = count - p_.chunk_elements;
    p_.survey_chunks.at(code_)(row, count, at(row, last), last, &found);
  }
  std::int64_t find_again(const std::byte* row, const FoundInLanes& found) const {
    return p_.find_in_chunks.at(code_)(row, &found);
  }

  /// Surveys each row before it searches the best chunk of the previous row, so that reading hides the latency of the
  /// search.
  void find_interleaved(std::uint32_t first_row, std::uint32_t end_row) {
    struct Surveyed {
      FoundInLanes found;
      const std::byte* row;
      std::byte* result;
    };
    std::array<Surveyed, 2> surveyed;
    const auto finish = [&](std::uint32_t row) {
      const Surveyed& s = surveyed[row % surveyed.size()];
      write(s.result, find_again(s.row, s.found));
    };
    for (std::uint32_t row = first_row; row < end_row; ++row) {
      Surveyed& s = surveyed[row % surveyed.size()];
      walk_.find_row(row);
      s.row = walk_.input(p_.element_bytes);
      s.result = walk_.result(sizeof(std::int64_t));
      survey(s.row, walk_.n(), s.found);
      if (row > first_row) finish(row - 1);
    }
    if (first_row < end_row) finish(end_row - 1);
  }

  /// Handles rows that are divided into parts, and results other than positions.
  void find_in_parts(std::uint32_t first_group, std::uint32_t end_group) {
    const auto bytes = static_cast<std::size_t>(p_.element_bytes);
    const std::size_t indices = p_.has_input_indices != 0 ? 2 : 1;
    for (std::uint32_t group = first_group; group < end_group; ++group) {
      const std::int64_t part = group % parts_.parts, start = parts_.start(part);
      walk_.find_row(group / parts_.parts);
      const std::byte* const row = walk_.input(p_.element_bytes);
      const std::int64_t best = start + find(at(row, start), parts_.size(part));
      write(walk_.result(sizeof(std::int64_t), indices) + part * std::int64_t{sizeof(std::int64_t)}, index_of(best));
      if (p_.has_values == 0) continue;
      std::byte* const values = walk_.result(p_.element_bytes, indices + 1);
      std::memcpy(values + part * p_.element_bytes, at(row, best), bytes);
    }
  }
  /// The index of the element at a position of the row.
  std::int64_t index_of(std::int64_t position) const {
    if (p_.has_input_indices == 0) return position;
    std::int64_t index = 0;
    std::memcpy(&index, walk_.input(sizeof(index), 1) + position * std::int64_t{sizeof(index)}, sizeof(index));
    return index;
  }

  /// Searches a row that is short, or so long that the lanes cannot hold all of its positions.
  std::int64_t find(const std::byte* row, std::int64_t n) const {
    std::int64_t best = find_in_one_pass(row, std::min(n, p_.max_at_once));
    for (std::int64_t start = p_.max_at_once; start < n; start += p_.max_at_once) {
      const std::int64_t count = std::min(n - start, p_.max_at_once);
      best = better_of(row, best, start + find_in_one_pass(at(row, start), count));
    }
    return best;
  }

  std::int64_t find_in_one_pass(const std::byte* row, std::int64_t count) const {
    if (count < p_.chunk_elements) return p_.find_in_few.at(code_)(row, count);
    FoundInLanes found;
    survey(row, count, found);
    return find_again(row, found);
  }

  /// Returns the better of two places in a row whose elements are `step` apart.
  std::int64_t better_of(const std::byte* row, std::int64_t first, std::int64_t second, std::int64_t step = 1) const {
    std::byte both[2 * kMaxElementBytes];
    const auto bytes = static_cast<std::size_t>(p_.element_bytes);
    std::memcpy(both, at(row, first * step), bytes);
    std::memcpy(both + bytes, at(row, second * step), bytes);
    return p_.find_in_few.at(code_)(both, 2) == 0 ? first : second;
  }

  /// The place of the best element in each column.
  using Places = std::array<std::int64_t, ArgRowsParameters::kMaxColumns>;

  void find_in_columns(std::uint32_t first_group, std::uint32_t end_group) {
    const auto bytes = static_cast<std::size_t>(p_.element_bytes);
    for (std::uint32_t group = first_group; group < end_group; ++group) {
      const std::int64_t part = group % parts_.parts, start = parts_.start(part), n = parts_.size(part);
      walk_.find_row(group / parts_.parts);
      const std::byte* const rows = at(walk_.input(p_.element_bytes), start * p_.num_columns);
      Places best{};
      for (std::int64_t done = 0; done < n; done += p_.max_at_once) {
        improve(rows, done, std::min(n - done, p_.max_at_once), best);
      }
      for (std::int64_t column = 0; column < p_.num_columns; ++column) {
        const std::int64_t place = best[static_cast<std::size_t>(column)], result = column * parts_.parts + part;
        write(walk_.result(sizeof(std::int64_t)) + result * std::int64_t{sizeof(std::int64_t)}, start + place);
        if (p_.has_values == 0) continue;
        std::memcpy(walk_.result(p_.element_bytes, 2) + result * p_.element_bytes,
                    at(rows, place * p_.num_columns + column), bytes);
      }
    }
  }

  /// Updates the best places with `count` elements of each row, from place `first` on.
  void improve(const std::byte* rows, std::int64_t first, std::int64_t count, Places& best) const {
    const std::byte* const piece = at(rows, first * p_.num_columns);
    std::array<FoundInLanes, ArgRowsParameters::kMaxColumns> found;
    const std::int64_t last = count - p_.chunk_elements;
    if (last >= 0) {
      p_.survey_columns.at(code_)(piece, count * p_.num_columns, at(piece, last * p_.num_columns), last, found.data());
    }
    for (std::int64_t column = 0; column < p_.num_columns; ++column) {
      const std::byte* const row = at(piece, column);
      const std::int64_t place = last >= 0 ? place_in_column(row, column, found.data()) : find_among(row, 1, count);
      std::int64_t& best_place = best[static_cast<std::size_t>(column)];
      best_place = better_of(at(rows, column), best_place, first + place, p_.num_columns);
    }
  }

  /// The place of the best element in a surveyed column. If several are equal, the first one counts.
  std::int64_t place_in_column(const std::byte* row, std::int64_t column, const FoundInLanes* found) const {
    // Each lane covers every `step`th element of the column.
    const std::int64_t step = p_.chunk_elements / kVectorsPerChunk;
    std::int64_t best_key = std::numeric_limits<std::int64_t>::min(), first = 0;
    for (std::int64_t i = 0; i < step; ++i) {
      const std::int64_t element = i * p_.num_columns + column;
      const FoundInLanes& vector = found[element / p_.num_lanes];
      const std::int64_t key = lane_of(vector, element % p_.num_lanes);
      if (key < best_key) continue;
      const std::int64_t chunk = lane_of(vector, p_.num_lanes + element % p_.num_lanes) + i;
      const std::int64_t place = chunk + step * find_among(at(row, chunk * p_.num_columns), step, kVectorsPerChunk);
      first = key > best_key ? place : std::min(first, place);
      best_key = key;
    }
    return first;
  }
  /// Lane `number` of one array: first the lanes of keys, then those of places.
  std::int64_t lane_of(const FoundInLanes& vector, std::int64_t number) const {
    if (p_.element_bytes < kMaxElementBytes) return lane_as<std::int32_t>(vector, number);
    return lane_as<std::int64_t>(vector, number);
  }
  template <class Lane>
  static Lane lane_as(const FoundInLanes& vector, std::int64_t number) {
    Lane lane;
    std::memcpy(&lane, vector.keys_and_places + number * std::int64_t{sizeof(Lane)}, sizeof(Lane));
    return lane;
  }

  /// Compares `count` elements of a column that are `step` places apart. Returns the index of the best.
  std::int64_t find_among(const std::byte* row, std::int64_t step, std::int64_t count) const {
    std::array<std::byte, kMaxChunkElements * kMaxElementBytes> copies;
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(copies.data() + i * p_.element_bytes, at(row, i * step * p_.num_columns),
                  static_cast<std::size_t>(p_.element_bytes));
    }
    return p_.find_in_few.at(code_)(copies.data(), count);
  }

  static void write(std::byte* result, std::int64_t index) { std::memcpy(result, &index, sizeof(index)); }

  const void* code_;
  const ArgRowsParameters& p_;
  RowPairWalk walk_;
  RowParts parts_;
};

}  // namespace

void arg_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
              std::uint32_t first_group, std::uint32_t end_group) {
  ArgSearch(code, parameters_of<ArgRowsParameters>(parameters), *args).run(first_group, end_group);
}

}  // namespace millrace
