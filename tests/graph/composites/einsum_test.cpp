// SPDX-License-Identifier: Apache-2.0
// einsum against loops over all letters, on random equations with "...", repeated letters and implied results.
#include <map>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;
using EinsumExtents = std::vector<std::int64_t>;

struct EinsumOperand {
  std::string letters;  // one per dim; those of "..." are digits, '0' for the last
  EinsumExtents extents;
  Values values;
};

/// EinsumLoops over the extents of all letters. A digit's extent may be 1 in an operand: its one element then serves
/// all.
struct EinsumLoops {
  const std::vector<EinsumOperand>& operands;
  std::map<char, std::int64_t> extents = {}, index = {};

  explicit EinsumLoops(const std::vector<EinsumOperand>& given) : operands(given) {
    for (const EinsumOperand& operand : operands) {
      for (std::size_t d = 0; d < operand.letters.size(); ++d) {
        std::int64_t& extent = extents.try_emplace(operand.letters[d], 1).first->second;
        if (operand.extents[d] != 1) extent = operand.extents[d];
      }
    }
  }

  double product() const {
    double product = 1;
    for (const EinsumOperand& operand : operands) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < operand.letters.size(); ++d) {
        at = at * operand.extents[d] + (operand.extents[d] == 1 ? 0 : index.at(operand.letters[d]));
      }
      product *= operand.values[static_cast<std::size_t>(at)];
    }
    return product;
  }

  Values sum(const std::string& result) {
    std::int64_t size = 1;
    for (const char letter : result) size *= extents.at(letter);
    Values sums(static_cast<std::size_t>(size));
    std::int64_t all = 1;
    for (const auto& [letter, extent] : extents) all *= extent;
    for (std::int64_t number = 0; number < all; ++number) {
      std::int64_t rest = number, at = 0;
      for (const auto& [letter, extent] : extents) {
        index[letter] = rest % extent;
        rest /= extent;
      }
      for (const char letter : result) at = at * extents.at(letter) + index.at(letter);
      sums[static_cast<std::size_t>(at)] += product();
    }
    return sums;
  }
};

/// A random equation, its operands and the letters of its result.
struct EinsumCase {
  std::string equation, result;
  std::vector<EinsumOperand> operands;
};

class EinsumMaker {
 public:
  explicit EinsumMaker(std::uint32_t seed) : random_(seed) {}

  EinsumCase make() {
    for (const char letter : std::string("abcD012")) extents_[letter] = below(4) + (below(8) == 0 ? 0 : 1);
    EinsumCase made;
    std::map<char, int> counts;
    int max_dots = 0;
    bool has_dots = false;
    for (int i = 0; i < 1 + below(3); ++i) {
      EinsumOperand operand = make_operand(made.equation, max_dots, has_dots);
      for (const char letter : operand.letters) ++counts[letter];
      made.operands.push_back(std::move(operand));
    }
    std::string dots;
    for (int d = max_dots; d-- > 0;) dots += static_cast<char>('0' + d);
    if (below(2) == 0) {
      made.result = dots;
      for (const auto& [letter, count] : counts) {
        if (letter > '9' && count == 1) made.result += letter;
      }
      return made;
    }
    std::string letters;
    for (const auto& [letter, count] : counts) {
      if (letter > '9' && below(3) > 0) letters += letter;
    }
    std::shuffle(letters.begin(), letters.end(), random_);
    const auto at = static_cast<std::size_t>(below(static_cast<int>(letters.size()) + 1));
    made.result = letters.substr(0, at) + dots + letters.substr(at);
    made.equation += "->" + letters.substr(0, at) + (has_dots ? "..." : "") + letters.substr(at);
    return made;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  EinsumOperand make_operand(std::string& equation, int& max_dots, bool& has_dots) {
    EinsumOperand operand;
    std::string term;
    const int num_letters = below(4), dots_at = below(3) == 0 ? below(num_letters + 1) : -1;
    for (int k = 0; k <= num_letters; ++k) {
      if (k == dots_at) {
        const int num_dots = below(4);
        has_dots = true;
        max_dots = std::max(max_dots, num_dots);
        term += "...";
        for (int d = num_dots; d-- > 0;) {
          operand.letters += static_cast<char>('0' + d);
          operand.extents.push_back(below(3) == 0 ? 1 : extents_.at(operand.letters.back()));
        }
      }
      if (k == num_letters) break;
      operand.letters += "abcD"[below(4)];
      operand.extents.push_back(extents_.at(operand.letters.back()));
      term += operand.letters.back();
    }
    std::int64_t count = 1;
    for (const std::int64_t extent : operand.extents) count *= extent;
    for (std::int64_t k = 0; k < count; ++k) operand.values.push_back(below(7) - 3);
    equation += (equation.empty() ? "" : ",") + term;
    if (term.empty()) equation += equation.empty() ? " " : "";
    return operand;
  }

  std::mt19937 random_;
  std::map<char, std::int64_t> extents_;
};

Values run_einsum(const EinsumCase& made, bool is_symbolic) {
  Composed composed;
  std::map<char, Dim> dims;
  for (std::size_t i = 0; i < made.operands.size(); ++i) {
    const EinsumOperand& operand = made.operands[i];
    std::vector<SizeExpr> shape;
    for (std::size_t d = 0; d < operand.letters.size(); ++d) {
      const char letter = operand.letters[d];
      const bool is_number = !is_symbolic || letter <= '9';
      shape.push_back(is_number ? SizeExpr(operand.extents[d]) : SizeExpr(Dim(fmt::format("n_{}", letter))));
    }
    composed.with(fmt::format("x{}", i), operand.extents, operand.values, DType::kI32, Shape(std::move(shape)));
  }
  return composed.run([&](Composed& c) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < made.operands.size(); ++i) operands.push_back(c[fmt::format("x{}", i)]);
    return einsum(made.equation, operands);
  });
}

TEST_CASE("einsum is the sum over all letters that the result lacks, for random equations") {
  EinsumMaker maker(20261128);
  for (int k = 0; k < 120; ++k) {
    const EinsumCase made = maker.make();
    std::string shapes;
    for (const EinsumOperand& operand : made.operands) {
      shapes += operand.letters + "[" + fmt::format("{}", fmt::join(operand.extents, ", ")) + "] ";
    }
    CAPTURE(made.equation);
    CAPTURE(shapes);
    CHECK(run_einsum(made, k % 3 == 2) == EinsumLoops(made.operands).sum(made.result));
  }
}

TEST_CASE("einsum takes traces and diagonals, broadcasts '...' and implies its result, as NumPy does") {
  const Values square = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto of = [&](const char* equation) {
    return Composed().with("x", {3, 3}, square).run([&](Composed& c) { return einsum(equation, {c["x"]}); });
  };
  CHECK(of("ii->i") == Values{1, 5, 9});
  CHECK(of("ii") == Values{15});
  CHECK(of("ba") == Values{1, 4, 7, 2, 5, 8, 3, 6, 9});
  CHECK(of("...j->j...") == Values{1, 4, 7, 2, 5, 8, 3, 6, 9});
  CHECK(of("...") == square);
  CHECK(of("i...") == Values{1, 4, 7, 2, 5, 8, 3, 6, 9});  // "..." comes first in an implied result
  const Values product =
      Composed().with("x", {2, 1, 2}, {1, 2, 3, 4}).with("y", {3, 2}, {1, 0, 0, 1, 1, 1}).run([](Composed& c) {
        return einsum("...k,...k", {c["x"], c["y"]});
      });
  CHECK(product == Values{1, 2, 3, 3, 4, 7});
}

}  // namespace
}  // namespace millrace
