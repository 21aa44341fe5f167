// SPDX-License-Identifier: Apache-2.0
// FAILURES.md B: f32 rows divided by four and stored as f16, into destinations with an offset and padding between rows.
#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/map/nests.h"
#include "tests/support/kernels/run_request.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// Where the rows of a result stand, in elements.
struct Destination {
  std::int64_t offset = 0, padding = 0;
};

LoopKernel quarter_kernel(const SizeExpr& rows, std::int64_t columns, const Destination& to) {
  LoopKernel kernel = test::unary_nest("cast", DType::kF32, DType::kF16, {rows, columns},
                                       [](auto& b, auto x) { return b.mul(x, b.constant_like(x, 0.25)); });
  kernel.results[0].layout = {to.offset, {columns + to.padding, 1}};
  return kernel;
}

/// Source and destination of one run: the destination is full of canaries and ends at a page without access.
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t columns, const Destination& to)
      : columns_(columns),
        to_(to),
        x_(static_cast<std::size_t>(rows * columns)),
        y_(rows == 0 ? 0 : static_cast<std::size_t>(to.offset + rows * columns + (rows - 1) * to.padding) * 2,
           GuardedMemory::Side::kEnd) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 513) - 200;
    std::fill_n(y_.data(), y_.size_bytes(), std::byte{kCanary});
  }

  float* x() { return x_.data(); }
  std::byte* y() const { return y_.data(); }
  BufferBinding x_binding() { return {x_.data(), x_.size() * sizeof(float)}; }
  BufferBinding y_binding() const { return {y_.data(), y_.size_bytes()}; }

  /// Elements that are neither the reference's nor, outside the rows, canaries.
  std::size_t num_wrong() const {
    const std::int64_t width = columns_ + to_.padding;
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < y_.size_bytes() / 2; ++at) {
      std::uint16_t found = 0;
      std::memcpy(&found, y_.data() + at * 2, 2);
      const std::int64_t place = static_cast<std::int64_t>(at) - to_.offset;
      const bool is_padding = place < 0 || place % width >= columns_;
      const auto element = static_cast<std::size_t>(is_padding ? 0 : place / width * columns_ + place % width);
      wrong += found != (is_padding ? kCanary << 8 | kCanary : Half(x_[element] * 0.25f).bits);
    }
    return wrong;
  }

 private:
  static constexpr unsigned kCanary = 0xa5;
  std::int64_t columns_;
  Destination to_;
  std::vector<float> x_;
  GuardedMemory y_;
};

/// One kernel and no scratch for all of `nums_rows`, on every ISA level; nothing outside the rows is written.
void check_rows(const SizeExpr& rows, std::initializer_list<std::int64_t> nums_rows, std::int64_t columns,
                const Destination& to) {
  const LoopKernel kernel = quarter_kernel(rows, columns, to);
  for (const TargetSpec& target : test::host_targets()) {
    const KernelSequence sequence = test::plan_request(kernel, {.target = target}).value();
    CHECK(sequence.kernels.size() == 1);
    CHECK(sequence.scratch.empty());
    for (const std::int64_t num_rows : nums_rows) {
      INFO(target.to_text(), ": ", num_rows, " x ", columns, ", offset ", to.offset, ", padding ", to.padding);
      Rows memory(num_rows, columns, to);
      const BufferBinding x[] = {memory.x_binding()}, y[] = {memory.y_binding()};
      const auto run = test::run_request(kernel, x, y, {.target = target, .symbols = {{"rows", num_rows}}});
      CHECK(run.status().message() == "");
      CHECK(memory.num_wrong() == 0);
    }
  }
}

TEST_CASE("rows of sizes that the run binds: one kernel, no scratch, canaries untouched" * test::Sliced()) {
  const SizeExpr any = Dim("rows");
  for (const Destination& to : {Destination{.padding = 5}, Destination{.offset = 3}, Destination{3, 5}}) {
    check_rows(any, {0, 1, 127, 128, 129, 256, 384}, 14336, to);
    check_rows(any, {50000}, 64, to);
    const SizeExpr promised = Dim("rows").at_least(128).at_most(524160).multiple_of(128);
    check_rows(promised, {128, 256, 384}, 14336, to);
  }
}

TEST_CASE("rows of sizes that the run binds, interpreted") {
  const Destination to{.offset = 3, .padding = 5};
  const Result<KernelSequence> sequence =
      lower_request(quarter_kernel(Dim("rows"), 50, to), test::interpreted_target(IsaLevel::kAvx512), test::forced(""));
  REQUIRE(sequence.status().message() == "");
  for (const std::int64_t num_rows : {0, 1, 127, 128, 129, 256, 384}) {
    Rows memory(num_rows, 50, to);
    CHECK(test::run_sequence(*sequence, {memory.x()}, {memory.y()}, {{"rows", num_rows}}) == 0);
    CHECK(memory.num_wrong() == 0);
  }
}

TEST_CASE("rows of constant sizes: one kernel, no scratch, canaries untouched" * test::Sliced()) {
  for (const Destination& to : {Destination{.padding = 5}, Destination{.offset = 3}, Destination{3, 5}}) {
    check_rows(50000, {50000}, 64, to);
  }
  for (const std::int64_t rows : {0, 1, 127, 129}) check_rows(rows, {rows}, 14336, {.offset = 3, .padding = 5});
}

}  // namespace
}  // namespace millrace
