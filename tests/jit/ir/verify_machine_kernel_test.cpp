// SPDX-License-Identifier: Apache-2.0
// Rules of machine kernels that no text can break. More in tests/jit/kernels/verify_*.kernel.
#include <doctest/doctest.h>

#include "tests/jit/ir/kernel_draft.h"

namespace millrace {
namespace {

using namespace test;

TEST_CASE("results are values of the kernel, loops have bounds and an index, and a block belongs to one instruction") {
  KernelDraft draft;
  const MachineValueId x = draft.value(kI64);
  draft.add({.op = KernelOp::kConstant, .operands = {}, .results = {MachineValueId{78}}, .immediate = 1, .blocks = {}});
  draft.add({.op = KernelOp::kFor, .operands = {x}, .results = {}, .immediate = 0, .blocks = {draft.block({}, {})}});
  draft.add({.op = KernelOp::kFor, .operands = {x, x, x}, .results = {}, .immediate = 0, .blocks = {BlockId{1}}});
  draft.add({.op = KernelOp::kFor, .operands = {x, x, x}, .results = {}, .immediate = 0, .blocks = {BlockId{9}}});
  draft.add(
      {.op = KernelOp::kFor, .operands = {x, x, x}, .results = {}, .immediate = 0, .blocks = {draft.block({}, {})}});
  CHECK(draft.complaint() ==
        "%78 = constant: defines %78, expected less than %1\n"
        "for %0: 1 operands, expected at least 3\n"
        "for %0, %0, %0: block 1, expected a block of the kernel that nothing else uses\n"
        "for %0, %0, %0: block 9, expected a block of the kernel that nothing else uses\n"
        "for %0, %0, %0: 0 parameters of its block, expected 1");
}

TEST_CASE("the bits of a constant fit its dtype") {
  KernelDraft draft;
  draft.op(KernelOp::kConstant, {}, kBool, 2);
  draft.op(KernelOp::kConstant, {}, {DType::kI16, 1}, 0x10000);
  CHECK(draft.complaint() ==
        "%0 = constant: immediate 0x2 does not fit in the 1 bits of bool\n"
        "%1 = constant: immediate 0x10000 does not fit in the 16 bits of i16");
}

TEST_CASE("symbols agree, and every block belongs to one instruction") {
  KernelDraft draft;
  draft.kernel.num_groups = Dim("n").at_most(4);
  draft.kernel.blocks[BlockId{}].parameters = {draft.declare(kI64)};
  draft.block({}, {});
  CHECK(
      draft.complaint() ==
      "size argument s0: dim 'n': promised n in 0.., expected n in 0..4 as elsewhere; state the same facts everywhere\n"
      "the body has 1 parameters, expected none\n"
      "block 1 belongs to no instruction");
}

TEST_CASE("a kernel without a body is refused, and named") {
  MachineKernel kernel;
  kernel.name = "empty";
  CHECK(verify(kernel).code() == StatusCode::kInvalidArgument);
  CHECK(verify(kernel).message() == "kernel 'empty': no block, expected a body");
}

}  // namespace
}  // namespace millrace
