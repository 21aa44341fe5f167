// SPDX-License-Identifier: Apache-2.0
// One small program at every level, as text.
#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

Program small_program() {
  GraphBuilder graph("small");
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", exp(reduce_max(relu(x), {1})));
  graph.output("order", sort(x * 2.0, 1).indices);
  return compile(graph.finish().value(), {.device = "cpu:baseline", .context = test::test_context()}).value();
}

TEST_CASE("each level of a program prints itself") {
  const Program program = small_program();
  CHECK(program.to_text(Stage::kGraph) == R"(graph small(%x: f32[4x8]) {
  %1 = constant(0) : f32[]
  %2 = broadcast(%1) {shape = [4, 8], dims = []} : f32[4x8]
  %3 = max(%x, %2) : f32[4x8]
  %4 = reduce_max(%3) {axes = [1], keep_dims = false} : f32[4]
  %5 = exp(%4) : f32[4]
  %6 = constant(2) : f32[]
  %7 = broadcast(%6) {shape = [4, 8], dims = []} : f32[4x8]
  %8 = mul(%x, %7) : f32[4x8]
  %9.0, %9.1 = sort(%8) {axis = 1, descending = false} : f32[4x8], i64[4x8]
  return y = %5, order = %9.1
}
)");
  CHECK(program.to_text(Stage::kDispatch) == R"(dispatches of small: 3
max_reduce_max_exp_0
  reads  %x : f32[4x8], %1 : f32[]
  stores %5 : f32[4]
  nodes  %2=broadcast %3=max %4=reduce_max %5=exp
  because %3 in the term of %4, its only reader
  because %5 at the points of %4: no store and load between them
mul_1
  reads  %x : f32[4x8], %6 : f32[]
  stores %8 : f32[4x8]
  nodes  %7=broadcast %8=mul
sort_2
  reads  %8 : f32[4x8]
  stores %9.1 : i64[4x8]
  nodes  %9=sort
)");
  CHECK(program.to_text(Stage::kPlan) == R"(slab of 128 bytes
    offset      bytes  lives at  resource
         0        128     @0-@1  %8
kernel sort_2
workgroup 128 bytes, private 0 bytes
#0 keys: 128 bytes of workgroup at 0, phases 0 to 1
)");
  CHECK(program.to_text(Stage::kSchedule) == R"(schedule: 3 steps, 3 kernels, 128 slab bytes
  external x 128 bytes
  external y 16 bytes
  external order 256 bytes
  transient %8 128 bytes
  @0 max_reduce_max_exp_0 kernel 0 groups 1 <x >y
  @0 mul_1 kernel 1 groups 1 <x >%8
  @1 sort_2 kernel 2 groups 4 <%8 >order
)");
  CHECK(program.to_text(Stage::kCommands) == R"(input x: 128 bytes
output y: 16 bytes
output order: 256 bytes
constant constants: 0 bytes
transient slab: 128 bytes
dispatch max_reduce_max_exp_0 groups 1: x[0, 128), write y[0, 16)
dispatch mul_1 groups 1: x[0, 128), write slab[0, 128)
barrier
dispatch sort_2 groups 4: slab[0, 128), write order[0, 256)
)");
}

}  // namespace
}  // namespace millrace
