// SPDX-License-Identifier: Apache-2.0
// Parses the rows of simplify_rules.inc and matches them against a graph.
#include "graph/passes/rewrite_rule.h"

#include <bit>
#include <cctype>
#include <cstdlib>

#include "graph/passes/constant_elements.h"

namespace millrace {
namespace {

class TermParser {
 public:
  explicit TermParser(std::string_view text) : text_(text) {}

  RuleTerm parse() {
    RuleTerm term = parse_term();
    MILLRACE_CHECK(at_ == text_.size());
    return term;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  RuleTerm parse_term() {
    skip_spaces();
    MILLRACE_CHECK(at_ < text_.size());
    if (std::isalpha(static_cast<unsigned char>(text_[at_])) == 0) return parse_number();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    RuleTerm term;
    if (at_ == text_.size() || text_[at_] != '(') {
      MILLRACE_CHECK(word.size() == 1);
      term.kind = RuleTerm::Kind::kVariable;
      term.variable = word[0];
      return term;
    }
    term.kind = RuleTerm::Kind::kOp;
    term.op = op_named(word);
    do {
      ++at_;  // '(' or ','
      term.operands.push_back(parse_term());
      skip_spaces();
    } while (text_[at_] == ',');
    MILLRACE_CHECK(text_[at_] == ')');
    ++at_;
    return term;
  }

  RuleTerm parse_number() {
    RuleTerm term;
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    term.number = std::strtod(rest.c_str(), &end);
    MILLRACE_CHECK(end != rest.c_str());
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return term;
  }

  static Op op_named(std::string_view name) {
    for (Op op : kAllOps) {
      if (to_text(op) == name) return op;
    }
    MILLRACE_CHECK(!"a rule names an unknown op");
    return Op{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Equality of numbers that distinguishes -0 from 0.
bool same_number(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool match_term(const Graph& graph, const RuleTerm& term, Value value, RuleBindings& bindings);

bool match_operands(const Graph& graph, const RuleTerm& term, const Node& node, bool swapped, RuleBindings& bindings) {
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    const std::size_t from = swapped ? term.operands.size() - 1 - i : i;
    if (!match_term(graph, term.operands[i], node.operands[from], bindings)) return false;
  }
  return true;
}

bool match_term(const Graph& graph, const RuleTerm& term, Value value, RuleBindings& bindings) {
  if (term.kind == RuleTerm::Kind::kNumber) {
    const std::optional<double> splat = splat_value(graph, value);
    const bool is_integer_zero = term.number == 0 && !is_float(graph.type(value).dtype);
    return splat && (same_number(*splat, term.number) || (is_integer_zero && *splat == 0));
  }
  if (term.kind == RuleTerm::Kind::kVariable) {
    const auto [it, is_new] = bindings.emplace(term.variable, value);
    return is_new || it->second == value;
  }
  const Node& node = graph.nodes[value.node];
  const auto* op = std::get_if<OpNode>(&node.what);
  if (!op || op->op != term.op || node.operands.size() != term.operands.size()) return false;
  const RuleBindings before = bindings;
  if (match_operands(graph, term, node, false, bindings)) return true;
  bindings = before;
  if (!has_trait(op->op, kCommutative)) return false;
  if (match_operands(graph, term, node, true, bindings)) return true;
  bindings = before;
  return false;
}

}  // namespace

RewriteRule make_rule(unsigned dtypes, std::string_view pattern, std::string_view replacement) {
  return {dtypes, pattern, replacement, TermParser(pattern).parse(), TermParser(replacement).parse()};
}

const std::vector<RewriteRule>& simplify_rules() {
  static const std::vector<RewriteRule> rules = {
#define MILLRACE_RULE(dtypes, pattern, replacement) make_rule(dtypes, pattern, replacement),
#include "graph/passes/simplify_rules.inc"
  };
  return rules;
}

bool accepts(const RewriteRule& rule, DType dtype) {
  switch (dtype_class(dtype)) {
    case DTypeClass::kPredicate:
      return (rule.dtypes & kBools) != 0;
    case DTypeClass::kSigned:
      return (rule.dtypes & kSignedInts) != 0;
    case DTypeClass::kUnsigned:
      return (rule.dtypes & kUnsignedInts) != 0;
    case DTypeClass::kFloat:
      return (rule.dtypes & kFloats) != 0;
  }
  return false;
}

std::optional<RuleBindings> match(const Graph& graph, const RewriteRule& rule, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.results.size() != 1 || !accepts(rule, node.results[0].dtype)) return std::nullopt;
  RuleBindings bindings;
  if (!match_term(graph, rule.pattern, {id, 0}, bindings)) return std::nullopt;
  return bindings;
}

std::optional<double> splat_value(const Graph& graph, Value value) {
  const Node* node = &graph.nodes[value.node];
  if (const auto* op = std::get_if<OpNode>(&node->what); op && op->op == Op::broadcast) {
    node = &graph.nodes[node->operands[0].node];
  }
  const auto* constant = std::get_if<ConstantNode>(&node->what);
  if (!constant || constant->data.empty()) return std::nullopt;
  const DType dtype = node->results[0].dtype;
  const std::size_t count = constant->data.size() / size_bytes(dtype);
  const Scalar first = load_element(dtype, constant->data, 0);
  for (std::size_t i = 1; i < count; ++i) {
    if (!(load_element(dtype, constant->data, i) == first)) return std::nullopt;
  }
  const double number = first.to_double();
  // An integer that double cannot represent equals no number in a rule.
  if (!is_float(dtype) && !(Scalar::from_double(first.dtype, number) == first)) return std::nullopt;
  return number;
}

}  // namespace millrace
