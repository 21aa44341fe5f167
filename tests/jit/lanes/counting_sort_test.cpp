// SPDX-License-Identifier: Apache-2.0
// Counted rows whose results are so long that they are written past the caches.
#include "hal/host/routines/counting_sort.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "hal/host/routines/stream.h"
#include "tests/jit/guarded_memory.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// About `n` elements in order: of each pattern none, a few, or many.
template <class Element>
std::vector<Element> sorted_elements(std::int64_t n, std::mt19937_64& random) {
  constexpr std::int64_t kPatterns = std::int64_t{std::numeric_limits<Element>::max()} + 1;
  std::vector<Element> elements;
  for (std::int64_t pattern = 0; pattern < kPatterns; ++pattern) {
    const std::uint64_t counts[] = {0, random() % 80, random() % static_cast<std::uint64_t>(3 * n / kPatterns)};
    elements.insert(elements.end(), counts[random() % 3], static_cast<Element>(pattern));
  }
  elements.insert(elements.end(), static_cast<std::size_t>(std::max(std::int64_t{0}, n - std::ssize(elements))),
                  static_cast<Element>(kPatterns - 1));
  return elements;
}

template <class Element>
void check_long_rows() {
  std::mt19937_64 random(11);
  const std::vector<Element> expected = sorted_elements<Element>(kStreamFromBytes / sizeof(Element), random);
  // A step without a common divisor visits all.
  std::vector<Element> shuffled(expected.size());
  for (std::size_t i = 0, from = 0; i < shuffled.size(); ++i, from = (from + 1'000'003) % shuffled.size()) {
    shuffled[i] = expected[from];
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(CountingSort::table_bytes(sizeof(Element))));
  CountingSort sort(sizeof(Element), memory.data(), nullptr);
  const std::int64_t n = std::ssize(expected);
  sort.count({reinterpret_cast<const std::byte*>(shuffled.data()), 1, n});
  const PatternRun all[] = {{0, std::numeric_limits<Element>::max()}};
  // Results that end, and begin, where no vector does.
  for (const std::int64_t wanted : {n, std::int64_t{kStreamFromBytes / sizeof(Element)}}) {
    for (const auto side : {GuardedMemory::Side::kStart, GuardedMemory::Side::kEnd}) {
      CAPTURE(wanted);
      const auto count = static_cast<std::size_t>(wanted);
      const GuardedMemory results(count * sizeof(Element), side);
      sort.write(all, {results.data(), 1, wanted});
      CHECK(std::equal(expected.begin(), expected.begin() + wanted, reinterpret_cast<const Element*>(results.data())));
    }
  }
}

TEST_CASE("long rows of bytes are counted and written in order") { check_long_rows<std::uint8_t>(); }
TEST_CASE("long rows of 16 bits are counted and written in order") { check_long_rows<std::uint16_t>(); }

TEST_CASE("a fill past the caches writes what it should and no more, at any place") {
  constexpr std::size_t kMost = 70;
  for (std::size_t first = 0; first < 20; ++first) {
    for (std::size_t end = first; end <= kMost; ++end) {
      std::vector<std::uint16_t> filled(kMost, 1), expected(kMost, 1);
      stream_fill(filled.data() + first, filled.data() + end, std::uint16_t{0x2345});
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(first),
                expected.begin() + static_cast<std::ptrdiff_t>(end), std::uint16_t{0x2345});
      CHECK(filled == expected);
    }
  }
}

}  // namespace
}  // namespace millrace
