// SPDX-License-Identifier: Apache-2.0
// Texts of kernels read back as the same kernels. tests/ops and tests/graph have those of every op and of random
// graphs.
#include "tests/support/kernels/kernel_round_trip.h"

#include <doctest/doctest.h>

#include "tests/jit/map/nests.h"
#include "tests/support/random/random_machine_kernel.h"
#include "tests/support/slice.h"

namespace millrace {
namespace {

using test::round_trip_problem;

TEST_CASE("random machine kernels read back, and mutated texts of them never crash") {
  const test::Slice slice = test::tested_slice();
  for (std::uint64_t seed = slice.index; seed < 1600; seed += slice.count) {
    const MachineKernel kernel = test::make_random_kernel(seed).kernel;
    CAPTURE(seed);
    REQUIRE(round_trip_problem(kernel) == "");
    REQUIRE(test::mutated_text_problem(kernel, seed, 40) == "");
  }
}

LoopKernel everything() {
  const SizeExpr n = Dim("n").at_least(1).at_most(64), d0 = Dim("d0").multiple_of(4);
  LoopKernelBuilder nest("a \"kernel\"");
  const AffineIndex o = nest.parallel("o", n), w = nest.reduction("w", d0);
  const OperandId x = nest.operand("x/y", {DType::kF16, {2 * n, d0}}), t = nest.operand("t", {DType::kF64, {n}});
  BodyBuilder& term = nest.term();
  const BodyValue row = term.check_index(term.index(0), nest.extent(term, n));
  const BodyValue padded = nest.load(term, x, {o * 2 - 1, w + (d0 - n)}, {.fill = Scalar::of(-0.0f)});
  const BodyValue gathered = nest.load(term, t, {AffineIndex{}}, {.gather_index = row});
  const BodyValue nan = term.constant_scalar({DType::kF64, 0xfff8'0000'0000'0001});
  const BodyValue chosen = term.select_rarely(term.lt(gathered, nan), gathered, term.convert(DType::kF64, padded));
  nest.store("y", {DType::kF64, {n}}, {o}, nest.reduce(ReductionKind::kMax, chosen));
  LoopKernel kernel = nest.finish().value();
  kernel.results[0].layout = {floor_div(n, 2), {-1 * n}};
  kernel.domain[0].is_workgroup_dim = true;
  return kernel;
}

TEST_CASE("a loop kernel with every part of the text reads back, and mutated texts of it never crash") {
  const LoopKernel kernel = everything();
  REQUIRE(verify(kernel).message() == "");
  CHECK(round_trip_problem(kernel) == "");
  CHECK(test::mutated_text_problem(kernel, 1, 4000) == "");
  CHECK(round_trip_problem(test::matmul_nest(4, 8, 3)) == "");
}

TEST_CASE("the kind of a loop kernel follows from its structure, and a wrong kind is an error") {
  std::string text = to_text(test::matmul_nest(4, 8, 3));
  const std::size_t kind = text.find("contract");
  text.replace(kind, 8, "map");
  CHECK(parse_loop_kernel(text).status().message().starts_with(
      "loop kernel:1:22: found map, expected contract, the kind of this kernel; correct it or leave it out\n"));
  text.erase(kind, 4);
  CHECK(parse_loop_kernel(text).value() == test::matmul_nest(4, 8, 3));
}

}  // namespace
}  // namespace millrace
