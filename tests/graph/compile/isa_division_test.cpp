// SPDX-License-Identifier: Apache-2.0
// LLVM 19 divided a sign-extended integer by a constant as if it had 32 bits: only the machine code shows it.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/isa/driver.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr std::uint64_t kDivisors[] = {
    1, 2, 3, 7, 10, 1000, 0x7fff'ffff, 0xffff'ffff, 0x1'0000'0001, ~std::uint64_t{0}};

/// The quotient and the remainder of x, made a u64, by each of the divisors.
Graph divide(std::int64_t n) {
  GraphBuilder builder("divide");
  const Tensor x = cast(builder.input("x", DType::kI32, {n}), DType::kU64);
  for (std::size_t i = 0; i < std::size(kDivisors); ++i) {
    const Tensor divisor = broadcast(builder.constant<std::uint64_t>({}, std::vector{kDivisors[i]}), {n}, {});
    builder.output("q" + std::to_string(i), x / divisor);
    builder.output("r" + std::to_string(i), rem(x, divisor));
  }
  return builder.finish().value();
}

TEST_CASE("a sign-extended integer is divided as the unsigned number that it became, on every GPU") {
  std::vector<std::int32_t> x = {-1, -2, -100, 0, 1, 5, INT32_MAX, INT32_MIN, INT32_MIN + 1, -12345, 77, 1 << 20};
  for (const GfxTarget& gfx : gfx_targets()) {
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = open_isa_device(DeviceSpec::parse("isa:" + std::string(gfx.name)).value()).value();
    const Program program = compile(divide(static_cast<std::int64_t>(x.size())), options).value();
    Session session = Session::create(program).value();
    std::vector<std::vector<std::uint64_t>> results(2 * std::size(kDivisors), std::vector<std::uint64_t>(x.size()));
    std::vector<TensorBinding> outputs;
    for (auto& result : results) outputs.push_back(bind(result));
    const TensorBinding inputs[] = {bind(x)};
    REQUIRE(session.run(inputs, outputs).message() == "");
    for (std::size_t i = 0; i < std::size(kDivisors); ++i) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        CAPTURE(gfx.name);
        CAPTURE(x[k]);
        CAPTURE(kDivisors[i]);
        const auto dividend = static_cast<std::uint64_t>(std::int64_t{x[k]});
        CHECK(results[2 * i][k] == dividend / kDivisors[i]);
        CHECK(results[2 * i + 1][k] == dividend % kDivisors[i]);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
