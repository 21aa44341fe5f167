// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <optional>

#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// A tensor with one letter per dim.
struct Term {
  Tensor tensor;
  std::string letters;
};

bool contains(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

bool has_repeats(std::string_view letters) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (contains(letters.substr(i + 1), letters[i])) return true;
  }
  return false;
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// Empty if the text does not have the form "ij,jk->ik".
std::optional<Equation> parse_equation(std::string_view text) {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain), [](char c) { return c != ' '; });
  const std::size_t arrow = plain.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation{{""}, plain.substr(arrow + 2)};
  for (const char c : plain.substr(0, arrow)) {
    if (c == ',') {
      equation.operands.emplace_back();
    } else {
      equation.operands.back() += c;
    }
  }
  const auto is_plain = [](std::string_view letters) {
    return !has_repeats(letters) &&
           std::ranges::all_of(letters, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  };
  const auto is_given = [&](char letter) {
    return std::ranges::any_of(equation.operands, [&](const std::string& o) { return contains(o, letter); });
  };
  if (!std::ranges::all_of(equation.operands, is_plain)) return std::nullopt;
  if (!is_plain(equation.result) || !std::ranges::all_of(equation.result, is_given)) return std::nullopt;
  return equation;
}

/// Sums over the letters that are no longer needed.
Term sum_out(const Term& term, std::string_view needed) {
  std::vector<std::int64_t> axes;
  std::string kept;
  for (std::size_t d = 0; d < term.letters.size(); ++d) {
    if (contains(needed, term.letters[d])) {
      kept += term.letters[d];
    } else {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  return axes.empty() ? term : Term{reduce_sum(term.tensor, std::move(axes)), std::move(kept)};
}

/// A letter in both becomes a batch dim if it is still needed; otherwise it is contracted.
Term multiply(const Term& x, const Term& y, std::string_view needed) {
  DotAttrs attributes;
  std::string batch, free;
  for (std::size_t d = 0; d < x.letters.size(); ++d) {
    const char letter = x.letters[d];
    const std::size_t in_y = y.letters.find(letter);
    if (in_y == std::string::npos) {
      free += letter;
      continue;
    }
    const bool is_batch = contains(needed, letter);
    (is_batch ? attributes.x_batch : attributes.x_contract).push_back(static_cast<std::int64_t>(d));
    (is_batch ? attributes.y_batch : attributes.y_contract).push_back(static_cast<std::int64_t>(in_y));
    if (is_batch) batch += letter;
  }
  for (const char letter : y.letters) {
    if (!contains(x.letters, letter)) free += letter;
  }
  return {dot(x.tensor, y.tensor, std::move(attributes)), batch + free};
}

Tensor put_in_order(const Term& term, std::string_view result) {
  if (term.letters == result) return term.tensor;
  std::vector<std::int64_t> permutation;
  for (const char letter : result) permutation.push_back(static_cast<std::int64_t>(term.letters.find(letter)));
  return transpose(term.tensor, std::move(permutation));
}

}  // namespace

Tensor einsum(std::string_view text, std::span<const Tensor> operands) try {
  if (operands.empty() || !std::ranges::all_of(operands, &Tensor::is_valid)) return {};
  GraphBuilder& graph = *operands[0].builder();
  const std::optional<Equation> equation = parse_equation(text);
  if (!equation) {
    return refuse(
        graph, "einsum",
        fmt::format("the equation is '{}', expected one like 'ij,jk->ik', no letter twice in a term; write one "
                    "letter a dim",
                    text));
  }
  if (equation->operands.size() != operands.size()) {
    return refuse(graph, "einsum",
                  fmt::format("the equation '{}' has {} terms, expected {}; write one for each operand", text,
                              equation->operands.size(), operands.size()));
  }
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].shape().rank() != equation->operands[i].size()) {
      return refuse(graph, "einsum",
                    fmt::format("operand {} is {}, expected rank {} for '{}'; write one letter a dim", i,
                                operands[i].type().to_text(), equation->operands[i].size(), equation->operands[i]));
    }
    terms.push_back({operands[i], equation->operands[i]});
  }
  Term product = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    std::string later = equation->result;
    for (std::size_t j = i + 1; j < terms.size(); ++j) later += terms[j].letters;
    const Term x = sum_out(product, later + terms[i].letters), y = sum_out(terms[i], later + product.letters);
    product = multiply(x, y, later);
  }
  return put_in_order(sum_out(product, equation->result), equation->result);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of(operands), "einsum");
}

}  // namespace millrace
