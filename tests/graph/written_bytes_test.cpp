// SPDX-License-Identifier: Apache-2.0
// Sets of bytes that are known from ranges and rows, against bits, one per byte.
#include "graph/stream/written_bytes.h"

#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include "base/byte_set.h"

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
    const std::int64_t pitch = 4 * pick(1, 4), num_rows = pick(1, 64 / pitch);
    const std::int64_t first_row = pick(0, 64 / pitch - num_rows), column = pick(0, pitch - 1);
    const std::int64_t row = pick(1, pitch - column);
    return {unit_ * (first_row * pitch + column), unit_ * ((num_rows - 1) * pitch + row), unit_ * pitch, unit_ * row};
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
  SizeExpr unit_;
};

std::uint64_t bits_of(const ByteRange& range, const SymbolValues& symbols) {
  const auto value = [&](const SizeExpr& size) { return size.evaluate(symbols).value(); };
  const std::int64_t pitch = value(range.pitch_bytes), begin = value(range.offset_bytes);
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < value(range.length_bytes); ++i) {
    if (pitch == 0 || i % pitch < value(range.row_bytes)) bits |= std::uint64_t{1} << (begin + i);
  }
  return bits;
}

TEST_CASE("what is surely written is, and a set never misses a byte that it has") {
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
      bits |= bits_of(range, symbols);
      for (int i = 0; i < 4; ++i) {
        const ByteRange asked = random.next();
        const std::uint64_t wanted = bits_of(asked, symbols);
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
        const ByteRange column{first, (rows - 1) * 16 + (end - first), 16, end - first};
        written.add(column);
        CHECK(written.contains(column));
      }
      CHECK(written.contains({0, rows * 16}));
      CHECK(written.contains({3, rows * 16 - 3}));
    }
  }
}

}  // namespace
}  // namespace millrace
