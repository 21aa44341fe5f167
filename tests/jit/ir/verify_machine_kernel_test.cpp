// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/ir/kernel_draft.h"

namespace millrace {
namespace {

using namespace test;

TEST_CASE("a value is used after its definition, where its block is open, and defined once") {
  KernelDraft draft;
  const MachineValueId later = draft.declare(kI64);
  draft.op(KernelOp::kNeg, {later}, kI64);
  draft.add({.op = KernelOp::kConstant, .operands = {}, .results = {later}, .immediate = 0, .blocks = {}});
  draft.add({.op = KernelOp::kConstant, .operands = {}, .results = {later}, .immediate = 1, .blocks = {}});
  draft.op(KernelOp::kNeg, {MachineValueId{77}}, kI64);
  draft.add({.op = KernelOp::kConstant, .operands = {}, .results = {MachineValueId{78}}, .immediate = 1, .blocks = {}});
  CHECK(draft.complaint() ==
        "%1 = neg: uses %0 before its definition\n"
        "%0 = constant: defines %0 a second time\n"
        "%2 = neg: uses %77, expected one of 3 values\n"
        "%78 = constant: defines %78, expected one of 3 values");
}

TEST_CASE("what a block defines is not seen outside it") {
  KernelDraft draft;
  const MachineValueId condition = draft.value(kBool);
  const BlockId then_block = draft.block({}, {});
  const BlockId else_block = draft.block({}, {});
  draft.add({.op = KernelOp::kIf,
             .operands = {condition},
             .results = {},
             .immediate = 0,
             .blocks = {then_block, else_block}});
  draft.current = then_block;
  const MachineValueId inner = draft.value(kI64);
  draft.current = else_block;
  draft.op(KernelOp::kNeg, {inner}, kI64);
  draft.current = BlockId{};
  draft.op(KernelOp::kAbs, {inner}, kI64);
  CHECK(draft.complaint() ==
        "%2 = neg: uses %1 outside the block that defines it\n"
        "%3 = abs: uses %1 outside the block that defines it");
}

TEST_CASE("instructions have the operands, results and blocks of their op") {
  KernelDraft draft;
  const MachineValueId x = draft.value(kI64);
  draft.op(KernelOp::kAdd, {x}, kI64);
  draft.effect(KernelOp::kNeg, {x});
  draft.op(KernelOp::kBarrier, {}, kI64);
  draft.op(KernelOp::kIndex, {}, kI64);
  draft.effect(KernelOp::kIf, {x});
  draft.add({.op = KernelOp::kFor, .operands = {x}, .results = {}, .immediate = 0, .blocks = {draft.block({}, {})}});
  draft.add({.op = KernelOp::kFor, .operands = {x, x, x}, .results = {}, .immediate = 0, .blocks = {BlockId{1}}});
  draft.add({.op = KernelOp::kFor, .operands = {x, x, x}, .results = {}, .immediate = 0, .blocks = {BlockId{9}}});
  CHECK(draft.complaint() ==
        "%1 = add: 1 operands, expected 2\n"
        "neg %0: 0 results, expected 1\n"
        "%2 = barrier: 1 results, expected 0\n"
        "%3 = index: stands in bodies of loop kernels only\n"
        "if %0: 0 blocks, expected 2\n"
        "for %0: 1 operands, expected at least 3\n"
        "for %0, %0, %0: block 1, expected one of its own\n"
        "for %0, %0, %0: block 9, expected one of its own");
}

struct LoopParts {
  std::vector<VectorType> bounds = {kI64, kI64, kI64}, initial = {}, parameters = {kI64}, yields = {}, results = {};
};

std::string about_loop(const LoopParts& parts) {
  KernelDraft draft;
  MachineInstruction loop{.op = KernelOp::kFor, .operands = {}, .results = {}, .immediate = 0, .blocks = {}};
  for (const VectorType& type : parts.bounds) loop.operands.push_back(draft.value(type));
  for (const VectorType& type : parts.initial) loop.operands.push_back(draft.value(type));
  KernelDraft::Ids parameters, yields;
  for (const VectorType& type : parts.parameters) parameters.push_back(draft.declare(type));
  for (const VectorType& type : parts.yields) yields.push_back(draft.value(type));
  for (const VectorType& type : parts.results) loop.results.push_back(draft.declare(type));
  loop.blocks = {draft.block(parameters, yields)};
  draft.add(loop);
  const std::string text = draft.complaint();
  return text.empty() ? text : text.substr(text.find(": ") + 2);
}

TEST_CASE("a loop's bounds are all i64 or all i32, and what it carries keeps its type") {
  CHECK(about_loop({}) == "");
  CHECK(about_loop({.bounds = {kI32, kI32, kI32}, .parameters = {kI32}}) == "");
  CHECK(about_loop({.bounds = {kI32, kI64, kI32}, .parameters = {kI32}}) ==
        "operand 1 is i64, expected i32, the upper bound");
  CHECK(about_loop({.bounds = {kI32, kI32, kI32}, .parameters = {kI64}}) == "index is i64, expected i32");
  CHECK(about_loop({.bounds = {kF32, kI64, kI64}}) == "operand 0 is f32, expected i64, the lower bound");
  CHECK(about_loop({.bounds = {kI64, kI64x4, kI64}}) == "operand 1 is i64x4, expected i64, the upper bound");
  CHECK(about_loop({.parameters = {kF32}}) == "index is f32, expected i64");
  CHECK(about_loop({.parameters = {}}) == "0 parameters of its block, expected 1");
  CHECK(about_loop({.initial = {kF32}, .parameters = {kI64, kF32}, .yields = {kF32}}) == "0 results, expected 1");
  CHECK(about_loop({.initial = {kF32}, .parameters = {kI64, kF32}, .yields = {}, .results = {kF32}}) ==
        "0 yields of its block, expected 1");
  CHECK(about_loop({.initial = {kF32}, .parameters = {kI64, kI64}, .yields = {kF32}, .results = {kF32}}) ==
        "carried value 0 is i64, expected f32 like operand 3");
  CHECK(about_loop({.initial = {kF32}, .parameters = {kI64, kF32}, .yields = {kI64}, .results = {kF32}}) ==
        "yield 0 is i64, expected f32 like operand 3");
  CHECK(about_loop({.initial = {kF32}, .parameters = {kI64, kF32}, .yields = {kF32}, .results = {kF32x4}}) ==
        "result 0 is f32x4, expected f32 like operand 3");
}

std::string about_if(VectorType condition, VectorType then_yield, const std::vector<VectorType>& else_yields) {
  KernelDraft draft;
  const MachineValueId chosen = draft.value(condition);
  const MachineValueId first = draft.value(then_yield);
  KernelDraft::Ids others;
  for (const VectorType& type : else_yields) others.push_back(draft.value(type));
  const MachineValueId result = draft.declare(kF32);
  const BlockId then_block = draft.block({}, {first});
  const BlockId else_block = draft.block({}, others);
  draft.add({.op = KernelOp::kIf,
             .operands = {chosen},
             .results = {result},
             .immediate = 0,
             .blocks = {then_block, else_block}});
  const std::string text = draft.complaint();
  return text.empty() ? text : text.substr(text.find(": ") + 2);
}

TEST_CASE("an if asks one bool, and both of its blocks yield its results") {
  CHECK(about_if(kBool, kF32, {kF32}) == "");
  CHECK(about_if(kBoolx4, kF32, {kF32}) == "operand 0 is boolx4, expected bool, the condition");
  CHECK(about_if(kBool, kI64, {kF32}) == "yield 0 of the then block is i64, expected f32 like result 0");
  CHECK(about_if(kBool, kF32, {kF32x4}) == "yield 0 of the else block is f32x4, expected f32 like result 0");
  CHECK(about_if(kBool, kF32, {}) == "0 yields of its block, expected 1");
}

TEST_CASE("declarations are checked, and every block has its place") {
  KernelDraft draft;
  draft.declare({DType::kF32, 0});
  draft.kernel.slots.push_back({"odd", MemoryKind::kBuffer, DType::kF32, 1});
  draft.kernel.slots.push_back({"none", MemoryKind::kPrivate, DType::kF32, 0});
  draft.kernel.num_groups = Dim("n").at_most(4);
  draft.kernel.blocks[BlockId{}].parameters = {draft.declare(kI64)};
  draft.kernel.blocks[BlockId{}].yields = {MachineValueId{1}};
  draft.block({}, {});
  CHECK(draft.complaint() ==
        "%0 has 0 lanes, expected at least 1\n"
        "slot #1 ('odd') is a buffer, expected workgroup or private memory\n"
        "slot #2 ('none') has 0 elements, expected at least 1\n"
        "size argument s0: dim 'n': promised n in 0.., expected n in 0..4 as elsewhere; give one name "
        "one set of facts\n"
        "the body has 1 parameters, expected none\n"
        "the body yields 1 values, expected none\n"
        "block 1 belongs to no instruction");
}

std::string about_workgroup(std::uint32_t threads, std::uint32_t subgroup) {
  KernelDraft draft;
  draft.kernel.workgroup_size = threads;
  draft.kernel.subgroup_size = subgroup;
  return draft.complaint();
}

TEST_CASE("a workgroup is some whole subgroups") {
  CHECK(about_workgroup(256, 32) == "");
  CHECK(about_workgroup(64, 64) == "");
  CHECK(about_workgroup(7, 1) == "");
  CHECK(about_workgroup(0, 1) == "workgroups of 0 threads, expected at least 1");
  CHECK(about_workgroup(96, 64) == "workgroups of 96 threads, expected a multiple of the subgroups' 64");
  CHECK(about_workgroup(64, 16) == "subgroups of 16 threads, expected 1, 32 or 64");
}

TEST_CASE("a kernel without a body is refused by its name") {
  MachineKernel kernel;
  kernel.name = "empty";
  CHECK(verify(kernel).code() == StatusCode::kInternal);
  CHECK(verify(kernel).message() == "kernel 'empty': no block, expected a body");
}

}  // namespace
}  // namespace millrace
