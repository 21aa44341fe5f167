// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/value_bounds.h"

#include <limits>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"

namespace millrace {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin32 = std::numeric_limits<std::int32_t>::min(),
                       kMax32 = std::numeric_limits<std::int32_t>::max();

struct Draft {
  Draft() { b.set_workgroup(256, 32); }
  /// Precondition: the kernel is complete.
  ValueBounds of(const MachineValue& value) { return find_value_bounds(kernel)[value.id]; }
  void finish() { kernel = b.finish(); }

  MachineBuilder b{"k"};
  MachineKernel kernel;
};

TEST_CASE("a loop's index is from its lower bound on and below the upper one") {
  Draft draft;
  MachineBuilder& b = draft.b;
  MachineValue i, j, carried;
  b.for_loop(b.i64(-3), b.i64(10), b.i64(4), {b.i64(0)}, [&](MachineValue outer, const auto& values) {
    i = outer;
    carried = values[0];
    b.for_loop(b.i64(2), b.size(Dim("n")), b.i64(1), {}, [&](MachineValue inner, const auto&) {
      j = inner;
      return MachineBuilder::Values{};
    });
    return MachineBuilder::Values{b.add(carried, b.i64(1))};
  });
  draft.finish();
  CHECK(draft.of(i) == ValueBounds{-3, 9});
  CHECK(draft.of(j) == ValueBounds{2, kMax});
  CHECK(draft.of(carried) == ValueBounds{kMin, kMax});
}

TEST_CASE("bounds follow arithmetic as long as it cannot wrap") {
  Draft draft;
  MachineBuilder& b = draft.b;
  const MachineValue thread = b.thread_id(), group = b.workgroup_id(), n = b.size(Dim("n"));
  const MachineValue first = b.mul(group, b.i64(65536)), end = b.min(b.add(first, b.i64(65536)), n);
  const MachineValue wide = b.convert(DType::kI64, thread), wave = b.shr(thread, b.i32(5));
  const MachineValue low = b.bit_and(b.sub(thread, b.i32(7)), b.i32(31)), left = b.rem(b.sub(wide, b.i64(9)), b.i64(4));
  const MachineValue far = b.mul(thread, b.i32(1 << 30)), next = b.add(n, b.i64(1)), other = b.max(n, b.i64(8));
  draft.finish();
  CHECK(draft.of(thread) == ValueBounds{0, 255});
  CHECK(draft.of(first) == ValueBounds{0, (std::int64_t{1} << 48) - 65536});
  CHECK(draft.of(end) == ValueBounds{kMin, std::int64_t{1} << 48});
  CHECK(draft.of(wide) == ValueBounds{0, 255});
  CHECK(draft.of(wave) == ValueBounds{0, 255});
  CHECK(draft.of(low) == ValueBounds{0, 31});
  CHECK(draft.of(left) == ValueBounds{-3, 3});
  CHECK(draft.of(far) == ValueBounds{kMin32, kMax32});
  CHECK(draft.of(next) == ValueBounds{kMin, kMax});
  CHECK(draft.of(other) == ValueBounds{8, kMax});
}

}  // namespace
}  // namespace millrace
