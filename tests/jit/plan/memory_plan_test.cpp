// SPDX-License-Identifier: Apache-2.0
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

TEST_CASE("slots that live between different barriers share bytes") {
  MachineBuilder b("k");
  const MemoryHandle a = b.workgroup_memory(DType::kF32, 100, "a");
  const MemoryHandle c = b.workgroup_memory(DType::kI64, 32, "c");
  touch(b, {a});
  b.barrier();
  touch(b, {c});
  CHECK(plan_text(b) ==
        "workgroup 400 bytes, private 0 bytes\n"
        "#0 a: 400 bytes of workgroup at 0, phases 0 to 0\n"
        "#1 c: 256 bytes of workgroup at 0, phases 1 to 1\n");
}

TEST_CASE("a plan tells the padding of rows, which the last one does without") {
  MachineBuilder b("k");
  const MemoryHandle tile = b.workgroup_rows(DType::kF32, 16, {.num_elements = 32, .padding_elements = 1}, "tile");
  touch(b, {tile});
  CHECK(plan_text(b) ==
        "workgroup 2108 bytes, private 0 bytes\n"
        "#0 tile: 2108 bytes of workgroup at 0, phases 0 to 0, 1 of 33 elements of a row are padding\n");
}

TEST_CASE("slots of one phase stand beside each other, aligned to 64 bytes, the largest first") {
  MachineBuilder b("k");
  const MemoryHandle a = b.workgroup_memory(DType::kI8, 1, "a");
  const MemoryHandle c = b.workgroup_memory(DType::kI8, 100, "c");
  touch(b, {a, c});
  CHECK(plan_text(b) ==
        "workgroup 129 bytes, private 0 bytes\n"
        "#0 a: 1 bytes of workgroup at 128, phases 0 to 0\n"
        "#1 c: 100 bytes of workgroup at 0, phases 0 to 0\n");
}

TEST_CASE("a slot lives from its first to its last phase, and a later one fills the gap that it leaves") {
  MachineBuilder b("k");
  const MemoryHandle big = b.workgroup_memory(DType::kI8, 512, "big");
  const MemoryHandle kept = b.workgroup_memory(DType::kI8, 256, "kept");
  const MemoryHandle late = b.workgroup_memory(DType::kI8, 128, "late");
  touch(b, {big, kept});
  b.barrier();
  b.barrier();
  touch(b, {late, kept});
  CHECK(plan_text(b) ==
        "workgroup 768 bytes, private 0 bytes\n"
        "#0 big: 512 bytes of workgroup at 0, phases 0 to 0\n"
        "#1 kept: 256 bytes of workgroup at 512, phases 0 to 2\n"
        "#2 late: 128 bytes of workgroup at 0, phases 2 to 2\n");
}

TEST_CASE("what a loop touches lives as long as the loop: the next turn may read it") {
  MachineBuilder b("k");
  const MemoryHandle first = b.workgroup_memory(DType::kI8, 64, "first");
  const MemoryHandle second = b.workgroup_memory(DType::kI8, 64, "second");
  const MemoryHandle after = b.workgroup_memory(DType::kI8, 64, "after");
  b.for_loop(b.i64(0), b.i64(2), b.i64(1), {}, [&](MachineValue, const Values&) {
    touch(b, {first});
    b.barrier();
    touch(b, {second});
    b.barrier();
    return Values{};
  });
  b.barrier();
  touch(b, {after});
  CHECK(plan_text(b) ==
        "workgroup 128 bytes, private 0 bytes\n"
        "#0 first: 64 bytes of workgroup at 0, phases 0 to 2\n"
        "#1 second: 64 bytes of workgroup at 64, phases 0 to 2\n"
        "#2 after: 64 bytes of workgroup at 0, phases 3 to 3\n");
}

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

TEST_CASE("a barrier in a loop separates what is before and after it only when the loop is known to run") {
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

TEST_CASE("barriers in branches separate what is before and after them only when both branches have one") {
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

TEST_CASE("private and workgroup memory are counted apart, and an untouched slot has none") {
  MachineBuilder b("k");
  const MemoryHandle mine = b.private_memory(DType::kF64, 4, "mine");
  b.workgroup_memory(DType::kF32, 1 << 30, "unused");
  const MemoryHandle ours = b.workgroup_memory(DType::kF16, 32, "ours");
  b.store(ours, b.i64(0), b.constant_int(DType::kU16, 0));
  touch(b, {mine});
  CHECK(plan_text(b) ==
        "workgroup 64 bytes, private 32 bytes\n"
        "#0 mine: 32 bytes of private at 0, phases 0 to 0\n"
        "#1 unused: workgroup, not touched\n"
        "#2 ours: 64 bytes of workgroup at 0, phases 0 to 0\n");
}

std::string refusal(MemoryKind kind, std::uint64_t num_elements, const TargetSpec& spec = {.isa = IsaLevel::kAvx2}) {
  MachineBuilder b("sort");
  const MemoryHandle keys = kind == MemoryKind::kWorkgroup ? b.workgroup_memory(DType::kF32, num_elements, "keys")
                                                           : b.private_memory(DType::kF32, num_elements, "keys");
  touch(b, {keys});
  const auto planned = plan_memory(b.finish(), spec);
  return planned.ok() ? "" : planned.status().message();
}

TEST_CASE("what does not fit is refused with what was planned and what there is") {
  CHECK(refusal(MemoryKind::kWorkgroup, 128 * 1024) == "");
  CHECK(refusal(MemoryKind::kWorkgroup, 128 * 1024 + 1) ==
        "sort: 524292 bytes of workgroup memory planned, cpu:avx2 has 512 KiB");
  CHECK(refusal(MemoryKind::kPrivate, 32 * 1024) == "sort: 128 KiB of private memory planned, cpu:avx2 has 64 KiB");
  CHECK(refusal(MemoryKind::kWorkgroup, std::uint64_t{1} << 62) ==
        "sort: 1099511627776 KiB of workgroup memory planned, cpu:avx2 has 512 KiB");
}

TEST_CASE("a GPU's workgroup has its LDS, and a thread its registers' worth") {
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

TEST_CASE("a target of which nothing is known has no memory") {
  CHECK(memory_limits(TargetSpec{.family = "abacus"}).workgroup_bytes == 0);
}

}  // namespace
}  // namespace millrace
