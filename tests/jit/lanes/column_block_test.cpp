// SPDX-License-Identifier: Apache-2.0
// Copying interleaved rows into contiguous memory and back, and the functions that transpose tiles of them.
#include "hal/host/routines/sort/column_block.h"

#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "jit/lanes/sort_memory.h"
#include "jit/lanes/transpose_microkernel.h"
#include "jit/xbyak/row_kernels.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using Arguments = std::array<std::int64_t, kMaxLaneArguments>;

constexpr DType kOfEachSize[] = {DType::kU8, DType::kBF16, DType::kF32, DType::kI64};

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Tiles that end against a page without access, by `run`, against the elements one by one.
template <class Run>
void check_tiles(std::size_t tile, std::size_t element_bytes, std::size_t count, const Run& run) {
  const std::size_t rows = count / tile * tile;
  const std::size_t from_pitch = tile * element_bytes + 3, to_pitch = rows * element_bytes + 5;
  const std::size_t from_bytes = rows == 0 ? 0 : (rows - 1) * from_pitch + tile * element_bytes;
  const std::size_t to_bytes = rows == 0 ? 0 : (tile - 1) * to_pitch + rows * element_bytes;
  const GuardedMemory from(from_bytes, GuardedMemory::Side::kEnd), to(to_bytes, GuardedMemory::Side::kEnd);
  const std::vector<std::byte> elements = random_bytes(from_bytes, 7);
  if (from_bytes > 0) std::memcpy(from.data(), elements.data(), from_bytes);
  std::vector<std::byte> expected(to_bytes, std::byte{0x55});
  if (to_bytes > 0) std::memcpy(to.data(), expected.data(), to_bytes);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < tile; ++j) {
      std::memcpy(expected.data() + j * to_pitch + i * element_bytes,
                  elements.data() + i * from_pitch + j * element_bytes, element_bytes);
    }
  }
  const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
  run({at(from.data()), at(to.data()), static_cast<std::int64_t>(count), static_cast<std::int64_t>(from_pitch),
       static_cast<std::int64_t>(to_pitch), 0});
  CHECK((to_bytes == 0 || std::memcmp(to.data(), expected.data(), to_bytes) == 0));
}

TEST_CASE("whole tiles are transposed, by code and by evaluation, and nothing around them is touched") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : kOfEachSize) {
      KeptLanes lanes;
      const TileCode tiles = append_tiles(lanes.sink(isa), dtype);
      const LaneFunction& function = lanes[tiles.transpose];
      const LaneCode code(function);
      const std::size_t tile = static_cast<std::size_t>(tiles.side), element_bytes = size_bytes(dtype);
      for (const std::size_t count : {std::size_t{0}, tile - 1, tile, tile + 1, 3 * tile}) {
        CAPTURE(to_text(isa));
        CAPTURE(element_bytes);
        CAPTURE(count);
        check_tiles(tile, element_bytes, count,
                    [&](const Arguments& arguments) { evaluate_lanes(function, arguments); });
        check_tiles(tile, element_bytes, count, [&](const Arguments& arguments) { code.run(arguments); });
      }
    }
  }
}

/// Interleaved rows of a tensor that has `columns` of them, through a block and back.
void check_round_trip(const RowsTensor& tensor, std::int64_t columns, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(tensor.element_bytes);
  const auto size = static_cast<std::size_t>(tensor.length * columns) * bytes;
  const std::vector<std::byte> elements = random_bytes(size, 9);
  std::vector<std::byte> memory(
      static_cast<std::size_t>(count * ColumnBlock::pitch_bytes(tensor.length, tensor.element_bytes)));
  ColumnBlock block(memory.data(), static_cast<std::int64_t>(memory.size()), {tensor});
  REQUIRE(block.num_columns() > 0);
  count = std::min(count, block.num_columns());
  block.read(0, elements.data(), count);
  std::vector<std::byte> back = random_bytes(size, 10), expected = back;
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t i = 0; i < tensor.length; ++i) {
      const auto at = static_cast<std::size_t>(i * columns + j) * bytes;
      REQUIRE(std::memcmp(block.rows_of(0) + j * block.pitch_of(0) + i * tensor.element_bytes, elements.data() + at,
                          bytes) == 0);
      std::memcpy(expected.data() + at, elements.data() + at, bytes);
    }
  }
  block.write(0, back.data(), count);
  CHECK(back == expected);
}

TEST_CASE("rows are copied to a block and back, for any number and length") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : kOfEachSize) {
      MappedLanes lanes;
      const TileCode tiles = append_tiles(lanes.sink(isa), dtype);
      for (const std::int64_t columns : {2, 3, 8, 16, 17, 64, 67}) {
        for (const std::int64_t length : {0, 1, 7, 16, 17, 63, 64, 65, 200}) {
          for (const std::int64_t count : {std::int64_t{1}, std::min<std::int64_t>(columns, 8), columns}) {
            check_round_trip({.element_bytes = static_cast<std::int64_t>(size_bytes(dtype)),
                              .length = length,
                              .axis_stride = columns,
                              .transpose = tiles.transpose.at(nullptr),
                              .tile = tiles.side},
                             columns, count);
          }
        }
      }
    }
  }
}

TEST_CASE("a block has as many rows as a line has elements, or the power of two that its memory holds") {
  const RowsTensor rows = {.element_bytes = 4, .length = 100, .axis_stride = 50};
  const std::int64_t pitch = ColumnBlock::pitch_bytes(100, 4);
  std::vector<std::byte> memory(static_cast<std::size_t>(100 * pitch));
  const auto num_columns = [&](std::int64_t bytes, const ColumnBlock::Tensors& tensors) {
    return ColumnBlock(memory.data(), bytes, tensors).num_columns();
  };
  CHECK(num_columns(100 * pitch, {rows}) == 16);
  CHECK(num_columns(15 * pitch, {rows}) == 8);
  CHECK(num_columns(pitch, {rows}) == 1);
  CHECK(num_columns(pitch - 1, {rows}) == 0);
  CHECK(num_columns(15 * pitch, {rows, rows}) == 4);
  RowsTensor contiguous = rows;
  contiguous.axis_stride = 1;
  CHECK(num_columns(15 * pitch, {contiguous}) == 0);
  CHECK(num_columns(15 * pitch, {contiguous, rows}) == 8);
  // Rows that do not interleave are moved one by one, and results of this kind stay where they are.
  RowsTensor apart = rows;
  apart.column_stride = 7;
  CHECK(num_columns(15 * pitch, {apart}) == 1);
  CHECK(num_columns(15 * pitch, {contiguous, apart}) == 0);
}

SortDescriptor sort_of_columns(const Shape& shape, const SizeExpr& k) {
  const auto tensor = [](DType dtype, const Shape& of) {
    return KernelTensor{"t", {dtype, of}, Layout::row_major(of)};
  };
  Shape results = shape;
  results[0] = k;
  SortDescriptor sort;
  sort.name = "sort";
  sort.input = tensor(DType::kF32, shape);
  sort.k = k;
  sort.values = tensor(DType::kF32, results);
  sort.indices = tensor(DType::kI64, results);
  return sort;
}

/// The bytes of a slot; -1 if the plan has no such slot.
std::int64_t slot_of(std::string_view name, const SortDescriptor& sort, std::string_view spec) {
  const PlannedKernel planned = plan_row_operation(sort, TargetSpec::parse(spec).value()).value();
  CHECK(planned.memory.workgroup_bytes <= 512 << 10);
  for (const PlannedSlot& slot : planned.memory.slots) {
    if (slot.name == name) return static_cast<std::int64_t>(slot.size_bytes);
  }
  return -1;
}
std::int64_t column_slot(const SortDescriptor& sort, std::string_view spec) { return slot_of("columns", sort, spec); }

TEST_CASE("the plan of a sort along another axis names the memory for its rows") {
  // 16 rows of 100 elements, values and indices, each a line longer than needed.
  CHECK(column_slot(sort_of_columns({100, 1000}, 100), "cpu:avx512") == 16 * (512 + 512 + 896));
  // A selection's few results stay where they are.
  CHECK(column_slot(sort_of_columns({100, 1000}, 4), "cpu:avx2") == 16 * 512);
  const SizeExpr n = Dim("n").at_most(1 << 30);
  // Rows of any length take all available memory.
  CHECK(column_slot(sort_of_columns({n, 1000}, n), "cpu:avx2") == (512 << 10) - (4 << 10) - (20 << 10));
  // One row of a million has no room, and contiguous rows need none.
  CHECK(column_slot(sort_of_columns({1'000'000, 1000}, 1'000'000), "cpu:avx2") == -1);
  CHECK(column_slot(sort_of_columns({1'000, 1}, 1'000), "cpu:avx2") == -1);
}

TEST_CASE("sorts of any length have workgroup memory for the keys of short rows, unless rows move to columns") {
  const SizeExpr n = Dim("n").at_most(1 << 30);
  const auto key_slot = [](const SortDescriptor& sort) { return slot_of("keys", sort, "cpu:avx2"); };
  CHECK(key_slot(sort_of_columns({n, 1}, n)) == 256 << 10);
  CHECK(key_slot(sort_of_columns({n, 1000}, n)) == -1);
  // Twice the keys of 8 bytes where all rows fit; none where no row does.
  CHECK(key_slot(sort_of_columns({1000, 1}, 1000)) == 2 * 8 * 1000);
  CHECK(key_slot(sort_of_columns({1'000'000, 1}, 1'000'000)) == -1);
  // Code of rows that fit knows no length; the others' differs.
  const auto text = [](const SizeExpr& length) {
    return plan_row_operation(sort_of_columns({length, 1}, length), TargetSpec::parse("cpu:avx2").value())
        .value()
        .key_text;
  };
  CHECK(text(1000) == text(1001));
  CHECK(text(1'000'000) != text(n));
}

TEST_CASE("a row longer than the longest of a pitch needs a greater pitch") {
  for (const std::int64_t element_bytes : {1, 2, 4, 8}) {
    for (const std::int64_t bytes : {192, 1024, 256 << 10}) {
      const std::int64_t longest = ColumnBlock::longest_row(bytes, element_bytes);
      CHECK(ColumnBlock::pitch_bytes(longest, element_bytes) == bytes);
      CHECK(ColumnBlock::pitch_bytes(longest + 1, element_bytes) > bytes);
    }
  }
}

TEST_CASE("a selection takes rows along another axis as long as one fits") {
  CHECK(selects_first(sort_of_columns({65'000, 1000}, 8)));
  CHECK_FALSE(selects_first(sort_of_columns({66'000, 1000}, 8)));
  CHECK(selects_first(sort_of_columns({66'000, 1}, 8)));
  CHECK(selects_first(sort_of_columns({Dim("n").at_most(65'000), 1000}, 8)));
  CHECK_FALSE(selects_first(sort_of_columns({Dim("n"), 1000}, 8)));
}

}  // namespace
}  // namespace millrace
