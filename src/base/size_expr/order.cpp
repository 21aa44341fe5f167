// SPDX-License-Identifier: Apache-2.0
// The total order on forms, which makes sums canonical and lets maps use sizes as keys.
#include <algorithm>

#include "base/size_expr/node.h"

namespace millrace {
namespace {

std::strong_ordering compare_symbols(const Dim& a, const Dim& b) {
  if (const int order = a.name().compare(b.name()); order != 0) return order <=> 0;
  if (const auto order = a.min() <=> b.min(); order != 0) return order;
  if (const auto order = a.max() <=> b.max(); order != 0) return order;
  return a.multiple() <=> b.multiple();
}

template <class T, class Compare>
std::strong_ordering compare_lists(const std::vector<T>& a, const std::vector<T>& b, Compare compare) {
  const std::size_t shorter = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shorter; ++i) {
    if (const auto order = compare(a[i], b[i]); order != 0) return order;
  }
  return a.size() <=> b.size();
}

std::strong_ordering compare_terms(const Term& a, const Term& b) {
  if (const auto order = compare_factors(a, b); order != 0) return order;
  return a.coefficient <=> b.coefficient;
}

}  // namespace

std::strong_ordering compare_forms(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (const auto order = a.kind <=> b.kind; order != 0) return order;
  if (a.kind == AtomKind::kSymbol) return compare_symbols(a.symbol, b.symbol);
  return compare_lists(a.operands, b.operands, [](const auto& x, const auto& y) { return compare_forms(x, y); });
}

std::strong_ordering compare_factors(const Term& a, const Term& b) {
  if (const auto order = b.factors.size() <=> a.factors.size(); order != 0) return order;
  return compare_lists(a.factors, b.factors, [](const auto& x, const auto& y) { return compare_forms(*x, *y); });
}

std::strong_ordering compare_forms(const SizeExpr& a, const SizeExpr& b) {
  const Sum* left = SizeExprAccess::node(a);
  const Sum* right = SizeExprAccess::node(b);
  if (left == nullptr && right == nullptr) return a.constant() <=> b.constant();
  if (left == nullptr || right == nullptr) return (left == nullptr) <=> (right == nullptr);
  if (left == right) return std::strong_ordering::equal;
  if (const auto order = compare_lists(left->terms, right->terms, compare_terms); order != 0) return order;
  return left->constant <=> right->constant;
}

bool form_less(const SizeExpr& a, const SizeExpr& b) { return compare_forms(a, b) < 0; }
bool SizeExpr::equal_forms(const SizeExpr& a, const SizeExpr& b) { return compare_forms(a, b) == 0; }

}  // namespace millrace
