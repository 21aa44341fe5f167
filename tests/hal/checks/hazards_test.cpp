// SPDX-License-Identifier: Apache-2.0
#include "hal/checks/hazards.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "hal/checks/access.h"
#include "tests/hal/list_builder.h"

namespace millrace {
namespace {

const KernelInfo kScale{.name = "scale", .num_buffers = 2, .num_sizes = 0, .buffer_is_written = {false, true}};

struct Fixture : ListBuilder {
  BindingIndex x = input("x", 64);
  BindingIndex y = output("y", 64);
  KernelIndex scale = kernel(kScale);

  std::string message() const { return validate(list).message(); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a write after a write needs a barrier") {
  fill(range(y, 0, 32), 0, 1);
  fill(range(y, 31, 8), 0, 1);
  CHECK(message() ==
        "command 1 (fill) destination: writes output 'y' at [31, 39), which command 0 (fill) destination writes at "
        "[0, 32); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "a read after a write needs a barrier") {
  const BindingIndex z = output("z", 64);
  fill(range(y, 0, 64), 0, 1);
  dispatch(scale, 1, {range(y, 0, 64), range(z, 0, 64)});
  CHECK(message() ==
        "command 1 (dispatch 'scale') buffer 0: reads output 'y' at [0, 64), which command 0 (fill) destination writes "
        "at [0, 64); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "a write after a read needs a barrier") {
  const BindingIndex z = output("z", 64);
  copy(range(y, 0, 16), range(z, 0, 16));
  fill(range(y, 0, 16), 1, 1);
  CHECK(message() ==
        "command 1 (fill) destination: writes output 'y' at [0, 16), which command 0 (copy) source reads at [0, 16); "
        "put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "a barrier between two commands makes any pair valid") {
  const BindingIndex z = output("z", 64);
  fill(range(y, 0, 64), 0, 1);
  barrier();
  fill(range(y, 0, 64), 1, 1);
  barrier();
  dispatch(scale, 1, {range(y, 0, 64), range(z, 0, 64)});
  barrier();
  copy(range(z, 0, 64), range(y, 0, 64));
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "a barrier orders what is before it, not what is after it") {
  fill(range(y, 0, 64), 0, 1);
  barrier();
  fill(range(y, 0, 8), 1, 1);
  fill(range(y, 0, 8), 2, 1);
  CHECK(message() ==
        "command 3 (fill) destination: writes output 'y' at [0, 8), which command 2 (fill) destination writes at "
        "[0, 8); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "reads of one range need no barrier") {
  const BindingIndex z = output("z", 64);
  dispatch(scale, 1, {range(x, 0, 64), range(y, 0, 64)});
  dispatch(scale, 1, {range(x, 0, 64), range(z, 0, 64)});
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "constant ranges are compared to the byte") {
  fill(range(y, 0, 32), 0, 1);
  fill(range(y, 32, 32), 0, 1);
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "an empty range touches nothing") {
  fill(range(y, 0, 32), 0, 1);
  fill(range(y, 16, 0), 0, 1);
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "one dispatch may read and write the same bytes: its kernel is responsible for that") {
  dispatch(scale, 1, {range(y, 0, 64), range(y, 0, 64)});
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "dispatches that touch different bytes of one buffer need no barrier") {
  const auto touch = [&](std::int64_t offset, std::int64_t length) {
    dispatch(scale, 1, {range(x, 0, 64), range(y, 0, 64)});
    std::get<DispatchCommand>(list.commands.back()).touched = {range(x, 0, 64), range(y, offset, length)};
  };
  touch(0, 32);
  touch(32, 32);
  CHECK(message() == "");
  touch(31, 1);
  CHECK(message() ==
        "command 2 (dispatch 'scale') buffer 1: writes output 'y' at [31, 32), which command 0 (dispatch 'scale') "
        "buffer 1 writes at [0, 32); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "symbolic ranges that every binding keeps apart need no barrier") {
  const SizeExpr n = Dim("n").at_least(0);
  const BindingIndex z = output("z", n * 8 + 16);
  fill(range(z, 0, n * 4), 0, 4);
  fill(range(z, n * 4, n * 4), 0, 4);
  fill(range(z, n * 8, 16), 0, 4);
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "parts of ranges that every binding keeps apart need no barrier") {
  const SizeExpr n = Dim("n").at_least(1).at_most(64);
  const SizeExpr slot = 64 * floor_div(n + 3, 4);  // at least 16 n, which bounds do not show
  const BindingIndex slab = binding("slab", BindingKind::kTransient, 2 * slot);
  const auto touch = [&](const SizeExpr& length) {
    dispatch(scale, 1, {range(slab, 0, slot), range(slab, slot, slot)});
    std::get<DispatchCommand>(list.commands.back()).touched = {range(slab, 8, length), range(slab, slot, n)};
  };
  touch(16 * n - 8);
  fill(range(slab, 0, 8), 0, 4);
  CHECK(message() == "");
  list.commands.clear();
  dispatch(scale, 1, {range(x, 0, 64), range(slab, 0, 2 * slot)});
  std::get<DispatchCommand>(list.commands.back()).touched = {range(x, 0, 64), range(slab, slot, n)};
  touch(16 * n - 8);
  CHECK(message().find("; put a barrier between them") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "symbolic ranges that may meet need a barrier") {
  const SizeExpr n = Dim("n");
  const SizeExpr m = Dim("m");
  const BindingIndex z = output("z", n * 4 + m * 4);
  fill(range(z, 0, n * 4), 0, 4);
  fill(range(z, m * 4, n * 4), 0, 4);
  CHECK(message() ==
        "command 1 (fill) destination: writes output 'z' at [4*m, 4*m + 4*n), which command 0 (fill) destination "
        "writes at [0, 4*n); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "facts of the symbols keep ranges apart") {
  const SizeExpr n = Dim("n").at_most(8);
  fill(range(y, 0, n * 4), 0, 4);
  fill(range(y, 32, 32), 0, 4);
  CHECK(validate(list).ok());
  fill(range(y, 28, 4), 0, 4);
  CHECK(message() ==
        "command 2 (fill) destination: writes output 'y' at [28, 32), which command 0 (fill) destination writes at "
        "[0, 4*n); put a barrier between them");
}

TEST_CASE_FIXTURE(Fixture, "each pair of conflicting commands has its line") {
  fill(range(y, 0, 8), 0, 1);
  fill(range(y, 0, 8), 0, 1);
  fill(range(y, 0, 8), 0, 1);
  const std::string text = message();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

namespace {

/// The pairs of commands where one writes bytes that the other may touch, found by comparing each command with all
/// before it.
std::size_t count_hazards(const CommandList& list) {
  std::size_t count = 0;
  for (std::size_t later = 0; later < list.commands.size(); ++later) {
    for (std::size_t earlier = later; earlier-- > 0;) {
      if (std::holds_alternative<BarrierCommand>(list.commands[earlier])) break;
      for (const RangeAccess& a : accesses_of(list, list.commands[later])) {
        for (const RangeAccess& b : accesses_of(list, list.commands[earlier])) {
          const bool is_written = a.writes || b.writes;
          count += is_written && a.range.binding == b.range.binding && may_overlap(list, a.range, b.range) &&
                   may_overlap(list, a.touched.range, b.touched.range);
        }
      }
    }
  }
  return count;
}

}  // namespace

TEST_CASE("rows in different columns of one pitch need no barrier") {
  const SizeExpr n = Dim("n").at_least(1);
  struct Row {
    SizeExpr offset, pitch, row;
    bool is_hazard;
  };
  const Row rows[] = {
      {16, 64, 16, false},    {16, 64, 48, false}, {15, 64, 16, true}, {16, 64, 49, true},
      {16, 32, 16, true},     {0, 64, 1, true},    {80, 64, 16, true},  // in the next row
      {16, n * 64, 16, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.offset.to_text());
    CAPTURE(row.pitch.to_text());
    CAPTURE(row.row.to_text());
    for (const bool is_reversed : {false, true}) {
      ListBuilder b;
      const BindingIndex x = b.binding("x", BindingKind::kTransient, 4096);
      const KernelIndex store = b.kernel({.name = "store", .num_buffers = 1, .buffer_is_written = {true}});
      TouchedRange first = b.range(x, 0, 1024), second = b.range(x, row.offset, 1024);
      first.rows = {{b.list.add_size(64), b.list.add_size(16)}};
      second.rows = {{b.list.add_size(row.pitch), b.list.add_size(row.row)}};
      for (const TouchedRange& touched : is_reversed ? std::array{second, first} : std::array{first, second}) {
        b.dispatch(store, 1, {b.range(x, 0, 4096)});
        std::get<DispatchCommand>(b.list.commands.back()).touched = {touched};
      }
      std::vector<std::string> lines;
      find_hazards(b.list, lines);
      CHECK(lines.size() == (row.is_hazard ? 1 : 0));
      if (row.is_hazard && !is_reversed && row.offset.is(15)) {
        CHECK(lines[0] ==
              "command 1 (dispatch 'store') buffer 0: writes transient 'x' at [15, 1039) by 16 of 64, which command 0 "
              "(dispatch 'store') buffer 0 writes at [0, 1024) by 16 of 64; put a barrier between them");
      }
    }
  }
}

TEST_CASE("hazards equal those found by comparing every pair of commands") {
  std::mt19937 random(5);
  const auto below = [&](std::uint32_t end) { return static_cast<std::int64_t>(random() % end); };
  std::size_t num_good = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    ListBuilder builder;
    const SizeExpr n = Dim("n").at_least(1).at_most(100);
    const BindingIndex x = builder.binding("x", BindingKind::kTransient, 64 * n + 4096);
    const BindingIndex y = builder.binding("y", BindingKind::kTransient, 64 * n + 4096);
    const auto range = [&] {
      const bool is_symbolic = random() % 3 == 0;
      const SizeExpr offset = 8 * below(120) + (is_symbolic ? n * (8 * below(4)) : SizeExpr(0));
      return builder.range(below(2) == 0 ? x : y, offset, is_symbolic ? n * 8 : SizeExpr(8 * below(4)));
    };
    const KernelIndex scale = builder.kernel(kScale);
    const auto num_commands = 2 + below(14);
    for (std::int64_t i = 0; i < num_commands; ++i) {
      if (below(5) == 0) builder.barrier();
      const std::int64_t kind = below(4);
      if (kind == 0) builder.fill(range(), 0, 1);
      if (kind == 1 || kind == 2) builder.copy(range(), range());
      if (kind < 3) continue;
      std::vector<BufferRange> buffers = {range(), range()};
      std::vector<TouchedRange> touched;
      for (const BufferRange& buffer : buffers) {  // its first half, or its second
        const SizeExpr offset = builder.list.sizes[buffer.offset_bytes];
        const SizeExpr half = floor_div(builder.list.sizes[buffer.length_bytes], 2);
        touched.emplace_back(builder.range(buffer.binding, below(2) == 0 ? offset : offset + half, half));
      }
      builder.dispatch(scale, 1, buffers);
      std::get<DispatchCommand>(builder.list.commands.back()).touched = touched;
    }
    std::vector<std::string> lines;
    find_hazards(builder.list, lines);
    CHECK(lines.size() == count_hazards(builder.list));
    num_good += lines.empty();
  }
  CHECK(num_good > 10);
  CHECK(num_good < 290);
}

}  // namespace millrace
