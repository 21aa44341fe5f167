// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/jit/xbyak/gemm_harness.h"

namespace millrace::gemm_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const std::vector<float> kValues = {
    0.0f,   -0.0f, 1.0f,   -1.0f,   0.5f,    -0.5f,         1.5f,          2.5f,           -2.5f, 3.7f, -3.7f, 1e30f,
    -1e30f, 3e38f, 1e-40f, -1e-40f, 8388609, 2147483520.0f, 2147483648.0f, -2147483648.0f, -3e9f, kInf, -kInf, kNaN};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

using Op = std::function<BodyValue(BodyBuilder&, BodyValue x, BodyValue y)>;
using Reference = std::function<float(float x, float y)>;

/// Every pair of awkward values: x lies along columns, y along rows; the product itself is not used.
void check_op(const Op& op, const Reference& reference) {
  const auto count = static_cast<std::int64_t>(kValues.size());
  const GemmCase c{.m = count, .n = count, .k = 2};
  const LoopKernel kernel =
      make_gemm(c, {Spread::kPerColumn, Spread::kPerRow}, [&](BodyBuilder& b, BodyValue, const Element& e) {
        const BodyValue x = e(0);
        return std::vector{op(b, x, e(1))};
      });
  for (const IsaLevel isa : generated_levels()) {
    GemmRun run(kernel, isa, true, [](std::size_t operand, std::size_t i) { return operand < 2 ? 1.0f : kValues[i]; });
    run.run();
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::int64_t n = 0; n < count; ++n) {
        const float x = kValues[static_cast<std::size_t>(n)], y = kValues[static_cast<std::size_t>(m)];
        const float result = run.result().floats()[c_at(c, 0, m, n)];
        INFO(to_text(isa) << " x " << x << " y " << y << " gives " << result << ", expected " << reference(x, y));
        CHECK(same(result, reference(x, y)));
      }
    }
  }
}

float min_of(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

float max_of(float x, float y) { return -min_of(-x, -y); }

std::int32_t to_int(float x) {
  if (std::isnan(x)) return 0;
  if (x >= 2147483648.0f) return std::numeric_limits<std::int32_t>::max();
  if (x <= -2147483648.0f) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(x);
}

std::int32_t bits_of(float x) { return std::bit_cast<std::int32_t>(x); }
float from_bits(std::int64_t bits) { return std::bit_cast<float>(static_cast<std::int32_t>(bits)); }

TEST_CASE("arithmetic in an epilogue rounds once per op and keeps special values") {
  check_op([](auto& b, auto x, auto y) { return b.add(x, y); }, [](float x, float y) { return x + y; });
  check_op([](auto& b, auto x, auto y) { return b.sub(x, y); }, [](float x, float y) { return x - y; });
  check_op([](auto& b, auto x, auto y) { return b.mul(x, y); }, [](float x, float y) { return x * y; });
  check_op([](auto& b, auto x, auto y) { return b.div(x, y); }, [](float x, float y) { return x / y; });
  check_op([](auto& b, auto x, auto y) { return b.mul_add(x, y, x); },
           [](float x, float y) { return std::fma(x, y, x); });
  check_op([](auto& b, auto x, auto) { return b.neg(x); }, [](float x, float) { return -x; });
  check_op([](auto& b, auto x, auto) { return b.abs(x); }, [](float x, float) { return std::fabs(x); });
  check_op([](auto& b, auto x, auto) { return b.sqrt(x); }, [](float x, float) { return std::sqrt(x); });
  check_op([](auto& b, auto x, auto) { return b.floor(x); }, [](float x, float) { return std::floor(x); });
  check_op([](auto& b, auto x, auto) { return b.ceil(x); }, [](float x, float) { return std::ceil(x); });
  check_op([](auto& b, auto x, auto) { return b.trunc(x); }, [](float x, float) { return std::trunc(x); });
  check_op([](auto& b, auto x, auto) { return b.round_even(x); }, [](float x, float) { return std::nearbyint(x); });
}

TEST_CASE("min and max propagate NaN and order zeros") {
  check_op([](auto& b, auto x, auto y) { return b.min(x, y); }, min_of);
  check_op([](auto& b, auto x, auto y) { return b.max(x, y); }, max_of);
  check_op([](auto& b, auto x, auto) { return b.max(x, b.constant_like(x, 0)); },
           [](float x, float) { return max_of(x, 0.0f); });
}

TEST_CASE("comparisons are false with NaN, and select takes whole values") {
  const auto choose = [](auto compare) {
    return [compare](BodyBuilder& b, BodyValue x, BodyValue y) { return b.select(compare(b, x, y), x, b.neg(y)); };
  };
  check_op(choose([](auto& b, auto x, auto y) { return b.eq(x, y); }),
           [](float x, float y) { return x == y ? x : -y; });
  check_op(choose([](auto& b, auto x, auto y) { return b.ne(x, y); }),
           [](float x, float y) { return x != y ? x : -y; });
  check_op(choose([](auto& b, auto x, auto y) { return b.lt(x, y); }), [](float x, float y) { return x < y ? x : -y; });
  check_op(choose([](auto& b, auto x, auto y) { return b.ge(x, y); }),
           [](float x, float y) { return x >= y ? x : -y; });
  check_op(choose([](auto& b, auto x, auto y) { return b.bit_and(b.lt(x, y), b.lt(b.neg(x), y)); }),
           [](float x, float y) { return x < y && -x < y ? x : -y; });
  check_op(choose([](auto& b, auto x, auto y) { return b.eq(b.lt(x, y), b.lt(y, x)); }),
           [](float x, float y) { return (x < y) == (y < x) ? x : -y; });
  check_op([](auto& b, auto x, auto y) { return b.convert(DType::kF32, b.le(x, y)); },
           [](float x, float y) { return x <= y ? 1.0f : 0.0f; });
  check_op([](auto& b, auto x, auto y) { return b.select(b.convert(DType::kBool, x), x, y); },
           [](float x, float y) { return x != 0 ? x : y; });
}

TEST_CASE("integers in an epilogue wrap, saturate from floats, and compare signed") {
  const auto i32 = [](auto& b, auto x) { return b.bitcast(DType::kI32, x); };
  const auto f32 = [](auto& b, auto x) { return b.bitcast(DType::kF32, x); };
  check_op([](auto& b, auto x, auto) { return b.convert(DType::kF32, b.convert(DType::kI32, x)); },
           [](float x, float) { return static_cast<float>(to_int(x)); });
  check_op([&](auto& b, auto x, auto y) { return f32(b, b.add(i32(b, x), i32(b, y))); },
           [](float x, float y) { return from_bits(std::int64_t{bits_of(x)} + bits_of(y)); });
  check_op([&](auto& b, auto x, auto y) { return f32(b, b.mul(i32(b, x), b.neg(i32(b, y)))); },
           [](float x, float y) { return from_bits(std::int64_t{bits_of(x)} * -std::int64_t{bits_of(y)}); });
  check_op([&](auto& b, auto x, auto) { return f32(b, b.shl(i32(b, x), b.constant_int(DType::kI32, 35))); },
           [](float x, float) { return from_bits(std::int64_t{bits_of(x)} << 3); });
  check_op([&](auto& b, auto x, auto) { return f32(b, b.shr(i32(b, x), b.constant_int(DType::kI32, 4))); },
           [](float x, float) { return from_bits(bits_of(x) >> 4); });
  check_op([&](auto& b, auto x, auto y) { return b.select(b.lt(i32(b, x), i32(b, y)), x, y); },
           [](float x, float y) { return bits_of(x) < bits_of(y) ? x : y; });
  check_op([&](auto& b, auto x, auto y) { return b.select(b.le(i32(b, x), i32(b, y)), x, y); },
           [](float x, float y) { return bits_of(x) <= bits_of(y) ? x : y; });
  check_op([&](auto& b, auto x, auto y) { return b.select(b.ne(i32(b, x), i32(b, y)), x, b.neg(y)); },
           [](float x, float y) { return bits_of(x) != bits_of(y) ? x : -y; });
}

TEST_CASE("bias, residual and relu are applied to the finished sum") {
  for (const GemmCase& c : {GemmCase{.m = 37, .n = 53, .k = 29}, GemmCase{.m = 64, .n = 96, .k = 3000, .padding = 5},
                            GemmCase{.m = 20, .n = 33, .k = 10, .b_is_transposed = true, .c_is_transposed = true}}) {
    const std::vector<Spread> spreads = {Spread::kPerColumn, Spread::kPerRow, Spread::kFull, Spread::kScalar};
    const LoopKernel kernel = make_gemm(c, spreads, [](BodyBuilder& b, BodyValue sum, const Element& e) {
      BodyValue value = b.add(sum, e(0));
      value = b.mul(value, e(3));
      value = b.add(b.add(value, e(1)), e(2));
      return std::vector{b.max(value, b.constant_like(value, 0))};
    });
    for (const IsaLevel isa : generated_levels()) {
      // Values of equal sign: sums do not cancel, so the bound of the product carries through.
      GemmRun run(kernel, isa, true, [](std::size_t operand, std::size_t i) {
        return static_cast<float>((i * 7 + operand * 3) % 13) / (operand < 2 ? 13.0f : 2.0f);
      });
      run.run();
      const auto finish = [&](double sum, std::int64_t m, std::int64_t n) {
        const double biased = (sum + run.operand(2).floats()[n]) * run.operand(5).floats()[0];
        return biased + run.operand(3).floats()[m] + run.operand(4).floats()[c_at(c, 0, m, n)];
      };
      CHECK_EQ(find_error(c, run, finish), "");
    }
  }
}

TEST_CASE("several results are stored from one product") {
  const GemmCase c{.m = 19, .n = 45, .k = 2500};
  const LoopKernel kernel = make_gemm(c, {}, [](BodyBuilder& b, BodyValue sum, const Element&) {
    return std::vector{sum, b.neg(sum), b.constant_like(sum, 3)};
  });
  for (const IsaLevel isa : generated_levels()) {
    GemmRun run(kernel, isa);
    run.run();
    CHECK_EQ(find_error(c, run), "");
    for (std::size_t i = 0; i < run.result().num_floats(); ++i) {
      REQUIRE_EQ(run.result(1).floats()[i], -run.result(0).floats()[i]);
      REQUIRE_EQ(run.result(2).floats()[i], 3.0f);
    }
  }
}

/// Many values that live at once take registers from the tile, down to a tile of one vector.
TEST_CASE("an epilogue that holds many values gets a smaller tile") {
  const GemmCase c{.m = 20, .n = 40, .k = 30};
  const LoopKernel kernel = make_gemm(c, {Spread::kPerColumn}, [](BodyBuilder& b, BodyValue sum, const Element& e) {
    const BodyValue bias = e(0);
    std::vector<BodyValue> powers = {sum};
    for (int i = 0; i < 11; ++i) powers.push_back(b.add(powers.back(), bias));
    BodyValue total = powers.back();
    for (std::size_t i = powers.size() - 1; i-- > 0;) total = b.add(total, powers[i]);
    return std::vector{total};
  });
  for (const IsaLevel isa : generated_levels()) {
    GemmRun run(kernel, isa);
    run.run();
    for (std::int64_t m = 0; m < c.m; ++m) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        const Expected sum = expected_sum(c, run.operand(0).floats(), run.operand(1).floats(), 0, m, n);
        const double expected = 12 * sum.sum + 66 * static_cast<double>(run.operand(2).floats()[n]);
        CHECK_EQ(run.result().floats()[c_at(c, 0, m, n)], doctest::Approx(expected).epsilon(1e-4));
      }
    }
  }
}

/// Nine accesses: more than there are registers for their addresses. Small integers: every sum is exact.
TEST_CASE("a long epilogue is a loop over the tile's cells, even if rows end inside a vector") {
  constexpr std::size_t kNumAdditions = 60;
  const std::vector<Spread> spreads = {Spread::kFull, Spread::kPerColumn, Spread::kPerRow,   Spread::kScalar,
                                       Spread::kFull, Spread::kPerRow,    Spread::kPerColumn};
  const auto finish = [](BodyBuilder& b, BodyValue sum, const Element& e) {
    BodyValue value = sum;
    for (std::size_t i = 0; i < kNumAdditions; ++i) value = b.add(value, e(i % 7));
    return std::vector{value, b.sub(value, sum)};
  };
  for (const std::int64_t n : {2, 7, 16, 23, 40, 75}) {
    for (const GemmCase& c : {GemmCase{.m = 29, .n = n, .k = 20}, GemmCase{.m = 5, .n = n, .k = 20, .padding = 3},
                              GemmCase{.batch = 2, .m = 100, .n = n, .k = 2000}}) {
      for (const IsaLevel isa : generated_levels()) {
        GemmRun run(make_gemm(c, spreads, finish), isa, true,
                    [](std::size_t operand, std::size_t i) { return static_cast<float>((i * 5 + operand) % 7); });
        run.run();
        const auto added = [&](double, std::int64_t m, std::int64_t column) {
          const std::size_t at[] = {c_at(c, 0, m, column), static_cast<std::size_t>(column),
                                    static_cast<std::size_t>(m), 0};
          constexpr std::size_t kPlace[] = {0, 1, 2, 3, 0, 2, 1};
          double sum = 0;
          for (std::size_t i = 0; i < kNumAdditions; ++i) sum += run.operand(2 + i % 7).floats()[at[kPlace[i % 7]]];
          return sum;
        };
        INFO(c.to_text(), " ", to_text(isa));
        CHECK(run.image().code_bytes < 16 << 10);
        std::string error;
        for (std::int64_t m = 0; m < c.m && error.empty(); ++m) {
          for (std::int64_t column = 0; column < c.n && error.empty(); ++column) {
            const Expected sum = expected_sum(c, run.operand(0).floats(), run.operand(1).floats(), 0, m, column);
            const std::size_t at = c_at(c, 0, m, column);
            const double rest = added(0, m, column);
            if (run.result(0).floats()[at] != sum.sum + rest || run.result(1).floats()[at] != rest) {
              error = "row " + std::to_string(m) + " column " + std::to_string(column);
            }
          }
        }
        CHECK(error == "");
      }
    }
  }
}

}  // namespace
}  // namespace millrace::gemm_test
