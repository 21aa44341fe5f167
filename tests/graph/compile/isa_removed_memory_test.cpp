// SPDX-License-Identifier: Apache-2.0
// LLVM removes workgroup memory from a kernel whose results do not depend on it.
#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/isa/driver.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

TEST_CASE("a comparison of an argmax with itself compiles and is false on every GPU") {
  std::vector<std::uint16_t> x(std::size_t{16} * 33 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i * 7919 % 1000);
  for (const GfxTarget& gfx : gfx_targets()) {
    GraphBuilder graph("never");
    const Tensor best = argmax(graph.input("x", DType::kU16, {16, 33, 3}), -2);
    graph.output("y", greater(best, best));
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = open_isa_device(DeviceSpec::parse("isa:" + std::string(gfx.name)).value()).value();
    const Result<Program> program = compile(graph.finish().value(), options);
    CAPTURE(gfx.name);
    REQUIRE(program.status().message() == "");
    Session session = Session::create(*program).value();
    std::array<bool, 48> y;
    y.fill(true);
    REQUIRE(session.run({bind(x)}, {bind(y)}).message() == "");
    CHECK(y == std::array<bool, 48>{});
  }
}

}  // namespace
}  // namespace millrace
