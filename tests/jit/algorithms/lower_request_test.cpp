// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/map/nests.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

using test::forced;
using test::interpreted_target;
using test::matmul_nest;
using test::run_sequence;

struct Conv {
  std::int64_t channels = 2, size = 7, filters = 3, window = 3, stride = 1, pad = 1;
  std::int64_t out() const { return (size + 2 * pad - window) / stride + 1; }
};

/// y[f, i, j] = sum over c, u, v of x[c, i*stride + u - pad, j*stride + v - pad] * w[f, c, u, v]
LoopKernel conv_nest(const Conv& conv) {
  LoopKernelBuilder nest("conv");
  const AffineIndex f = nest.parallel("f", conv.filters);
  const AffineIndex i = nest.parallel("i", conv.out()), j = nest.parallel("j", conv.out());
  const AffineIndex c = nest.reduction("c", conv.channels);
  const AffineIndex u = nest.reduction("u", conv.window), v = nest.reduction("v", conv.window);
  const OperandId x = nest.operand("x", {DType::kF32, {conv.channels, conv.size, conv.size}});
  const OperandId w = nest.operand("w", {DType::kF32, {conv.filters, conv.channels, conv.window, conv.window}});
  BodyBuilder& term = nest.term();
  const BodyValue element = nest.load(term, x, {c, i * conv.stride + u - conv.pad, j * conv.stride + v - conv.pad},
                                      {.fill = Scalar::of(0.0f)});
  const BodyValue product = term.mul(element, nest.load(term, w, {f, c, u, v}));
  nest.store("y", {DType::kF32, {conv.filters, conv.out(), conv.out()}}, {f, i, j},
             nest.reduce(ReductionKind::kSum, product));
  return nest.finish().value();
}

std::vector<float> small_integers(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = static_cast<float>(random() % 9) - 4;
  return values;
}

float conv_at(const Conv& conv, const std::vector<float>& x, const std::vector<float>& w, std::int64_t f,
              std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t c = 0; c < conv.channels; ++c) {
    for (std::int64_t u = 0; u < conv.window; ++u) {
      for (std::int64_t v = 0; v < conv.window; ++v) {
        const std::int64_t row = i * conv.stride + u - conv.pad, column = j * conv.stride + v - conv.pad;
        if (row < 0 || row >= conv.size || column < 0 || column >= conv.size) continue;
        const auto weight = static_cast<std::size_t>(((f * conv.channels + c) * conv.window + u) * conv.window + v);
        sum += double{x[static_cast<std::size_t>((c * conv.size + row) * conv.size + column)]} * w[weight];
      }
    }
  }
  return static_cast<float>(sum);
}

void check_conv(const Conv& conv, const std::string& algorithm, IsaLevel level) {
  const Result<KernelSequence> sequence = lower_request(conv_nest(conv), interpreted_target(level), forced(algorithm));
  REQUIRE(sequence.status().message() == "");
  CHECK(sequence->algorithm == algorithm);
  CHECK(sequence->kernels.size() == (algorithm == "loop_pad_first" ? 2 : 1));
  std::vector<float> x = small_integers(conv.channels * conv.size * conv.size, 1);
  std::vector<float> w = small_integers(conv.filters * conv.channels * conv.window * conv.window, 2);
  std::vector<float> y(static_cast<std::size_t>(conv.filters * conv.out() * conv.out()));
  CHECK(run_sequence(*sequence, {x.data(), w.data()}, {y.data()}, {}) == 0);
  std::size_t num_wrong = 0, at = 0;
  for (std::int64_t f = 0; f < conv.filters; ++f) {
    for (std::int64_t i = 0; i < conv.out(); ++i) {
      for (std::int64_t j = 0; j < conv.out(); ++j) num_wrong += y[at++] != conv_at(conv, x, w, f, i, j);
    }
  }
  CHECK(num_wrong == 0);
}

TEST_CASE("a padded convolution gives the same with guarded loads and with padding first") {
  for (const char* algorithm : {"loop_direct", "loop_pad_first"}) {
    for (const IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
      check_conv({}, algorithm, level);
      check_conv({.channels = 3, .size = 20, .filters = 9, .pad = 2}, algorithm, level);
      check_conv({.size = 9, .filters = 1, .window = 5, .stride = 2, .pad = 2}, algorithm, level);
      check_conv({.size = 6, .window = 1, .stride = 3, .pad = 1}, algorithm, level);
    }
  }
}

TEST_CASE("a large padded convolution pads first by default, a small one does not, and the reason is given") {
  const Target target = interpreted_target(IsaLevel::kAvx2);
  const Result<KernelSequence> big =
      lower_request(conv_nest({.channels = 16, .size = 28, .filters = 16}), target, forced(""));
  REQUIRE(big.status().message() == "");
  CHECK(test::golden_problem("sequence_pads_first.txt", to_text(*big)) == "");
  const Result<KernelSequence> small = lower_request(conv_nest({}), target, forced(""));
  REQUIRE(small.status().message() == "");
  CHECK(to_text(*small) == R"(sequence "loop_direct" {
  refused loop_pad_first: 2646 products, expected at least 262144 to pay off
  kernel conv by interpreter in 1 groups (operand 0, operand 1, result 0)
}
)");
}

TEST_CASE("a request that cannot be lowered is refused with every reason") {
  const Target target = interpreted_target(IsaLevel::kAvx2);
  CHECK(lower_request(matmul_nest(2, 2, 2), target, forced("loop_pad_first")).status().message() ==
        "lower 'matmul' for cpu:avx2: no algorithm lowers it; loop_pad_first: no operand is padded");
  CHECK(lower_request(matmul_nest(2, 2, 2), target, forced("merge_sort")).status().message() ==
        "lower 'matmul' for cpu:avx2: no algorithm lowers it; merge_sort: lowers sorts, not loops");
  CHECK(lower_request(matmul_nest(2, 2, 2), target, forced("magic")).status().message() ==
        "lower 'matmul': unknown algorithm 'magic'; expected one of loop_pad_first, lane_arg_parts, reduce_parts, "
        "loop_direct, "
        "row_network, lane_topk_parts, lane_sort_parts, lane_sort, topk_heap, counting_sort, radix_sort, merge_sort, "
        "gpu_topk_lanes, "
        "gpu_tile_sort, gpu_topk_parts, "
        "gpu_topk_select, gpu_radix_sort, lane_scan_parts, lane_scan, scan_lines, gpu_scan_columns, gpu_scan_rows, "
        "gpu_scan_pieces, scatter_lines");
  LoopKernel maximum = conv_nest({});
  maximum.reductions[0].kind = ReductionKind::kMax;
  CHECK(lower_request(maximum, target, forced("loop_pad_first")).status().message() ==
        "lower 'conv' for cpu:avx2: no algorithm lowers it; loop_pad_first: a reduce, expected a sum of products");
  LoopKernel symbolic = conv_nest({});
  symbolic.domain[1].extent = Dim("i").at_least(1);
  CHECK(lower_request(symbolic, target, forced("loop_pad_first")).status().message() ==
        "lower 'conv' for cpu:avx2: no algorithm lowers it; loop_pad_first: the padding of axis 1 of 'x' is known only "
        "at run time");
}

TEST_CASE("a sequence that binds its buffers wrongly does not verify") {
  const Result<KernelSequence> sequence =
      lower_request(matmul_nest(2, 2, 2), interpreted_target(IsaLevel::kAvx2), forced("loop_direct"));
  REQUIRE(sequence.ok());
  KernelSequence broken = *sequence;
  broken.kernels[0].buffers[2] = {SequenceOperand::Kind::kOperand, 1};
  CHECK(verify(broken).message() ==
        "sequence 'loop_direct': kernel 'matmul': writes buffer 2, which is operand 1, expected a result or scratch");
  broken.kernels[0].buffers[0] = {SequenceOperand::Kind::kScratch, 0};
  broken.kernels[0].buffers[2] = {SequenceOperand::Kind::kResult, 0};
  CHECK(verify(broken).message() ==
        "sequence 'loop_direct': kernel 'matmul': buffer 0 is scratch 0, expected less than 0");
  broken.kernels[0].buffers.pop_back();
  CHECK(verify(broken).message() == "sequence 'loop_direct': kernel 'matmul': 2 buffers bound, expected 3");
  broken.kernels.clear();
  CHECK(verify(broken).message() == "sequence 'loop_direct': no kernel");
  broken = *sequence;
  broken.scratch = {{"keys", 8}, {"counts", 8}, {"keys", 16}};
  CHECK(verify(broken).message() == "sequence 'loop_direct': scratch 'keys' occurs twice, expected unique names");
}

}  // namespace
}  // namespace millrace
