// SPDX-License-Identifier: Apache-2.0
// LLVM loads a kernel's last arguments together with the bytes after them.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/isa/driver.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr std::int64_t kN = 8, kHeight = 2 * kN + 5, kWidth = 2 * kN + 5, kRows = (2 * kN + 2) / 3 + 3,
                       kColumns = 2 * kN + 6;

// 88 bytes of arguments: the status word, three buffers and seven sizes. LLVM reads 96.
Graph convolution() {
  GraphBuilder builder("convolution");
  const SizeExpr n = Dim("n").at_least(0).at_most(64), size = n * 2 + 5;
  const Tensor x = builder.input("x", DType::kF32, {1, 2, size, size});
  const Tensor w = builder.input("w", DType::kF32, {2, 2, 1, 2});
  builder.output("y", conv2d(x, w, {.strides = {3, 1}, .padding = {2, 2, 2, 2}, .dilations = {3, 3}}));
  return builder.finish().value();
}

float expected(const std::vector<float>& x, const std::vector<float>& w, std::int64_t channel, std::int64_t row,
               std::int64_t column) {
  float sum = 0;
  for (std::int64_t from = 0; from < 2; ++from) {
    for (std::int64_t tap = 0; tap < 2; ++tap) {
      const std::int64_t i = 3 * row - 2, j = column + 3 * tap - 2;
      if (i < 0 || i >= kHeight || j < 0 || j >= kWidth) continue;
      sum += w[static_cast<std::size_t>((channel * 2 + from) * 2 + tap)] *
             x[static_cast<std::size_t>((from * kHeight + i) * kWidth + j)];
    }
  }
  return sum;
}

TEST_CASE("a kernel may load bytes after its last argument that it does not use, on every GPU") {
  std::vector<float> x(2 * kHeight * kWidth), w = {1, -2, 3, 4, -5, 6, 7, 8};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  for (const GfxTarget& gfx : gfx_targets()) {
    CAPTURE(gfx.name);
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = open_isa_device(DeviceSpec::parse("isa:" + std::string(gfx.name)).value()).value();
    const Program program = compile(convolution(), options).value();
    Session session = Session::create(program).value();
    std::vector<float> y(2 * kRows * kColumns);
    const TensorBinding inputs[] = {bind(x, {1, 2, kHeight, kWidth}), bind(w)};
    const TensorBinding outputs[] = {bind(y, {1, 2, kRows, kColumns})};
    const DimBinding dims[] = {{"n", kN}};
    REQUIRE(session.run(inputs, outputs, dims).message() == "");
    std::size_t next = 0;
    for (std::int64_t channel = 0; channel < 2; ++channel) {
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t column = 0; column < kColumns; ++column) {
          CHECK(y[next++] == expected(x, w, channel, row, column));
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
