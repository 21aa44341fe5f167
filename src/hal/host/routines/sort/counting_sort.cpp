// SPDX-License-Identifier: Apache-2.0
// Sorts rows of 8-bit and 16-bit elements by counting their values.
#include "hal/host/routines/sort/counting_sort.h"

#include <algorithm>
#include <cstring>

namespace millrace {
namespace {

template <class Element>
Element read(const std::byte* from) {
  Element element;
  std::memcpy(&element, from, sizeof(element));
  return element;
}

}  // namespace

bool CountingSort::takes(std::int64_t element_bytes, std::int64_t n) {
  return element_bytes <= 2 && n >= min_elements(element_bytes) && n <= kMaxElements;
}

void CountingSort::count(const StridedElements& elements) {
  // The memory has room for twice a row's keys.
  constexpr std::int64_t kKeyBytes = 2 * sizeof(std::int32_t);
  static_assert(table_bytes(1) <= kKeyBytes * min_elements(1) && table_bytes(2) <= kKeyBytes * min_elements(2));
  static_assert(table_bytes(1) + ByteCounter::kMemoryBytes <= kKeyBytes * ByteCounter::kMinBytes);
  element_bytes_ == 1 ? count_bytes(elements) : count_as<std::uint16_t>(elements);
}

void CountingSort::count_bytes(const StridedElements& elements) {
  if (code_ == nullptr || elements.stride != 1 || elements.count < ByteCounter::kMinBytes) {
    return count_as<std::uint8_t>(elements);
  }
  constexpr std::size_t kNumPatterns = num_patterns(1);
  ByteCounter counter(entry_, *code_, reinterpret_cast<std::byte*>(tables_) + table_bytes(1));
  counter.count({elements.data, static_cast<std::size_t>(elements.count)},
                std::span<std::uint32_t, kNumPatterns>(tables_, kNumPatterns));
}

void CountingSort::join_truths() {
  for (std::int64_t pattern = 2; pattern < num_patterns(1); ++pattern) {
    tables_[1] += tables_[pattern];
    tables_[pattern] = 0;
  }
}

void CountingSort::write(std::span<const PatternRun> runs, const StridedResults& results) const {
  element_bytes_ == 1 ? write_as<std::uint8_t>(runs, results) : write_as<std::uint16_t>(runs, results);
}

bool CountingSort::has(const PatternRun& run) const {
  const auto [first, last] = std::minmax(run.first, run.last);
  return std::any_of(tables_ + first, tables_ + last + 1, [](std::uint32_t count) { return count != 0; });
}

template <class Element>
void CountingSort::count_as(const StridedElements& elements) {
  constexpr std::int64_t kSize = num_patterns(sizeof(Element)), kTables = num_tables(sizeof(Element));
  std::memset(tables_, 0, static_cast<std::size_t>(table_bytes(sizeof(Element))));
  std::int64_t i = 0;
  if (elements.stride == 1) {
    // The speed is limited to about one store per cycle. The waiting stores fill the processor's out-of-order window,
    // so it hardly loads ahead: without prefetches, a row from memory takes twice as long.
    constexpr std::int64_t kPerWord = sizeof(std::uint64_t) / sizeof(Element), kPerLine = 8 * kPerWord;
    constexpr std::int64_t kAhead = 2048 / sizeof(Element);
    for (; i + kPerLine <= elements.count; i += kPerLine) {
      const auto place = [&](std::int64_t at) { return elements.data + at * std::int64_t{sizeof(Element)}; };
      __builtin_prefetch(place(std::min(i + kAhead, elements.count)));
      for (std::int64_t from = i; from < i + kPerLine; from += kPerWord) {
        auto word = read<std::uint64_t>(place(from));
        for (std::int64_t j = 0; j < kPerWord; ++j, word >>= 8 * sizeof(Element)) {
          ++tables_[j % kTables * kSize + static_cast<Element>(word)];
        }
      }
    }
  }
  for (; i < elements.count; ++i) {
    ++tables_[i % kTables * kSize + read<Element>(elements.data + i * elements.stride * std::int64_t{sizeof(Element)})];
  }
  for (std::int64_t pattern = 0; pattern < kSize; ++pattern) {
    for (std::int64_t table = 1; table < kTables; ++table) tables_[pattern] += tables_[table * kSize + pattern];
  }
}

template <class Element>
void CountingSort::write_as(std::span<const PatternRun> runs, const StridedResults& results) const {
  std::int64_t position = 0;
  for (const PatternRun& run : runs) {
    const std::int64_t step = run.first <= run.last ? 1 : -1;
    for (std::int64_t pattern = run.first; pattern != run.last + step; pattern += step) {
      const std::int64_t count = tables_[pattern];
      if (count == 0) continue;
      write_equals(static_cast<Element>(pattern), position, count, results);
      position += count;
    }
  }
}

template <class Element>
void CountingSort::write_equals(Element element, std::int64_t position, std::int64_t count,
                                const StridedResults& results) {
  const std::int64_t end = std::min(position + count, results.count);
  if (results.stride != 1) {
    for (std::int64_t i = position; i < end; ++i) {
      std::memcpy(results.data + i * results.stride * std::int64_t{sizeof(Element)}, &element, sizeof(element));
    }
    return;
  }
  // Always write a whole block, even if fewer elements are needed: later elements overwrite the rest. A loop with the
  // exact count would be mispredicted.
  constexpr std::int64_t kBlock = 64 / sizeof(Element);
  auto* const to = reinterpret_cast<Element*>(results.data);
  if (position + kBlock <= results.count) {
    std::fill_n(to + position, kBlock, element);
    position += kBlock;
  }
  if (position < end) std::fill(to + position, to + end, element);
}

}  // namespace millrace
