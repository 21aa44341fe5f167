// SPDX-License-Identifier: Apache-2.0
// Under which conditions the verifier accepts that all threads of a subgroup reach a shuffle or a ballot.
#include <functional>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;
using Condition = std::function<MachineValue(MachineBuilder&)>;

/// What the verifier says when each conversion of a bool to u64 is a ballot. MachineBuilder finishes no wrong kernel.
std::string complaint_of(MachineBuilder& b) {
  MachineKernel kernel = b.finish();
  for (Block& block : kernel.blocks) {
    for (MachineInstruction& instruction : block.instructions) {
      const bool is_marked = instruction.op == KernelOp::kConvert &&
                             kernel.types[instruction.results[0]].dtype == DType::kU64 &&
                             kernel.types[instruction.operands[0]].dtype == DType::kBool;
      if (is_marked) instruction.op = KernelOp::kBallot;
    }
  }
  return verify(kernel).message();
}

void mark_ballot(MachineBuilder& b) { b.convert(DType::kU64, b.constant_int(DType::kBool, 1)); }

/// Three subgroups of 32, whose ballot stands under the condition.
std::string under(const Condition& condition) {
  MachineBuilder b("k");
  b.set_workgroup(96, 32);
  b.if_else(
      condition(b),
      [&] {
        mark_ballot(b);
        return Values{};
      },
      [] { return Values{}; });
  const std::string complaint = complaint_of(b);
  if (complaint.empty()) return "taken";
  CHECK(complaint.find("ballot: some threads of a subgroup may not enter block ") != std::string::npos);
  CHECK(complaint.ends_with(", expected all or none; move it out, or broadcast the value that the branch depends on"));
  return "refused";
}

MachineValue load_i32(MachineBuilder& b, MachineValue offset) {
  return b.load(b.buffer("x", DType::kI32, BufferAccess::kRead), offset);
}

TEST_CASE("a ballot that some threads of a subgroup may not reach is refused, and the instruction is named") {
  MachineBuilder b("halves");
  b.set_workgroup(64, 32);
  b.if_else(
      b.lt(b.thread_id(), b.i32(48)), [] { return Values{}; },
      [&] {
        mark_ballot(b);
        return Values{};
      });
  CHECK(complaint_of(b) ==
        "kernel 'halves': %4 = ballot: some threads of a subgroup may not enter block 2, expected all or none; move "
        "it out, or broadcast the value that the branch depends on");
}

TEST_CASE("conditions that are equal in all threads are accepted") {
  CHECK(under([](auto& b) { return b.lt(b.workgroup_id(), b.size(Dim("n"))); }) == "taken");
  CHECK(under([](auto& b) { return b.lt(load_i32(b, b.workgroup_id()), b.i32(7)); }) == "taken");
  CHECK(under([](auto& b) { return b.ne(b.ballot(b.lt(b.thread_id(), b.i32(7))), b.constant_int(DType::kU64, 0)); }) ==
        "taken");
  CHECK(under([](auto& b) { return b.lt(b.broadcast(load_i32(b, b.thread_id()), 3), b.i32(7)); }) == "taken");
}

TEST_CASE("conditions on whole subgroups are accepted, those that split one are not") {
  const auto below = [](std::int32_t end) { return under([=](auto& b) { return b.lt(b.thread_id(), b.i32(end)); }); };
  const auto up_to = [](std::int32_t end) { return under([=](auto& b) { return b.le(b.i32(end), b.thread_id()); }); };
  CHECK(below(32) == "taken");
  CHECK(below(64) == "taken");
  CHECK(below(0) == "taken");
  CHECK(below(33) == "refused");
  CHECK(below(48) == "refused");
  CHECK(up_to(64) == "taken");
  CHECK(up_to(63) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.i32(32), b.thread_id()); }) == "refused");
  CHECK(under([](auto& b) { return b.le(b.thread_id(), b.i32(32)); }) == "refused");
  CHECK(under([](auto& b) { return b.eq(b.thread_id(), b.i32(32)); }) == "refused");
  CHECK(under([](auto& b) { return b.eq(b.subgroup_id(), b.i32(1)); }) == "taken");
  CHECK(under([](auto& b) { return b.eq(b.lane_id(), b.i32(1)); }) == "refused");
  CHECK(under([](auto& b) { return b.eq(b.div(b.thread_id(), b.i32(64)), b.i32(1)); }) == "taken");
  CHECK(under([](auto& b) { return b.eq(b.div(b.thread_id(), b.i32(16)), b.i32(1)); }) == "refused");
  CHECK(under([](auto& b) { return b.eq(b.shr(b.thread_id(), b.i32(4)), b.i32(1)); }) == "refused");
  CHECK(under([](auto& b) { return b.eq(b.bit_and(b.thread_id(), b.i32(96)), b.i32(32)); }) == "taken");
  CHECK(under([](auto& b) { return b.eq(b.bit_and(b.thread_id(), b.i32(48)), b.i32(32)); }) == "refused");
}

TEST_CASE("arithmetic keeps the numbers of a subgroup together, or splits them") {
  const auto row = [](MachineBuilder& b, std::int32_t by) { return b.add(b.thread_id(), b.i32(by)); };
  CHECK(under([&](auto& b) { return b.lt(row(b, 64), b.i32(128)); }) == "taken");
  CHECK(under([&](auto& b) { return b.lt(row(b, 1), b.i32(64)); }) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.mul(b.thread_id(), b.i32(4)), b.i32(128)); }) == "taken");
  CHECK(under([](auto& b) { return b.lt(b.mul(b.thread_id(), b.i32(4)), b.i32(160)); }) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.mul(b.thread_id(), b.i32(3)), b.i32(96)); }) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.sub(b.i32(96), b.thread_id()), b.i32(32)); }) == "refused");
  // Division rounds negative numbers up, not down: -1 / 64 is 0.
  CHECK(under([](auto& b) { return b.eq(b.div(b.sub(b.thread_id(), b.i32(32)), b.i32(64)), b.i32(0)); }) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.convert(DType::kI64, b.thread_id()), b.i64(64)); }) == "taken");
  // 2^27 times each number of a subgroup: of 32 bits, all windows are one.
  CHECK(under([](auto& b) { return b.lt(b.mul(b.thread_id(), b.i32(1 << 27)), b.i32(0)); }) == "refused");
  CHECK(under([](auto& b) {
          const MachineValue group = b.mul(b.workgroup_id(), b.i64(96));
          return b.lt(b.add(group, b.convert(DType::kI64, b.thread_id())), b.size(Dim("n")));
        }) == "refused");
}

TEST_CASE("a condition on a thread's own value is not equal in all threads") {
  CHECK(under([](auto& b) { return b.lt(load_i32(b, b.thread_id()), b.i32(7)); }) == "refused");
  CHECK(under([](auto& b) {
          const MemoryHandle mine = b.private_memory(DType::kI32, 2, "mine");
          b.store(mine, b.i32(0), b.thread_id());
          return b.lt(b.load(mine, b.i32(0)), b.i32(7));
        }) == "refused");
  CHECK(under([](auto& b) {
          const MemoryHandle count = b.workgroup_memory(DType::kI32, 1, "count");
          return b.lt(b.atomic(KernelOp::kAtomicAdd, count, b.i32(0), b.i32(1)), b.i32(7));
        }) == "refused");
  CHECK(under([](auto& b) { return b.lt(b.shuffle_xor(load_i32(b, b.thread_id()), 1), b.i32(7)); }) == "refused");
}

TEST_CASE("the results of a branch or a loop are equal in all threads if they run it together") {
  const auto chosen = [](MachineBuilder& b, MachineValue condition) {
    return b.if_else(condition, [&] { return Values{b.i32(1)}; }, [&] { return Values{b.i32(2)}; })[0];
  };
  CHECK(under([&](auto& b) { return b.eq(chosen(b, b.lt(b.thread_id(), b.i32(64))), b.i32(1)); }) == "taken");
  CHECK(under([&](auto& b) { return b.eq(chosen(b, b.lt(b.thread_id(), b.i32(65))), b.i32(1)); }) == "refused");
  const auto counted = [](MachineBuilder& b, MachineValue end, MachineValue step) {
    return b.for_loop(b.i32(0), end, b.i32(1), {b.i32(0)},
                      [&](MachineValue, const Values& carried) { return Values{b.add(carried[0], step)}; })[0];
  };
  CHECK(under([&](auto& b) { return b.eq(counted(b, b.i32(9), b.i32(2)), b.i32(18)); }) == "taken");
  CHECK(under([&](auto& b) { return b.eq(counted(b, b.thread_id(), b.i32(2)), b.i32(18)); }) == "refused");
  CHECK(under([&](auto& b) { return b.eq(counted(b, b.i32(9), b.thread_id()), b.i32(18)); }) == "refused");
}

/// A ballot in a loop.
std::string in_loop(const Condition& lower, const Condition& upper, const Condition& step) {
  MachineBuilder b("k");
  b.set_workgroup(96, 32);
  b.for_loop(lower(b), upper(b), step(b), {}, [&](MachineValue, const Values&) {
    mark_ballot(b);
    return Values{};
  });
  return complaint_of(b).empty() ? "taken" : "refused";
}

TEST_CASE("threads run a loop together if it ends for a whole subgroup at once") {
  const auto number = [](std::int32_t value) { return [=](MachineBuilder& b) { return b.i32(value); }; };
  const auto thread = [](MachineBuilder& b) { return b.thread_id(); };
  const auto subgroup = [](MachineBuilder& b) { return b.subgroup_id(); };
  CHECK(in_loop(number(0), number(9), number(1)) == "taken");
  CHECK(in_loop(subgroup, number(9), number(1)) == "taken");
  CHECK(in_loop(number(0), subgroup, number(1)) == "taken");
  CHECK(in_loop(thread, number(960), number(96)) == "taken");
  CHECK(in_loop(thread, number(950), number(96)) == "refused");
  CHECK(in_loop(thread, number(960), number(95)) == "refused");
  CHECK(in_loop(number(0), thread, number(1)) == "refused");
  CHECK(in_loop(number(0), number(960), thread) == "refused");
}

TEST_CASE("a block inside one that threads do not reach together is not reached together either") {
  MachineBuilder b("k");
  b.set_workgroup(96, 32);
  b.if_else(
      b.lt(b.thread_id(), b.i32(7)),
      [&] {
        b.if_else(
            b.lt(b.workgroup_id(), b.i64(7)),
            [&] {
              mark_ballot(b);
              return Values{};
            },
            [] { return Values{}; });
        return Values{};
      },
      [] { return Values{}; });
  CHECK(complaint_of(b).find("block 2") != std::string::npos);
}

TEST_CASE("a carried value that splits the threads only in a later iteration is found") {
  MachineBuilder b("k");
  b.set_workgroup(96, 32);
  b.for_loop(b.i32(0), b.i32(9), b.i32(1), {b.i32(0), b.i32(0)}, [&](MachineValue, const Values& carried) {
    b.if_else(
        b.eq(carried[0], b.i32(0)),
        [&] {
          mark_ballot(b);
          return Values{};
        },
        [] { return Values{}; });
    return Values{carried[1], b.thread_id()};
  });
  CHECK(!complaint_of(b).empty());
}

TEST_CASE("a subgroup of one thread is always whole") {
  MachineBuilder b("k");
  b.set_workgroup(4, 1);
  b.if_else(
      b.lt(b.thread_id(), b.i32(3)),
      [&] {
        mark_ballot(b);
        return Values{};
      },
      [] { return Values{}; });
  CHECK(complaint_of(b) == "");
}

}  // namespace
}  // namespace millrace
