// SPDX-License-Identifier: Apache-2.0
// bit_cast of every 16-bit pattern, stored by itself, fused and folded, on every level of the host and on GPUs.
#include <cstring>

#include <doctest/doctest.h>

#include "tests/graph/run/run_on_levels.h"

namespace millrace::test {
namespace {

using T = millrace::Tensor;

constexpr std::int64_t kPatterns = 1 << 16;

reference::Tensor every_pattern() {
  reference::Tensor x(DType::kU16, {kPatterns});
  for (std::int64_t i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(x.element(i), &bits, sizeof(bits));
  }
  return x;
}

/// Whether the bits are a NaN of the 16-bit float.
bool is_nan_pattern(DType dtype, std::int64_t bits) {
  return std::isnan(reference::decode_float16(dtype, static_cast<std::uint16_t>(bits)));
}

std::int64_t bits_at(const reference::Tensor& tensor, std::int64_t i) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, tensor.element(i), sizeof(bits));
  return bits;
}

TEST_CASE("bit_cast keeps every pattern of 16 bits, through memory and through registers") {
  for (const DType half : {DType::kF16, DType::kBF16}) {
    GraphBuilder builder;
    const T x = builder.input("x", DType::kU16, {kPatterns});
    const T stored = bit_cast(x, half);
    builder.output("stored", stored);
    builder.output("back", bit_cast(stored, DType::kI16));
    builder.output("negated", bit_cast(-bit_cast(x, half), DType::kU16));
    const Graph graph = builder.finish().value();
    for (const std::string& device : cpu_levels()) {
      CAPTURE(device);
      CAPTURE(to_text(half));
      const std::vector<reference::Tensor> found = run_once(compile_on(device, graph), std::vector{every_pattern()});
      std::int64_t num_lost = 0, num_wrong = 0;
      for (std::int64_t i = 0; i < kPatterns; ++i) {
        num_lost += bits_at(found[0], i) != i || bits_at(found[1], i) != i;
        if (!is_nan_pattern(half, i)) num_wrong += bits_at(found[2], i) != (i ^ 0x8000);
      }
      CHECK(num_lost == 0);
      CHECK(num_wrong == 0);
    }
  }
}

TEST_CASE("bit_cast keeps every pattern of 16 bits on GPUs") {
  for (const DType half : {DType::kF16, DType::kBF16}) {
    GraphBuilder builder;
    const T stored = bit_cast(builder.input("x", DType::kU16, {kPatterns}), half);
    builder.output("stored", stored);
    builder.output("back", bit_cast(stored, DType::kI16));
    const Graph graph = builder.finish().value();
    for (const char* device : {"sim:gfx90a", "isa:gfx1100"}) {
      CAPTURE(device);
      CAPTURE(to_text(half));
      const std::vector<reference::Tensor> found = run_once(compile_on(device, graph), std::vector{every_pattern()});
      CHECK(found[0].bytes == every_pattern().bytes);
      CHECK(found[1].bytes == every_pattern().bytes);
    }
  }
}

TEST_CASE("a folded bit_cast of constants has the bits of the kernel") {
  const std::vector<std::uint16_t> bits = {0, 0x8000, 0x3c00, 0x7c01, 0xfe05, 0x0001};
  for (const DType half : {DType::kF16, DType::kBF16}) {
    GraphBuilder builder;
    const T x = builder.constant<std::uint16_t>({6}, bits);
    builder.output("stored", bit_cast(x, half));
    builder.output("back", bit_cast(bit_cast(x, half), DType::kI16));
    Graph graph = builder.finish().value();
    REQUIRE(fold_constants(graph).ok());
    for (const GraphOutput& output : graph.outputs) {
      const auto& constant = std::get<ConstantNode>(graph.nodes[output.value.node].what);
      CHECK(std::memcmp(constant.data.data(), bits.data(), 2 * bits.size()) == 0);
    }
  }
}

TEST_CASE("bit_cast to the same dtype leaves no node") {
  GraphBuilder builder;
  builder.output("y", bit_cast(builder.input("x", DType::kF32, {4}), DType::kF32) + 1.0f);
  Graph graph = builder.finish().value();
  REQUIRE(simplify_algebra(graph).ok());
  REQUIRE(eliminate_dead_nodes(graph).ok());
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<OpNode>(&node.what);
    CHECK((op == nullptr || op->op != Op::bit_cast));
  }
}

}  // namespace
}  // namespace millrace::test
