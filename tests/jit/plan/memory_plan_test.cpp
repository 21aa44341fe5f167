// SPDX-License-Identifier: Apache-2.0
// Memory plans of kernels with barriers, and their limits. More in tests/jit/kernels/plan_*.kernel.
#include "millrace/jit/memory_plan.h"

#include <functional>
#include <optional>
#include <string_view>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

/// Stores one element to each of the slots: now they live.
void touch(MachineBuilder& b, std::initializer_list<MemoryHandle> slots) {
  for (const MemoryHandle& slot : slots) b.store(slot, b.i64(0), b.constant_int(slot.dtype, 1));
}

std::string plan_text(MachineBuilder& b) { return to_text(plan_memory(b.finish(), TargetSpec{}).value()); }

std::string plan_around(MachineBuilder& b, const std::function<void()>& between) {
  const MemoryHandle before = b.workgroup_memory(DType::kI8, 64, "before");
  const MemoryHandle after = b.workgroup_memory(DType::kI8, 64, "after");
  touch(b, {before});
  between();
  touch(b, {after});
  return plan_text(b);
}

constexpr std::string_view kApart =
    "workgroup 128 bytes, private 0 bytes\n"
    "#0 before: 64 bytes of workgroup at 0, phases 0 to 1\n"
    "#1 after: 64 bytes of workgroup at 64, phases 0 to 1\n";

TEST_CASE("a barrier in a loop separates slots before and after it only if the loop is known to run") {
  const auto plan = [](std::optional<std::int64_t> upper) {
    MachineBuilder b("k");
    return plan_around(b, [&] {
      const MachineValue end = upper ? b.i64(*upper) : b.size(Dim("n"));
      b.for_loop(b.i64(0), end, b.i64(1), {}, [&](MachineValue, const Values&) {
        b.barrier();
        return Values{};
      });
    });
  };
  CHECK(plan(1) ==
        "workgroup 64 bytes, private 0 bytes\n"
        "#0 before: 64 bytes of workgroup at 0, phases 0 to 0\n"
        "#1 after: 64 bytes of workgroup at 0, phases 1 to 1\n");
  CHECK(plan(0) == kApart);
  CHECK(plan(std::nullopt) == kApart);
}

TEST_CASE("barriers in branches separate slots before and after them only if both branches have one") {
  const auto plan = [](bool then_has_one, bool else_has_one) {
    MachineBuilder b("k");
    return plan_around(b, [&] {
      const auto branch = [&](bool has_barrier) {
        return [&b, has_barrier] {
          if (has_barrier) b.barrier();
          return Values{};
        };
      };
      b.if_else(b.lt(b.i64(0), b.size(Dim("n"))), branch(then_has_one), branch(else_has_one));
    });
  };
  CHECK(plan(true, true) ==
        "workgroup 64 bytes, private 0 bytes\n"
        "#0 before: 64 bytes of workgroup at 0, phases 0 to 0\n"
        "#1 after: 64 bytes of workgroup at 0, phases 2 to 2\n");
  CHECK(plan(true, false) == kApart);
  CHECK(plan(false, true) == kApart);
}

std::string refusal(MemoryKind kind, std::uint64_t num_elements, const TargetSpec& spec = {.isa = IsaLevel::kAvx2}) {
  MachineBuilder b("sort");
  const MemoryHandle keys = kind == MemoryKind::kWorkgroup ? b.workgroup_memory(DType::kF32, num_elements, "keys")
                                                           : b.private_memory(DType::kF32, num_elements, "keys");
  touch(b, {keys});
  const auto planned = plan_memory(b.finish(), spec);
  return planned.ok() ? "" : planned.status().message();
}

TEST_CASE("a plan that does not fit is refused, with the memory planned and available") {
  CHECK(refusal(MemoryKind::kWorkgroup, 128 * 1024) == "");
  CHECK(refusal(MemoryKind::kWorkgroup, 128 * 1024 + 1) ==
        "sort: 524292 bytes of workgroup memory planned, cpu:avx2 has 512 KiB");
  CHECK(refusal(MemoryKind::kPrivate, 32 * 1024) == "sort: 128 KiB of private memory planned, cpu:avx2 has 64 KiB");
  CHECK(refusal(MemoryKind::kWorkgroup, std::uint64_t{1} << 62) ==
        "sort: 1099511627776 KiB of workgroup memory planned, cpu:avx2 has 512 KiB");
}

TEST_CASE("a GPU's workgroup has its LDS, and a thread memory for its share of registers") {
  for (const std::string name : {"amdgpu:gfx90a", "amdgpu:gfx1100", "sim:gfx1100", "sim:gfx90a"}) {
    const TargetSpec spec = TargetSpec::parse(name).value();
    CHECK(refusal(MemoryKind::kWorkgroup, 16 * 1024, spec) == "");
    CHECK(refusal(MemoryKind::kWorkgroup, 24 * 1024, spec) ==
          "sort: 96 KiB of workgroup memory planned, " + name + " has 64 KiB");
    CHECK(refusal(MemoryKind::kPrivate, 256, spec) == "");
    CHECK(refusal(MemoryKind::kPrivate, 257, spec) ==
          "sort: 1028 bytes of private memory planned, " + name + " has 1 KiB");
  }
}

TEST_CASE("an unknown target has no memory") {
  CHECK(memory_limits(TargetSpec{.family = "abacus"}).workgroup_bytes == 0);
}

}  // namespace
}  // namespace millrace
