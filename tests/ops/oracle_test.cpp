// SPDX-License-Identifier: Apache-2.0
// The oracle itself, on values computed by hand: the reference of all ops must not be its own witness.
#include <doctest/doctest.h>

#include "tests/reference/evaluate.h"

using namespace millrace;
using reference::make_tensor;
using reference::Tensor;

namespace {

Tensor f32(const reference::Extents& extents, const std::vector<double>& values) {
  return make_tensor(DType::kF32, extents, values);
}

std::vector<double> doubles(const Tensor& tensor) { return reference::read_all<double>(tensor); }

}  // namespace

TEST_CASE("16-bit floats decode and encode each pattern to itself, and round ties to even") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const double value = reference::decode_float16(dtype, static_cast<std::uint16_t>(bits));
      if (!std::isnan(value)) CHECK(reference::encode_float16(dtype, value) == bits);
    }
  }
  CHECK(reference::encode_float16(DType::kF16, 1 + 0x1p-11L) == 0x3c00);
  CHECK(reference::encode_float16(DType::kF16, 1 + 3 * 0x1p-11L) == 0x3c02);
  CHECK(reference::encode_float16(DType::kF16, 65519) == 0x7bff);
  CHECK(reference::encode_float16(DType::kF16, 65520) == 0x7c00);
  CHECK(reference::encode_float16(DType::kF16, 0x1p-25L) == 0);
  CHECK(reference::encode_float16(DType::kBF16, 0x1.02p0L) == 0x3f81);
}

TEST_CASE("integers wrap, and divide by zero to zero") {
  const Tensor x = make_tensor<double>(DType::kI32, {3}, {2147483647, -2147483648.0, 7});
  const Tensor y = make_tensor<double>(DType::kI32, {3}, {1, -1, 0});
  const Tensor both[] = {x, y};
  CHECK(doubles(reference::evaluate(Op::add, NoAttrs{}, both)[0]) == std::vector<double>{-2147483648.0, 2147483647, 7});
  CHECK(doubles(reference::evaluate(Op::div, NoAttrs{}, both)[0]) == std::vector<double>{2147483647, -2147483648.0, 0});
  CHECK(doubles(reference::evaluate(Op::rem, NoAttrs{}, both)[0]) == std::vector<double>{0, 0, 0});
}

TEST_CASE("a matrix product, a convolution and a pool by hand") {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4}), y = f32({2, 2}, {5, 6, 7, 8});
  const Tensor both[] = {x, y};
  const auto product = reference::evaluate(Op::dot, DotAttrs{.x_contract = {1}, .y_contract = {0}}, both);
  CHECK(doubles(product[0]) == std::vector<double>{19, 22, 43, 50});
  const Tensor image[] = {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 1, 2, 2}, {1, 10, 100, 1000})};
  const auto convolved = reference::evaluate(Op::conv2d, Conv2dAttrs{.padding = {0, 1, 0, 0}}, image);
  CHECK(doubles(convolved[0]) == std::vector<double>{4010, 5421, 6532});
  const auto averaged = reference::evaluate(Op::avg_pool2d, Pool2dAttrs{.padding = {1, 0, 0, 0}}, {image, 1});
  CHECK(doubles(averaged[0]) == std::vector<double>{1.5});
}

TEST_CASE("sort puts NaN greatest, keeps equals in order in both directions, and takes -0 for +0") {
  const Tensor x = f32({5}, {0.0, NAN, -0.0, -1, INFINITY});
  const auto ascending = reference::evaluate(Op::sort, SortAttrs{.axis = 0}, {&x, 1});
  CHECK(doubles(ascending[1]) == std::vector<double>{3, 0, 2, 4, 1});
  const auto descending = reference::evaluate(Op::sort, SortAttrs{.axis = 0, .descending = true}, {&x, 1});
  CHECK(doubles(descending[1]) == std::vector<double>{1, 4, 0, 2, 3});
  CHECK(std::signbit(doubles(descending[0])[3]));
}

TEST_CASE("scans by hand: each result covers the elements so far, and no elements give the identity") {
  const Tensor x = make_tensor<double>(DType::kI8, {2, 3}, {3, -5, 100, 7, 2, -1});
  const auto of = [](Op op, const ScanAttrs& attributes, const Tensor& operand) {
    return doubles(reference::evaluate(op, attributes, {&operand, 1})[0]);
  };
  const ScanAttrs inclusive{.axis = 1}, exclusive{.axis = 1, .exclusive = true};
  CHECK(of(Op::cumulative_sum, inclusive, x) == std::vector<double>{3, -2, 98, 7, 9, 8});
  CHECK(of(Op::cumulative_prod, inclusive, x) == std::vector<double>{3, -15, 36, 7, 14, -14});  // -1500 wraps
  CHECK(of(Op::cumulative_max, {.axis = 0, .reverse = true}, x) == std::vector<double>{7, 2, 100, 7, 2, -1});
  CHECK(of(Op::cumulative_min, inclusive, x) == std::vector<double>{3, -5, -5, 7, 2, -1});
  CHECK(of(Op::cumulative_sum, exclusive, x) == std::vector<double>{0, 3, -2, 0, 7, 9});
  CHECK(of(Op::cumulative_prod, exclusive, x) == std::vector<double>{1, 3, -15, 1, 7, 14});
  CHECK(of(Op::cumulative_max, exclusive, x) == std::vector<double>{-128, 3, 3, -128, 7, 7});
  CHECK(of(Op::cumulative_min, exclusive, x) == std::vector<double>{127, 3, -5, 127, 7, 2});
  const Tensor floats = f32({1, 2}, {NAN, 0});
  CHECK(of(Op::cumulative_max, exclusive, floats)[0] == -INFINITY);
  CHECK(of(Op::cumulative_min, exclusive, floats)[0] == INFINITY);
  CHECK(std::isnan(of(Op::cumulative_min, inclusive, floats)[1]));
}

TEST_CASE("argmax takes the first of equals, and NaN before all") {
  const Tensor x = f32({2, 3}, {1, 5, 5, 7, NAN, NAN});
  CHECK(doubles(reference::evaluate(Op::argmax, ArgAttrs{1}, {&x, 1})[0]) == std::vector<double>{1, 1});
}

TEST_CASE("floats convert to integers towards zero, saturate, and NaN gives 0") {
  const Tensor x = f32({6}, {-1.9, 2.5, 1e20, -INFINITY, NAN, 127.5});
  const auto bytes = reference::evaluate(Op::cast, CastAttrs{DType::kI8}, {&x, 1});
  CHECK(doubles(bytes[0]) == std::vector<double>{-1, 2, 127, -128, 0, 127});
  const auto unsigned_longs = reference::evaluate(Op::cast, CastAttrs{DType::kU64}, {&x, 1});
  CHECK(doubles(unsigned_longs[0]) == std::vector<double>{0, 2, 0x1p64, 0, 0, 127});
}

TEST_CASE("a scatter multiplies in the order of the indices, and rounds each product") {
  const Tensor indices = make_tensor<double>(DType::kI32, {3}, {1, -1, 1});
  const Tensor floats[] = {f32({2}, {3, 1e30}), indices, f32({3}, {1e30, 0.5, 2})};
  CHECK(doubles(reference::evaluate(Op::scatter_mul, GatherAttrs{0}, floats)[0]) == std::vector<double>{3, INFINITY});
  const Tensor bytes[] = {make_tensor<double>(DType::kU8, {2}, {3, 7}), indices,
                          make_tensor<double>(DType::kU8, {3}, {100, 1, 2})};
  CHECK(doubles(reference::evaluate(Op::scatter_mul, GatherAttrs{0}, bytes)[0]) == std::vector<double>{3, 1400 % 256});
}

TEST_CASE("bit_cast copies bytes") {
  const Tensor x = f32({3}, {1, -2, -0.0});
  const auto bits = reference::evaluate(Op::bit_cast, CastAttrs{DType::kI32}, {&x, 1});
  CHECK(doubles(bits[0]) == std::vector<double>{0x3f800000, -0x40000000, -0x80000000LL});
  CHECK(reference::evaluate(Op::bit_cast, CastAttrs{DType::kF32}, bits)[0].bytes == x.bytes);
}

TEST_CASE("sin and cos of large angles are those of the angle itself") {
  const Tensor x = make_tensor<double>(DType::kF64, {2}, {1e22, 0x1.6ac5b262ca1ffp+849});
  CHECK(doubles(reference::evaluate(Op::sin, NoAttrs{}, {&x, 1})[0]) == std::vector<double>{-0.85220084976718880, 1});
  CHECK(doubles(reference::evaluate(Op::cos, NoAttrs{}, {&x, 1})[0]) ==
        std::vector<double>{0.52321478539513895, -4.6871659242546276e-19});
}

TEST_CASE("an ulp is that of the expected value") {
  CHECK(reference::ulp_distance(DType::kF32, 1 + 0x1p-23L, 1) == 1);
  CHECK(reference::ulp_distance(DType::kF32, 1 - 0x1p-24L, 1) == 0.5);
  CHECK(reference::ulp_distance(DType::kF32, 0x1p-149L, 0) == 1);
  CHECK(reference::ulp_distance(DType::kF32, NAN, NAN) == 0);
  CHECK(std::isinf(reference::ulp_distance(DType::kF32, NAN, 1)));
}

TEST_CASE("the bound of a long sum excludes one accumulator, but allows nested ones") {
  constexpr std::int64_t n = 1'000'000;
  CHECK(reference::roundings_of_sum(100, reference::kSumBlock) == 102);
  CHECK(reference::roundings_of_sum(16'384, reference::kSumBlock) == 2 * 128 + 18);
  CHECK(reference::roundings_of_sum(n, reference::kSumBlock) == 3 * 128 + 18);
  CHECK(reference::roundings_of_sum(n, reference::kProductBlock) == 3 * 512 + 18);
  const Tensor x = f32({n}, std::vector<double>(n, 0.1));
  const ReduceAttrs all = {.axes = {0}};
  const double exact = doubles(reference::evaluate(Op::reduce_sum, all, {&x, 1})[0])[0];
  const auto bound = static_cast<double>(reference::accumulation_bound(Op::reduce_sum, all, {&x, 1})[0]);
  float flat = 0;
  std::vector<float> sums;
  for (std::int64_t i = 0; i < n; ++i) {
    flat += 0.1f;
    if (i % 128 == 0) sums.push_back(0);
    sums.back() += 0.1f;
  }
  while (sums.size() > 1) {
    std::vector<float> next((sums.size() + 127) / 128, 0.0f);
    for (std::size_t i = 0; i < sums.size(); ++i) next[i / 128] += sums[i];
    sums = std::move(next);
  }
  CHECK(std::fabs(static_cast<double>(flat) - exact) > bound);
  CHECK(std::fabs(static_cast<double>(sums[0]) - exact) < bound);
}
