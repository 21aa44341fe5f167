// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// A term of a rewrite rule: an op applied to terms, a variable, or a number.
struct RuleTerm {
  enum class Kind { kOp, kVariable, kNumber } kind = Kind::kNumber;
  Op op{};
  char variable = 0;
  double number = 0;
  std::vector<RuleTerm> operands;
};

enum RuleDTypes : unsigned { kSignedInts = 1, kUnsignedInts = 2, kInts = 3, kFloats = 4, kBools = 8 };

struct RewriteRule {
  unsigned dtypes = 0;
  std::string_view pattern_text, replacement_text;
  RuleTerm pattern, replacement;
};

/// Parses one row. A row that does not parse fails a MILLRACE_CHECK.
RewriteRule make_rule(unsigned dtypes, std::string_view pattern, std::string_view replacement);
/// The rows of simplify_rules.inc.
const std::vector<RewriteRule>& simplify_rules();

bool accepts(const RewriteRule&, DType dtype);

/// The value of each variable, by letter.
using RuleBindings = std::map<char, Value>;
/// Matches the pattern at node `id`, trying both operand orders of commutative ops.
std::optional<RuleBindings> match(const Graph&, const RewriteRule&, NodeId id);

/// The common value of all elements, if `value` is a constant with equal elements, or a broadcast of one.
std::optional<double> splat_value(const Graph&, Value value);

}  // namespace millrace
