// SPDX-License-Identifier: Apache-2.0
// Sets of bytes given as ranges and rows, against one bit per byte.
#include "graph/stream/written_bytes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/byte_set.h"
#include "tests/support/byte_bits.h"

namespace millrace {
namespace {

/// Ranges and columns of 64 units.
class RandomRanges {
 public:
  RandomRanges(std::uint64_t seed, SizeExpr unit) : random_(seed), unit_(std::move(unit)) {}

  ByteRange next() {
    if (pick(0, 2) == 0) {
      const std::int64_t begin = pick(0, 63);
      return {unit_ * begin, unit_ * pick(0, 64 - begin)};
    }
    // Rows of one level or two.
    std::vector<std::int64_t> pitches = {4 * pick(1, 4)};
    if (pick(0, 1) == 0) pitches = {8 * pick(1, 4), std::array{2, 4, 8}[static_cast<std::size_t>(pick(0, 2))]};
    ByteRange range;
    std::int64_t around = 64, length = 0;
    std::vector<std::int64_t> steps;  // from the first row of a level to its last
    for (const std::int64_t pitch : pitches) {
      const std::int64_t num_rows = pick(1, around / pitch), first = pick(0, around / pitch - num_rows);
      range.offset_bytes = range.offset_bytes + unit_ * (first * pitch);
      steps.push_back((num_rows - 1) * pitch);
      around = pitch;
    }
    const std::int64_t column = pick(0, around - 1);
    range.offset_bytes = range.offset_bytes + unit_ * column;
    length = pick(1, around - column);
    for (std::size_t level = pitches.size(); level-- > 0;) {
      range.rows.insert(range.rows.begin(), {unit_ * pitches[level], unit_ * length});
      length += steps[level];
    }
    range.length_bytes = unit_ * length;
    return range;
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
  SizeExpr unit_;
};

TEST_CASE("bytes that are reported as written are, and a set never misses a byte that it has") {
  int contained = 0, apart = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const SymbolValues symbols = {{"n", 1}};
    RandomRanges random(seed, seed % 2 == 0 ? SizeExpr(1) : SizeExpr(Dim("n").at_least(1)));
    WrittenBytes written;
    ByteSet set;
    std::uint64_t bits = 0;
    for (std::int64_t count = random.pick(1, 12); count > 0; --count) {
      const ByteRange range = random.next();
      written.add(range);
      set.add(range);
      bits |= test::bits_of(range, symbols);
      if (!range.length_bytes.is(0)) REQUIRE(written.contains(range));
      for (int i = 0; i < 4; ++i) {
        const ByteRange asked = random.next();
        const std::uint64_t wanted = test::bits_of(asked, symbols);
        if (written.contains(asked)) {
          ++contained;
          REQUIRE((wanted & ~bits) == 0);
        }
        if (!set.may_overlap(asked)) {
          ++apart;
          REQUIRE((wanted & bits) == 0);
        }
      }
    }
  }
  CHECK(contained > 3000);
  CHECK(apart > 1000);
}

TEST_CASE("columns that fill their rows are a range, in any order") {
  for (const SizeExpr& rows : {SizeExpr(7), SizeExpr(Dim("n").at_least(1))}) {
    std::vector<std::int64_t> columns = {0, 3, 4, 9, 15};
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
      std::ranges::shuffle(columns, random);
      WrittenBytes written;
      for (const std::int64_t first : columns) {
        CHECK_FALSE(written.contains({0, rows * 16}));
        const std::int64_t end = first == 0 ? 3 : first == 3 ? 4 : first == 4 ? 9 : first == 9 ? 15 : 16;
        const ByteRange column{first, (rows - 1) * 16 + (end - first), {{16, end - first}}};
        written.add(column);
        CHECK(written.contains(column));
      }
      CHECK(written.contains({0, rows * 16}));
      CHECK(written.contains({3, rows * 16 - 3}));
    }
  }
}

TEST_CASE("nothing is lost if it is not known which range ends last") {
  const SizeExpr n = Dim("n").at_least(1).at_most(63), w = Dim("w").at_least(1).at_most(64);
  const SizeExpr rows = SizeExpr(100) - n, row = w * 4, pitch = w * 8;
  const ByteRange left{0, (rows - 1) * pitch + row, {{pitch, row}}},
      right{row, (rows - 1) * pitch + row, {{pitch, row}}};
  const std::vector<ByteRange> ranges = {left, right, {0, row}, {0, rows * pitch}, {rows * pitch, 100}, {row, n * 4}};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<ByteRange> order = ranges;
    std::ranges::shuffle(order, random);
    WrittenBytes written;
    for (std::size_t i = 0; i < order.size(); ++i) {
      written.add(order[i]);
      for (std::size_t k = 0; k <= i; ++k) CHECK(written.contains(order[k]));
    }
  }
  WrittenBytes written;
  written.add(left);
  written.add(right);
  CHECK(written.contains({0, rows * pitch}));
}

TEST_CASE("a value padded along two axes and its borders are one range, in any order") {
  const SizeExpr n = Dim("n").at_least(1), h = Dim("h").at_least(1);
  for (const auto& [count, height] : {std::pair<SizeExpr, SizeExpr>{3, 5}, {n, h}}) {
    // [count, height, 7] in [count, height + 3, 12]
    const SizeExpr image = (height + 3) * 12, rows = (height - 1) * 12;
    const auto columns = [&](std::int64_t first, std::int64_t end) {
      const SizeExpr in_image = rows + (end - first);
      return ByteRange{first + 24, (count - 1) * image + in_image, {{image, in_image}, {12, end - first}}};
    };
    const auto lines = [&](const SizeExpr& first, const SizeExpr& num_lines) {
      return ByteRange{first * 12, (count - 1) * image + num_lines * 12, {{image, num_lines * 12}}};
    };
    std::vector<ByteRange> parts = {columns(1, 8), columns(0, 1), columns(8, 12), lines(0, 2), lines(height + 2, 1)};
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    do {
      WrittenBytes written;
      for (const std::size_t i : order) {
        CHECK_FALSE(written.contains({0, count * image}));
        written.add(parts[i]);
        CHECK(written.contains(parts[i]));
      }
      CHECK(written.contains({0, count * image}));
    } while (std::ranges::next_permutation(order).found);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        CHECK(have_disjoint_columns(parts[i], parts[j]));
        CHECK(have_disjoint_columns(parts[j], parts[i]));
      }
    }
  }
}

}  // namespace
}  // namespace millrace
