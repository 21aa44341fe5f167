// SPDX-License-Identifier: Apache-2.0
// Operands that are contiguous along the rows of a tile, transposed in registers: elements of every size against plain
// loops, in memory that ends, or begins, at a page without access.
#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "millrace/base/float16.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/map/nests.h"
#include "tests/support/kernels/run_request.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// What is made of a transposed operand: y = x^T, y = x^T + z, y = x^T + z^T, or y = x^T as f32.
enum class Form { kCopy, kAdd, kAddBoth, kCast };

struct Case {
  Form form = Form::kCopy;
  DType dtype = DType::kU8;
  bool has_second() const { return form == Form::kAdd || form == Form::kAddBoth; }
  DType result() const { return form == Form::kCast ? DType::kF32 : dtype; }
};

/// y[p, n, m] of x[p, m, n].
LoopKernel transposing_nest(const Case& row, const SizeExpr& m, const SizeExpr& n) {
  LoopKernelBuilder nest("transpose");
  const AffineIndex plane = nest.parallel("p", 2), column = nest.parallel("n", n), line = nest.parallel("m", m);
  BodyBuilder& b = nest.epilogue();
  BodyValue value = nest.load(b, nest.operand("x", {row.dtype, {2, m, n}}), {plane, line, column});
  if (row.form == Form::kAdd) {
    value = b.add(value, nest.load(b, nest.operand("z", {row.dtype, {2, n, m}}), {plane, column, line}));
  }
  if (row.form == Form::kAddBoth) {
    value = b.add(value, nest.load(b, nest.operand("z", {row.dtype, {2, m, n}}), {plane, line, column}));
  }
  if (row.form == Form::kCast) value = b.convert(DType::kF32, value);
  nest.store("y", {row.result(), {2, n, m}}, {plane, column, line}, value);
  return nest.finish().value();
}

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Element `at` of an array of `dtype` becomes a number that all dtypes have.
void put_number(std::byte* data, DType dtype, std::size_t at, int number) {
  std::byte* to = data + at * size_bytes(dtype);
  const auto real = static_cast<float>(number);
  switch (dtype) {
    case DType::kF16:
      return put(to, Half(real).bits);
    case DType::kBF16:
      return put(to, BFloat16(real).bits);
    case DType::kF32:
      return put(to, real);
    case DType::kF64:
      return put(to, static_cast<double>(number));
    default:  // integers, their low bytes first
      return static_cast<void>(std::memcpy(to, &number, std::min(size_bytes(dtype), sizeof number)));
  }
}

int number_at(std::size_t at, DType dtype) {
  return static_cast<int>(at * 7 % (dtype == DType::kBool ? 2 : 61));  // two of them are less than 128
}

GuardedMemory numbers(DType dtype, std::size_t count, GuardedMemory::Side side) {
  GuardedMemory memory(count * size_bytes(dtype), side);
  for (std::size_t i = 0; i < count; ++i) put_number(memory.data(), dtype, i, number_at(i, dtype));
  memory.make_read_only();
  return memory;
}

std::vector<std::byte> expected(const Case& row, std::size_t m, std::size_t n) {
  std::vector<std::byte> y(2 * m * n * size_bytes(row.result()));
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t to = (p * n + i) * m + j, from = (p * m + j) * n + i;
        int number = number_at(from, row.dtype);
        if (row.has_second()) number += number_at(row.form == Form::kAdd ? to : from, row.dtype);
        put_number(y.data(), row.result(), to, number);
      }
    }
  }
  return y;
}

void check_run(const Case& row, const LoopKernel& kernel, const TargetSpec& target, std::int64_t m, std::int64_t n) {
  INFO(target.to_text(), " ", to_text(row.dtype), " form ", static_cast<int>(row.form), ": ", m, " x ", n);
  const auto count = static_cast<std::size_t>(2 * m * n);
  for (const auto side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kStart}) {
    const GuardedMemory x = numbers(row.dtype, count, side), z = numbers(row.dtype, count, side);
    const GuardedMemory y(count * size_bytes(row.result()), side);
    std::fill_n(y.data(), y.size_bytes(), std::byte{0xa5});
    std::vector<BufferBinding> operands = {{x.data(), x.size_bytes()}};
    if (row.has_second()) operands.push_back({z.data(), z.size_bytes()});
    const BufferBinding results[] = {{y.data(), y.size_bytes()}};
    const auto run = test::run_request(kernel, operands, results, {.target = target, .symbols = {{"m", m}, {"n", n}}});
    REQUIRE(run.status().message() == "");
    const std::vector<std::byte> wanted = expected(row, static_cast<std::size_t>(m), static_cast<std::size_t>(n));
    CHECK(std::equal(wanted.begin(), wanted.end(), y.data()));
  }
}

constexpr DType kDTypes[] = {DType::kU8,  DType::kI8,   DType::kBool, DType::kU16, DType::kI16,
                             DType::kF16, DType::kBF16, DType::kF32,  DType::kF64};

std::vector<Case> cases() {
  std::vector<Case> rows;
  for (const DType dtype : kDTypes) {
    rows.push_back({Form::kCopy, dtype});
    if (dtype == DType::kBool) continue;
    rows.push_back({Form::kAdd, dtype});
    rows.push_back({Form::kAddBoth, dtype});
    if (dtype != DType::kF32) rows.push_back({Form::kCast, dtype});
  }
  return rows;
}

/// Four lanes or more make a block, unless the conversions of all its f16 would be too much code.
bool has_block(const Case& row, const TargetSpec& target) {
  if (row.dtype == DType::kF64) return target.isa != IsaLevel::kBaseline;
  return row.dtype != DType::kF16 || !row.has_second() || target.isa != IsaLevel::kAvx512;
}

TEST_CASE("operands of sizes that a run binds are transposed, to the last row and column" * test::Sliced()) {
  for (const TargetSpec& target : test::host_targets()) {
    for (const Case& row : cases()) {
      const LoopKernel kernel = transposing_nest(row, Dim("m"), Dim("n"));
      const Tiling tiling = choose_tiling(kernel, target);
      CAPTURE(to_text(tiling));
      CHECK(tiling.transposes_loads == has_block(row, target));
      for (const std::int64_t m : {0, 1, 3, 8, 15, 16, 17, 31, 64, 65, 150}) {
        for (const std::int64_t n : {0, 1, 7, 8, 16, 19, 33}) check_run(row, kernel, target, m, n);
      }
    }
  }
}

TEST_CASE("operands of constant sizes are transposed, to the last row and column") {
  for (const TargetSpec& target : test::host_targets()) {
    for (const Case& row :
         {Case{Form::kCopy, DType::kU8}, Case{Form::kCopy, DType::kF16}, Case{Form::kCast, DType::kU8}}) {
      for (const auto& [m, n] : {std::pair{16, 16}, {17, 33}, {64, 128}, {130, 70}, {15, 100}, {3, 100}, {100, 3}}) {
        check_run(row, transposing_nest(row, m, n), target, m, n);
      }
    }
  }
}

TEST_CASE("a moved 16-bit float keeps its bits, those of a signalling NaN too") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const LoopKernel kernel = test::unary_nest("copy", dtype, dtype, {65536}, [](auto&, auto x) { return x; });
    for (const TargetSpec& target : test::host_targets()) {
      std::vector<std::uint16_t> x(65536), y(65536);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
      const BufferBinding operands[] = {{x.data(), 2 * x.size()}}, results[] = {{y.data(), 2 * y.size()}};
      REQUIRE(test::run_request(kernel, operands, results, {.target = target}).status().message() == "");
      CHECK(x == y);
    }
  }
}

}  // namespace
}  // namespace millrace
