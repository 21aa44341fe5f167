// SPDX-License-Identifier: Apache-2.0
// The bytes that the steps of a schedule read and write, against counts by hand.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/target.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

struct Moved {
  std::int64_t read = 0, written = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};

std::ostream& operator<<(std::ostream& out, const Moved& moved) {
  return out << moved.read << " read, " << moved.written << " written";
}

/// What each step moves, in the graph's order.
std::vector<Moved> moved_by(const std::string& target, const std::string& inputs, const std::string& nodes,
                            const SymbolValues& symbols = {}) {
  const Graph graph = parse_graph("graph g(" + inputs + ") {\n" + nodes + "\n}\n").value();
  const auto context = make_default_context({.cache_directory = ""});
  const LoweredGraph lowered = lower_graph(graph, context->target(target).value()).value();
  std::vector<Moved> moved(lowered.schedule.steps.size());
  for (const Step& step : lowered.schedule.steps) {
    moved[step.number] = {step.bytes_read.evaluate(symbols).value(), step.bytes_written.evaluate(symbols).value()};
  }
  return moved;
}

using Steps = std::vector<Moved>;

TEST_CASE("a scan reads its operand once and writes its result once; in parts, it reads it twice") {
  CHECK(moved_by("cpu:avx2", "%x: f32[64x1000]", "%y = cumulative_sum(%x) return y = %y") == Steps{{256'000, 256'000}});
  // 16 parts of 2^18 elements: their totals, then the parts with the totals before them.
  CHECK(moved_by("cpu:avx2", "%x: f32[1x4194304]", "%y = cumulative_sum(%x) return y = %y") ==
        Steps{{16'777'216, 64}, {16'777'216 + 64, 16'777'216}});
  // 512 pieces: their totals, the scan of these, and the pieces with where they start.
  CHECK(moved_by("amdgpu:gfx1100", "%x: f32[1x4194304]", "%y = cumulative_sum(%x) return y = %y") ==
        Steps{{16'777'216, 2048}, {2048, 2048}, {16'777'216 + 2048, 16'777'216}});
}

TEST_CASE("a buffer that is read and written counts for both") {
  // A pass counts the digits of 1024 blocks, scans the 256 * 1024 counts in place, writes 256 totals, and moves
  // elements.
  const Steps steps = moved_by("amdgpu:gfx1100", "%x: u8[1x4194304]", "%y, %i = sort(%x) return y = %y");
  REQUIRE(steps.size() == 3);
  constexpr std::int64_t kElements = 4'194'304, kCounts = 1024 * 256 * 4, kTotals = 256 * 4;
  CHECK(steps[0] == Moved{kElements, kCounts});
  CHECK(steps[1] == Moved{kCounts, kCounts + kTotals});
  CHECK(steps[2] == Moved{kElements + kCounts + kTotals, kElements});
}

TEST_CASE("a merge reads the results of the parts, and looks up only the values of its results") {
  // 64 parts keep 50 words of 8 bytes each.
  CHECK(moved_by("amdgpu:gfx1100", "%x: f32[1x4194304]", "%y, %i = topk(%x) {k = 50} return y = %y, i = %i") ==
        Steps{{16'777'216, 64 * 50 * 8}, {64 * 50 * 8 + 50 * 4, 50 * 4 + 50 * 8}});
}

TEST_CASE("a sort of long rows reads a sample, then each element twice, and writes it twice") {
  const Steps steps = moved_by("cpu:avx2", "%x: f32[1x4194304]", "%y, %i = sort(%x) return y = %y, i = %i");
  REQUIRE(steps.size() == 3);
  // Keys with an index have 8 bytes: 32 chunks, and buckets of 48 Ki keys, so 86.
  constexpr std::int64_t kElements = 4 * 4'194'304, kKeys = 8 * 4'194'304, kCuts = 2 * 512 * 8,
                         kStarts = 32 * (86 + 2) * 4;
  CHECK(steps[0] == Moved{86 * 32 * 4, kCuts});
  CHECK(steps[1] == Moved{kElements + kCuts, kKeys + kStarts});
  CHECK(steps[2] == Moved{kKeys + kCuts + kStarts, kElements + 2 * kElements});  // f32 values and i64 indices
}

TEST_CASE("a gather reads the rows that it picks, but no more bytes than the table has") {
  const std::string gather = "%y = gather(%t, %i) {axis = 0} return y = %y";
  CHECK(moved_by("cpu:avx2", "%t: f32[1000x4], %i: i64[3]", gather) == Steps{{3 * 16 + 3 * 8, 3 * 16}});
  CHECK(moved_by("cpu:avx2", "%t: f32[10x4], %i: i64[5000]", gather) == Steps{{10 * 16 + 5000 * 8, 5000 * 16}});
  CHECK(moved_by("cpu:avx2", "%t: f32[v, 4], %i: i64[n]", gather, {{"v", 1000}, {"n", 3}}) ==
        Steps{{3 * 16 + 3 * 8, 3 * 16}});
}

TEST_CASE("a scatter reads back the elements that it combines") {
  const std::string inputs = "%x: f32[100x8], %i: i64[3], %u: f32[3x8]";
  CHECK(moved_by("cpu:avx2", inputs, "%y = scatter(%x, %i, %u) {axis = 0} return y = %y") ==
        Steps{{3200 + 24 + 96, 3200}});
  CHECK(moved_by("cpu:avx2", inputs, "%y = scatter_add(%x, %i, %u) {axis = 0} return y = %y") ==
        Steps{{3200 + 24 + 96 + 96, 3200}});
}

TEST_CASE("a part of an operand counts as that part, and a copy on both sides") {
  CHECK(moved_by("cpu:avx2", "%x: f32[1000]",
                 "%s = slice(%x) {start = [100], stop = [200], step = [1]} %y = neg(%s) return y = %y, z = %y") ==
        Steps{{400, 400}, {400, 400}});
}

}  // namespace
}  // namespace millrace
