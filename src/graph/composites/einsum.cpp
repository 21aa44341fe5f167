// SPDX-License-Identifier: Apache-2.0
// Builds an einsum from dots, transposes and sums; einsum_equation.h reads the equation.
#include <algorithm>

#include "graph/composites/composite.h"
#include "graph/composites/einsum_equation.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// A tensor with one label per dim.
struct LabelledTensor {
  Tensor tensor;
  EinsumLabels labels;
};

bool contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::int64_t place_of(const EinsumLabels& labels, EinsumLabel label) {
  return std::ranges::find(labels, label) - labels.begin();
}

/// The diagonal of a square matrix, the last two dims of x.
Tensor last_diagonal(Tensor x) {
  if (!x.is_valid()) return {};
  const SizeExpr n = x.shape().dims().back();
  std::vector<SizeExpr> dims = x.shape().dims();
  dims.pop_back();
  dims.back() = n * n;
  Tensor row = reshape(x, Shape(dims));
  if (n.is_constant()) {
    std::vector<std::int64_t> step(dims.size(), 1);
    step.back() = n.constant() + 1;
    return slice(row, std::vector<SizeExpr>(dims.size(), 0), dims, std::move(step));
  }
  GraphBuilder& graph = *x.builder();
  Tensor places = iota(graph, DType::kI64, {n}, 0) * size_of(graph, n + 1);
  return gather(row, places, -1);
}

/// Merges the dims of a repeated label into one, the diagonal.
LabelledTensor take_diagonals(LabelledTensor term) {
  for (std::size_t second = 1; second < term.labels.size(); ++second) {
    const auto first = static_cast<std::size_t>(place_of(term.labels, term.labels[second]));
    if (first == second) continue;
    std::vector<std::int64_t> permutation;
    EinsumLabels labels;
    for (std::size_t d = 0; d < term.labels.size(); ++d) {
      if (d == first || d == second) continue;
      permutation.push_back(static_cast<std::int64_t>(d));
      labels.push_back(term.labels[d]);
    }
    permutation.push_back(static_cast<std::int64_t>(first));
    permutation.push_back(static_cast<std::int64_t>(second));
    labels.push_back(term.labels[first]);
    term = {last_diagonal(transpose(term.tensor, std::move(permutation))), std::move(labels)};
    second = 0;
  }
  return term;
}

/// Drops dims of "..." that have extent 1: another operand may be longer there, and products do not need them. The
/// result gets such a dim back if no operand has a longer one.
LabelledTensor drop_ones(const LabelledTensor& term) {
  std::vector<SizeExpr> dims;
  EinsumLabels labels;
  for (std::size_t d = 0; d < term.labels.size(); ++d) {
    const SizeExpr& extent = term.tensor.shape()[d];
    if (term.labels[d] >= kEllipsis && extent.is(1)) continue;
    dims.push_back(extent);
    labels.push_back(term.labels[d]);
  }
  if (labels.size() == term.labels.size()) return term;
  return {reshape(term.tensor, Shape(std::move(dims))), std::move(labels)};
}

/// Sums over the labels that are not in `needed`.
LabelledTensor sum_out(const LabelledTensor& term, const EinsumLabels& needed) {
  std::vector<std::int64_t> axes;
  EinsumLabels kept;
  for (std::size_t d = 0; d < term.labels.size(); ++d) {
    if (contains(needed, term.labels[d])) {
      kept.push_back(term.labels[d]);
    } else {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  return axes.empty() ? term : LabelledTensor{reduce_sum(term.tensor, std::move(axes)), std::move(kept)};
}

/// Multiplies two terms by a dot. A label that both terms have becomes a batch dim if it is in `needed`; otherwise it
/// is contracted.
LabelledTensor multiply(const LabelledTensor& x, const LabelledTensor& y, const EinsumLabels& needed) {
  DotAttrs attributes;
  EinsumLabels batch, free;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    const EinsumLabel label = x.labels[d];
    if (!contains(y.labels, label)) {
      free.push_back(label);
      continue;
    }
    const bool is_batch = contains(needed, label);
    (is_batch ? attributes.x_batch : attributes.x_contract).push_back(static_cast<std::int64_t>(d));
    (is_batch ? attributes.y_batch : attributes.y_contract).push_back(place_of(y.labels, label));
    if (is_batch) batch.push_back(label);
  }
  for (const EinsumLabel label : y.labels) {
    if (!contains(x.labels, label)) free.push_back(label);
  }
  batch.insert(batch.end(), free.begin(), free.end());
  return {dot(x.tensor, y.tensor, std::move(attributes)), std::move(batch)};
}

/// Transposes to the result's order and adds the dropped dims of extent 1.
Tensor put_in_order(const LabelledTensor& term, const EinsumLabels& result) {
  Tensor x = term.tensor;
  if (!x.is_valid()) return {};
  std::vector<std::int64_t> permutation;
  std::vector<SizeExpr> dims;
  for (const EinsumLabel label : result) {
    const bool is_there = contains(term.labels, label);
    const std::int64_t place = place_of(term.labels, label);
    if (is_there) permutation.push_back(place);
    dims.push_back(is_there ? x.shape()[static_cast<std::size_t>(place)] : SizeExpr(1));
  }
  if (!std::ranges::is_sorted(permutation)) x = transpose(x, std::move(permutation));
  return dims.size() == term.labels.size() ? x : reshape(x, Shape(std::move(dims)));
}

Status check_dtypes(std::span<const TensorType> types) {
  MILLRACE_TRY(ops::expect_dtype(types, 0, ops::kArithmetic));
  for (std::size_t i = 1; i < types.size(); ++i) {
    if (types[i].dtype == types[0].dtype) continue;
    return invalid_argument(fmt::format("operand {} is {}, expected {} like operand 0; insert a cast", i,
                                        types[i].to_text(), to_text(types[0].dtype)));
  }
  return {};
}

}  // namespace

Tensor einsum(std::string_view text, std::span<const Tensor> operands) {
  return build_composite(operands, [&](Composite& composite) -> Tensor {
    const Result<EinsumEquation> equation = read_einsum(text, composite.types());
    if (!composite.passes(equation.status()) || !composite.passes(check_dtypes(composite.types()))) return {};
    std::vector<LabelledTensor> terms;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      terms.push_back(take_diagonals(drop_ones({operands[i], equation->operands[i]})));
    }
    LabelledTensor product = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
      EinsumLabels later = equation->result;
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        later.insert(later.end(), terms[j].labels.begin(), terms[j].labels.end());
      }
      const auto with_later = [&](const EinsumLabels& labels) {
        EinsumLabels needed = later;
        needed.insert(needed.end(), labels.begin(), labels.end());
        return needed;
      };
      const LabelledTensor x = sum_out(product, with_later(terms[i].labels));
      const LabelledTensor y = sum_out(terms[i], with_later(product.labels));
      product = multiply(x, y, later);
    }
    return put_in_order(sum_out(product, equation->result), equation->result);
  });
}

}  // namespace millrace
