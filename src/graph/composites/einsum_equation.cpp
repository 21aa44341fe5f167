// SPDX-License-Identifier: Apache-2.0
// Parses an einsum equation and labels the dims of its operands.
#include "graph/composites/einsum_equation.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A term's letters; '.' stands for "...".
using Term = std::string;

struct Terms {
  std::vector<Term> operands;
  std::optional<Term> result;
};

class EquationReader {
 public:
  explicit EquationReader(std::string_view text) : text_(text) {
    std::ranges::copy_if(text, std::back_inserter(without_spaces_), [](char c) { return c != ' '; });
    rest_ = without_spaces_;
  }
  EquationReader(const EquationReader&) = delete;
  EquationReader& operator=(const EquationReader&) = delete;

  Result<Terms> read() {
    Terms terms;
    do {
      MILLRACE_TRY_ASSIGN(Term term, read_term());
      terms.operands.push_back(std::move(term));
    } while (take(","));
    if (take("->")) {
      MILLRACE_TRY_ASSIGN(terms.result, read_term());
    }
    if (rest_.empty()) return terms;
    return invalid_equation(fmt::format("found '{}', expected {}", printable(rest_.substr(0, 1)),
                                        terms.result
                                            ? "the end of the equation after the result; write one result"
                                            : "letters, '...', ',' and '->' alone; write one letter for each dim"));
  }

 private:
  Status invalid_equation(const std::string& what) const {
    return invalid_argument(fmt::format("the equation '{}': {}", printable(text_), what));
  }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<Term> read_term() {
    Term term;
    while (!rest_.empty()) {
      if (take("...")) {
        if (term.find('.') != term.npos)
          return invalid_equation("found '...' twice in a term, expected it once; remove one");
        term += '.';
      } else if (rest_.front() == '.') {
        return invalid_equation("found '.', expected '...' for dims without letters; write three dots");
      } else if (is_letter(rest_.front())) {
        if (std::ranges::count_if(term, is_letter) == kMaxRank) {
          return invalid_equation(
              fmt::format("found more than {} letters in a term, expected one for each dim; write fewer", kMaxRank));
        }
        term += rest_.front();
        rest_.remove_prefix(1);
      } else {
        break;
      }
    }
    return term;
  }

  std::string_view text_;
  std::string without_spaces_;
  std::string_view rest_;  // the part of without_spaces_ that is not read yet
};

/// The term as messages show it, with "..." for '.'.
std::string shown(const Term& term) {
  const std::size_t dots = term.find('.');
  return dots == term.npos ? term : term.substr(0, dots) + "..." + term.substr(dots + 1);
}

/// Gives each dim of the operand its label.
Result<EinsumLabels> label_dims(const Term& term, std::size_t operand, const TensorType& type) {
  const bool has_ellipsis = term.find('.') != term.npos;
  const std::size_t letters = term.size() - (has_ellipsis ? 1 : 0), rank = type.shape.rank();
  if (has_ellipsis ? rank < letters : rank != letters) {
    return invalid_argument(fmt::format(
        "operand {} is {}, expected rank {}{} for '{}'; write one letter for each dim{}", operand, type.to_text(),
        letters, has_ellipsis ? " or more" : "", shown(term), has_ellipsis ? "" : ", or '...' for several"));
  }
  EinsumLabels labels;
  for (const char c : term) {
    if (c != '.') labels.push_back(c);
    for (std::size_t i = rank - letters; c == '.' && i-- > 0;) {
      labels.push_back(kEllipsis + static_cast<EinsumLabel>(i));
    }
  }
  return labels;
}

/// Checks that a letter has one extent everywhere, and that a dim of "..." is 1 or equal in all operands.
Status check_extents(const std::vector<EinsumLabels>& operands, std::span<const TensorType> types) {
  struct Place {
    std::size_t operand, dim;
  };
  std::map<EinsumLabel, Place> first;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t d = 0; d < operands[i].size(); ++d) {
      const EinsumLabel label = operands[i][d];
      const bool is_ellipsis = label >= kEllipsis;
      const SizeExpr& found = types[i].shape[d];
      if (is_ellipsis && found.is(1)) continue;
      const auto [known, is_new] = first.try_emplace(label, Place{i, d});
      const SizeExpr& expected = types[known->second.operand].shape[known->second.dim];
      if (found == expected) continue;
      return invalid_argument(fmt::format(
          "operand {} is {}, expected extent {} in dim {} for {}, as in dim {} of operand {}, {}; reshape one", i,
          types[i].to_text(), expected.to_text(), d,
          is_ellipsis ? std::string("'...', or 1") : fmt::format("'{}'", static_cast<char>(label)), known->second.dim,
          known->second.operand, types[known->second.operand].to_text()));
    }
  }
  return {};
}

/// The maximum number of dims that "..." has in an operand.
std::size_t count_ellipsis_dims(const std::vector<EinsumLabels>& operands) {
  std::size_t max_dims = 0;
  for (const EinsumLabels& labels : operands) {
    max_dims = std::max(max_dims, static_cast<std::size_t>(std::ranges::count_if(
                                      labels, [](EinsumLabel label) { return label >= kEllipsis; })));
  }
  return max_dims;
}

void add_ellipsis(EinsumLabels& labels, std::size_t num_dims) {
  while (num_dims-- > 0) labels.push_back(kEllipsis + static_cast<EinsumLabel>(num_dims));
}

EinsumLabels implied_result(const std::vector<EinsumLabels>& operands) {
  std::map<EinsumLabel, int> counts;
  for (const EinsumLabels& labels : operands) {
    for (const EinsumLabel label : labels) ++counts[label];
  }
  EinsumLabels result;
  add_ellipsis(result, count_ellipsis_dims(operands));
  for (const auto& [label, count] : counts) {
    if (label < kEllipsis && count == 1) result.push_back(label);
  }
  return result;
}

Result<EinsumLabels> label_result(const Term& term, const std::vector<EinsumLabels>& operands) {
  const std::size_t num_dims = count_ellipsis_dims(operands);
  if (num_dims > 0 && term.find('.') == term.npos) {
    return invalid_argument(
        fmt::format("the result '{0}' leaves out the dims of '...', expected '...' in it; write "
                    "'...{0}'",
                    term));
  }
  EinsumLabels result;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      add_ellipsis(result, num_dims);
      continue;
    }
    if (term.find(term[i]) < i) {
      return invalid_argument(
          fmt::format("the result '{}' has '{}' twice, expected each letter once; remove one", shown(term), term[i]));
    }
    const auto has_letter = [&](const EinsumLabels& labels) {
      return std::ranges::find(labels, EinsumLabel{term[i]}) != labels.end();
    };
    if (std::ranges::none_of(operands, has_letter)) {
      return invalid_argument(
          fmt::format("the result '{}' has '{}', expected letters of the operands; remove it", shown(term), term[i]));
    }
    result.push_back(term[i]);
  }
  return result;
}

}  // namespace

Result<EinsumEquation> read_einsum(std::string_view equation, std::span<const TensorType> types) {
  MILLRACE_TRY_ASSIGN(const Terms terms, EquationReader(equation).read());
  if (terms.operands.size() != types.size()) {
    return invalid_argument(fmt::format("the equation '{}' has {} terms, expected {}; write one for each operand",
                                        printable(equation), terms.operands.size(), types.size()));
  }
  EinsumEquation read;
  for (std::size_t i = 0; i < types.size(); ++i) {
    MILLRACE_TRY_ASSIGN(EinsumLabels labels, label_dims(terms.operands[i], i, types[i]));
    read.operands.push_back(std::move(labels));
  }
  MILLRACE_TRY(check_extents(read.operands, types));
  if (terms.result) {
    MILLRACE_TRY_ASSIGN(read.result, label_result(*terms.result, read.operands));
  } else {
    read.result = implied_result(read.operands);
  }
  return read;
}

}  // namespace millrace
