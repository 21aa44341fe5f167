// SPDX-License-Identifier: Apache-2.0
// How much the oracle allows if the kernel chooses the order of a sum: every order, but no lost term.
#include "tests/reference/ranges.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/difference.h"

using namespace millrace;
using reference::evaluate_ranges;
using reference::known;
using reference::make_tensor;
using reference::Range;
using reference::Tensor;
using test::find_outside;

namespace {

Tensor vector_of(const std::vector<float>& values, DType dtype = DType::kF32) {
  return make_tensor<double>(dtype, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()});
}

Range between(const std::vector<float>& low, const std::vector<float>& high) {
  return {vector_of(low), vector_of(high)};
}

Range range_of(Op op, const Attributes& attributes, std::initializer_list<const Range*> operands, double max_ulp = 0) {
  return evaluate_ranges({op, attributes, std::span(operands.begin(), operands.size()), max_ulp})[0];
}

std::vector<float> reals(std::size_t count, float low = 1) {
  std::mt19937 random(static_cast<std::uint32_t>(count));
  std::uniform_real_distribution<float> any(low, 2);
  std::vector<float> values(count);
  for (float& value : values) value = any(random);
  return values;
}

/// With at most `max_terms` terms in one accumulator, at most `max_terms` of these sums in the next, and likewise for
/// each further level: sums of neighbours, or of terms whose distance is the number of accumulators.
float nested_sum(std::vector<float> terms, std::size_t max_terms, bool of_neighbours) {
  while (terms.size() > 1) {
    std::vector<float> sums((terms.size() + max_terms - 1) / max_terms);
    for (std::size_t i = 0; i < terms.size(); ++i) sums[of_neighbours ? i / max_terms : i % sums.size()] += terms[i];
    terms = std::move(sums);
  }
  return terms[0];
}

const ReduceAttrs kAll{.axes = {0}};
const DotAttrs kInner{.x_contract = {0}, .y_contract = {0}};

}  // namespace

TEST_CASE("every order of a sum in nested accumulators is in its range, for random terms and for equal ones") {
  for (const std::size_t n : {2, 33, 500, 3000}) {
    std::vector<float> ascending = reals(n, -2);
    std::ranges::sort(ascending);
    for (const std::vector<float>& terms :
         {reals(n), reals(n, -2), ascending, std::vector(n, 0.1f), std::vector(n, 1.9999999f)}) {
      const Range x = known(vector_of(terms));
      const Range sum = range_of(Op::reduce_sum, kAll, {&x});
      for (const std::size_t max_terms : {2, 8, 64, 128}) {
        for (const bool of_neighbours : {true, false}) {
          const Tensor found = make_tensor<double>(DType::kF32, {}, {nested_sum(terms, max_terms, of_neighbours)});
          CHECK(find_outside(found, sum) == "");
        }
      }
    }
  }
}

TEST_CASE("a sum or a product of rows that lost a term is outside its range") {
  for (const std::size_t n : {2, 33, 500, 3000}) {
    const std::vector<float> terms = reals(n), others = reals(n + 1);
    const Range x = known(vector_of(terms)), y = known(vector_of({others.begin(), others.begin() + terms.size()}));
    const Range sum = range_of(Op::reduce_sum, kAll, {&x}), inner = range_of(Op::dot, kInner, {&x, &y});
    for (const std::size_t lost : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<float> fewer = terms;
      fewer[lost] = 0;
      const Tensor operands[] = {vector_of(fewer), y.low};
      CHECK(find_outside(reference::evaluate(Op::reduce_sum, kAll, {operands, 1})[0], sum) != "");
      CHECK(find_outside(reference::evaluate(Op::dot, kInner, operands)[0], inner) != "");
    }
  }
}

TEST_CASE("sums and products of whole numbers are known bit for bit, also for 16-bit floats") {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    std::vector<float> whole(3000), signs(3000);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = static_cast<float>(i * 7 % 9) - 4;
      signs[i] = i % 100 == 0 ? 2.0f : i % 100 == 50 ? 0.5f : i % 3 == 0 ? -1.0f : 1.0f;
    }
    const Range x = known(vector_of(whole, dtype)), y = known(vector_of(signs, dtype));
    CHECK(range_of(Op::reduce_sum, kAll, {&x}).all_known());
    CHECK(range_of(Op::cumulative_sum, ScanAttrs{.axis = 0}, {&x}).all_known());
    CHECK(range_of(Op::dot, kInner, {&x, &x}).all_known());
    CHECK(range_of(Op::reduce_prod, kAll, {&y}).all_known());
    CHECK_FALSE(range_of(Op::reduce_mean, kAll, {&x}).all_known());  // which divides
  }
  const Range thirds = known(vector_of({1.0f / 3, 2.0f / 3, 1000.0f / 3}));
  CHECK_FALSE(range_of(Op::reduce_sum, kAll, {&thirds}).all_known());
}

TEST_CASE("an infinity among the terms allows no other result") {
  const Range x = known(vector_of({1.1f, INFINITY, 2.3f})), nan = known(vector_of({1.1f, NAN, 2.3f}));
  const Tensor number = make_tensor<double>(DType::kF32, {}, {3.4});
  CHECK(find_outside(number, range_of(Op::reduce_sum, kAll, {&x})) ==
        "element 0: found 3.4000000953674316 (0x4059999a), expected inf (0x7f800000)");
  CHECK(find_outside(number, range_of(Op::reduce_sum, kAll, {&nan})) ==
        "element 0: found 3.4000000953674316 (0x4059999a), expected nan (0x7fc00000)");
}

TEST_CASE("a comparison is known if its operands are apart, and open within their errors") {
  const Range x = between({1, 1, 1}, {2, 2, 2}), y = between({3, 2, 0}, {4, 3, 0.5f});
  const Range less = range_of(Op::less, NoAttrs{}, {&x, &y}), equal = range_of(Op::equal, NoAttrs{}, {&x, &y});
  CHECK((less.is_known(0) && less.is_open(1) && less.is_known(2)));
  CHECK((equal.is_known(0) && equal.is_open(1) && equal.is_known(2)));
  CHECK(*less.low.element(0) == std::byte{1});
  CHECK(*less.low.element(2) == std::byte{0});
  const Range itself = range_of(Op::equal, NoAttrs{}, {&x, &x});
  CHECK((itself.all_known() && *itself.low.element(0) == std::byte{1}));
}

TEST_CASE("the bits of a number are known, those of a NaN and of a range are not") {
  const Range x = between({1, NAN, 1}, {1, NAN, 2});
  const Range bits = range_of(Op::bit_cast, CastAttrs{DType::kI32}, {&x});
  CHECK((bits.is_known(0) && bits.is_open(1) && bits.is_open(2)));
  const Range floats = range_of(Op::bit_cast, CastAttrs{DType::kF32}, {&bits});
  CHECK((floats.is_known(0) && floats.is_open(1) && floats.is_open(2)));
  CHECK(reference::read_all<double>(floats.low)[0] == 1);
}

TEST_CASE("a range covers all that errors can reach: ends of either sign, and NaN") {
  const Range x = between({-1, 2}, {3, 4}), y = between({-5, -2}, {2, -1}), root = between({-1e-7f, 1}, {1, 4});
  const auto ends = [](const Range& range) {
    auto all = reference::read_all<double>(range.low);
    for (const double high : reference::read_all<double>(range.high)) all.push_back(high);
    return all;
  };
  CHECK(ends(range_of(Op::mul, NoAttrs{}, {&x, &y})) == std::vector<double>{-15, -8, 6, -2});
  CHECK(ends(range_of(Op::sub, NoAttrs{}, {&x, &y})) == std::vector<double>{-3, 3, 8, 6});
  CHECK(ends(range_of(Op::abs, NoAttrs{}, {&x})) == std::vector<double>{0, 2, 3, 4});
  CHECK(range_of(Op::div, NoAttrs{}, {&x, &y}).is_open(0));
  CHECK(range_of(Op::sqrt, NoAttrs{}, {&root}).is_open(0));
  CHECK(ends(range_of(Op::floor, NoAttrs{}, {&root})) == std::vector<double>{-1, 1, 1, 4});
  const Range opened = range_of(Op::sqrt, NoAttrs{}, {&root}), sum = range_of(Op::reduce_sum, kAll, {&opened});
  CHECK(sum.is_open(0));
}

TEST_CASE("an element's place in order is known if no error can exchange it with another") {
  const Range x = between({1, 5, 4.5f, 9}, {1, 6, 5.5f, 10});
  const Range* operand = &x;
  const std::vector<Range> sorted = evaluate_ranges({Op::sort, SortAttrs{.axis = 0}, {&operand, 1}});
  CHECK((sorted[1].is_known(0) && !sorted[1].is_known(1) && !sorted[1].is_known(2) && sorted[1].is_known(3)));
  CHECK(reference::read_all<double>(sorted[0].low) == std::vector<double>{1, 4.5, 5, 9});
  CHECK(reference::read_all<double>(sorted[0].high) == std::vector<double>{1, 5.5, 6, 10});
  CHECK(range_of(Op::argmax, ArgAttrs{0}, {&x}).all_known());
  const Range close = between({1, 5, 4.5f}, {1, 6, 5.5f});
  const Range greatest = range_of(Op::argmax, ArgAttrs{0}, {&close});
  CHECK(reference::read_all<double>(greatest.low) == std::vector<double>{1});
  CHECK(reference::read_all<double>(greatest.high) == std::vector<double>{2});
}

TEST_CASE("a function has the bits that an implementation showed, if its operand is known") {
  const Range known_one = known(vector_of({1})), about_one = between({1}, {1.5f});
  const Tensor shown = vector_of({2.7182817f});  // the nearest to e is one ulp above
  const Range *operand = &known_one, *bounded = &about_one;
  const Range exact = evaluate_ranges({Op::exp, NoAttrs{}, {&operand, 1}, 1, {&shown, 1}})[0];
  CHECK(find_outside(shown, exact) == "");
  CHECK(find_outside(vector_of({2.718282f}), exact) != "");
  const Range wide = evaluate_ranges({Op::exp, NoAttrs{}, {&bounded, 1}, 1, {&shown, 1}})[0];
  CHECK(find_outside(vector_of({2.7182815f}), wide) == "");
  CHECK(find_outside(vector_of({2.718281f}), wide) != "");
  CHECK(find_outside(vector_of({4.49f}), wide) != "");
}
