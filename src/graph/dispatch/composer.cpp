// SPDX-License-Identifier: Apache-2.0
// Composes the nodes of a region into one loop nest.
#include "graph/dispatch/composer.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "jit/ir/affine.h"
#include "ops/iota.h"

namespace millrace {
/// A 16-bit node rounds to its dtype even if its value is never stored.
BodyValue round_to(BodyBuilder& b, DType dtype, BodyValue value) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return b.convert(DType::kF32, b.convert(dtype, value));
  return value;
}

ComposedRequest Composer::compose_map() {
  const Indices point = set_domain(graph_.type(region_.outputs[0]).shape);
  BodyBuilder epilogue;
  return finish(epilogue, point);
}

ComposedRequest Composer::compose_load(Value value, const KernelTensor& input) {
  BodyBuilder body;
  const Indices point = set_domain(input.type.shape);
  body.yield(pull(body, value, point));
  kernel_.name = region_.name + "_load";
  kernel_.results = {input};
  kernel_.stores = {{0, point, std::nullopt, std::nullopt}};
  kernel_.epilogue = body.finish();
  return {std::move(kernel_), operands_, {}};
}

ComposedRequest Composer::compose_roots(std::vector<RootNest> roots) {
  kernel_.domain = roots[0].nest.domain;
  for (const LoopDim& dim : kernel_.domain) extents_.push_back(dim.extent);
  root_point_ = roots[0].nest.stores[0].indices;
  if (const std::optional<Rows> rows = rows_of(graph_, graph_.nodes[roots[0].node])) {
    row_shape_ = rows->shape;
    term_point_ = roots[0].nest.loads[0].indices;  // the only load of a reduction: its operand
  }
  number_roots(roots);
  std::uint32_t num_passes = roots.back().pass + 1;
  for (const Value& output : region_.outputs) {
    if (is_stored_in_pass(output)) num_passes = std::max(num_passes, passes_.at(output.node) + 1);
  }
  for (std::uint32_t pass = 0; pass < num_passes; ++pass) compose_pass(pass, roots);
  finish_passes();
  BodyBuilder epilogue;
  // Roots come first, in their order, if the epilogue stores anything.
  const auto is_stored_after = [&](const Value& output) { return !is_stored_in_pass(output); };
  for (const RootNest& root : roots) {
    if (std::ranges::any_of(region_.outputs, is_stored_after)) pull(epilogue, {root.node, 0}, root_point_);
  }
  return finish(epilogue, root_point_);
}

/// Finds the pass of each node and root, puts the roots in the order of their passes, and numbers their reductions and
/// extents.
void Composer::number_roots(std::vector<RootNest>& roots) {
  const auto root_of = [&](NodeId id) { return std::ranges::find(roots, id, &RootNest::node); };
  for (const NodeId id : region_.nodes) {
    std::uint32_t pass = 0;
    for (const Value& operand : graph_.nodes[id].operands) {
      const auto earlier = passes_.find(operand.node);
      if (earlier == passes_.end()) continue;
      const bool is_reduced = root_of(operand.node) != roots.end();
      pass = std::max(pass, earlier->second + (is_reduced ? 1 : 0));
    }
    passes_[id] = pass;
    if (const auto root = root_of(id); root != roots.end()) root->pass = pass;
  }
  std::ranges::sort(roots, {}, [](const RootNest& root) { return std::pair(root.pass, root.node); });
  for (const RootNest& root : roots) {
    roots_.emplace(root.node, NumberedRoot{&root, static_cast<std::uint32_t>(kernel_.reductions.size()),
                                           static_cast<std::uint32_t>(kernel_.extents.size())});
    for (const Reduction& reduction : root.nest.reductions) {
      kernel_.reductions.push_back({reduction.kind, reduction.dtype, root.pass});
    }
    kernel_.extents.insert(kernel_.extents.end(), root.nest.extents.begin(), root.nest.extents.end());
  }
}

/// Whether the output of a region with roots has a value for each point of the reductions.
bool Composer::is_stored_in_pass(Value output) const { return row_shape_ && graph_.type(output).shape == *row_shape_; }

void Composer::compose_pass(std::uint32_t pass, const std::vector<RootNest>& roots) {
  Pass current;
  for (const RootNest& root : roots) {
    if (root.pass != pass || root.nest.terms.empty()) continue;
    const std::vector<BodyValue> yields = inline_root(current.term, roots_.at(root.node), root.nest.terms[0]);
    current.reduced.insert(current.reduced.end(), yields.begin(), yields.end());
  }
  for (const Value& output : region_.outputs) {
    if (is_stored_in_pass(output) && passes_.at(output.node) == pass) {
      current.stored.push_back(pull(current.term, output, term_point_));
    }
  }
  current.computed = std::move(computed_);
  computed_.clear();
  earlier_.push_back(std::move(current));
}

/// Makes the terms of all passes, and numbers the temporaries in the order of their passes.
void Composer::finish_passes() {
  std::vector<std::uint32_t> numbers(kernel_.temporaries.size());
  std::vector<Temporary> temporaries;
  for (Pass& pass : earlier_) {
    for (const BodyValue value : pass.reduced) pass.term.yield(value);
    for (const auto& [value, number] : pass.kept) {
      pass.term.yield(value);
      numbers[number] = static_cast<std::uint32_t>(temporaries.size());
      temporaries.push_back(kernel_.temporaries[number]);
    }
    for (const BodyValue value : pass.stored) pass.term.yield(value);
    Body term = pass.term.finish();
    if (!term.yields.empty()) kernel_.terms.push_back(std::move(term));  // the nest of an iota has no term
  }
  for (Body& term : kernel_.terms) {
    for (BodyInstruction& instruction : term.instructions) {
      if (instruction.op == KernelOp::kTemporary) instruction.immediate = numbers[instruction.immediate];
    }
  }
  kernel_.temporaries = std::move(temporaries);
  earlier_.clear();
}

/// Sets the domain to the points of the shape, and returns the index of each dim.
Indices Composer::set_domain(const Shape& shape) {
  Indices point;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    kernel_.domain.push_back({fmt::format("d{}", d), shape[d], false});
    point.push_back(dim_index(shape.rank(), d));
  }
  return point;
}

std::uint32_t Composer::operand_number(Value value) {
  const auto it = std::find(operands_.begin(), operands_.end(), value);
  if (it != operands_.end()) return static_cast<std::uint32_t>(it - operands_.begin());
  operands_.push_back(value);
  const TensorType& type = graph_.type(value);
  kernel_.operands.push_back({fmt::format("x{}", operands_.size() - 1), type, Layout::row_major(type.shape)});
  return static_cast<std::uint32_t>(operands_.size() - 1);
}

std::uint32_t Composer::access_number(Access access) {
  const auto it = std::find(kernel_.loads.begin(), kernel_.loads.end(), access);
  if (it != kernel_.loads.end()) return static_cast<std::uint32_t>(it - kernel_.loads.begin());
  kernel_.loads.push_back(std::move(access));
  return static_cast<std::uint32_t>(kernel_.loads.size() - 1);
}

std::vector<BodyValue> Composer::inline_root(BodyBuilder& b, const NumberedRoot& root, const Body& body) {
  return inline_nest(b, root.root->node, root.root->nest, body, root.first_reduction, root.first_extent);
}

/// Inlines a body of a root's own nest. Pulls the values of plain loads; loads with a fill value or a dynamic dim stay
/// loads.
std::vector<BodyValue> Composer::inline_nest(BodyBuilder& b, NodeId root, const LoopKernel& nest, const Body& body,
                                             std::uint32_t first_reduction, std::uint32_t first_extent) {
  return b.inline_body(body, [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
    if (instruction.op == KernelOp::kReduced) {
      return b.reduced(static_cast<std::uint32_t>(first_reduction + instruction.immediate), instruction.dtype);
    }
    if (instruction.op == KernelOp::kExtent) {
      return b.extent(static_cast<std::uint32_t>(first_extent + instruction.immediate));
    }
    if (instruction.op != KernelOp::kLoad) return std::nullopt;
    Access access = nest.loads[instruction.immediate];
    const Value value = graph_.nodes[root].operands[access.tensor];
    if (!access.fill && !access.dynamic_dim) return pull(b, value, access.indices);
    access.tensor = operand_number(value);
    const std::uint32_t number = access_number(std::move(access));
    if (instruction.num_operands == 0) return b.load(number, instruction.dtype);
    return b.load(number, instruction.dtype, BodyValue{instruction.operands[0], DType::kI64});
  });
}

BodyValue Composer::pull(BodyBuilder& b, Value value, const Indices& indices) {
  for (const Computed& done : computed_) {
    if (done.value == value && done.indices == indices) return done.result;
  }
  const std::optional<BodyValue> kept = kept_value(b, value, indices);
  const BodyValue result = kept ? *kept : compute(b, value, indices);
  computed_.push_back({value, indices, result});
  return result;
}

/// A value that an earlier pass has computed at this point of the reductions: makes that pass keep it.
std::optional<BodyValue> Composer::kept_value(BodyBuilder& b, Value value, const Indices& indices) {
  const std::size_t num_parallel = kernel_.num_parallel();
  const auto is_reduced_over = [&](const AffineIndex& index) {
    return std::ranges::any_of(index.coefficients | std::views::drop(num_parallel),
                               [](const SizeExpr& step) { return !step.is(0); });
  };
  if (earlier_.empty() || std::ranges::none_of(indices, is_reduced_over)) return std::nullopt;
  for (std::uint32_t pass = 0; pass < earlier_.size(); ++pass) {
    for (const Computed& done : earlier_[pass].computed) {
      if (done.value != value || done.indices != indices) continue;
      const std::uint32_t number = temporary_number(pass, done.result);
      return b.temporary(number, done.result.dtype);
    }
  }
  return std::nullopt;
}

std::uint32_t Composer::temporary_number(std::uint32_t pass, BodyValue value) {
  auto& kept = earlier_[pass].kept;
  const auto same = [&](const auto& each) { return each.first.id == value.id; };
  if (const auto it = std::ranges::find_if(kept, same); it != kept.end()) return it->second;
  const auto number = static_cast<std::uint32_t>(kernel_.temporaries.size());
  kernel_.temporaries.push_back({value.dtype, pass});
  kept.emplace_back(value, number);
  return number;
}

BodyValue Composer::compute(BodyBuilder& b, Value value, const Indices& indices) {
  const Node& node = graph_.nodes[value.node];
  if (const std::optional<Scalar> scalar = scalar_constant(node)) return b.constant_scalar(*scalar);
  const auto root = roots_.find(value.node);
  if (root != roots_.end() && are_equal(indices, root_point_, extents_)) {
    const BodyValue stored = inline_root(b, root->second, root->second.root->nest.epilogue)[0];
    return round_to(b, graph_.type(value).dtype, stored);
  }
  if (!members_.contains(value.node) || root != roots_.end()) return load(b, value, indices);
  if (is_index_view(node)) return pull(b, node.operands[0], look_through(graph_, node, indices));
  if (const auto* iota = iota_attributes(node)) {
    const BodyValue index = index_value(b, indices[iota_axis(*iota)], kernel_.extents);
    return round_to(b, iota->dtype, iota_value(b, *iota, index));
  }
  std::vector<BodyValue> operands;
  for (const Value& operand : node.operands) operands.push_back(pull(b, operand, indices));
  return round_to(b, graph_.type(value).dtype, record_body(b, graph_, node, std::move(operands)));
}

BodyValue Composer::load(BodyBuilder& b, Value value, const Indices& indices) {
  const std::uint32_t access = access_number({operand_number(value), indices, std::nullopt, std::nullopt});
  return b.load(access, body_dtype(graph_.type(value).dtype));
}

/// A one-element constant becomes an immediate.
std::optional<Scalar> Composer::scalar_constant(const Node& node) const {
  const auto* constant = std::get_if<ConstantNode>(&node.what);
  if (!constant || constant->data.size() != size_bytes(node.results[0].dtype)) return std::nullopt;
  const DType dtype = node.results[0].dtype;
  const Scalar stored = load_scalar(dtype, constant->data.data());
  const auto bits = static_cast<std::uint16_t>(stored.bits);
  if (dtype == DType::kF16) return Scalar::of(static_cast<float>(Half::from_bits(bits)));
  if (dtype == DType::kBF16) return Scalar::of(static_cast<float>(BFloat16::from_bits(bits)));
  return stored;
}

ComposedRequest Composer::finish(BodyBuilder& epilogue, const Indices& point) {
  for (const Value& output : region_.outputs) {
    const TensorType& type = graph_.type(output);
    const auto number = static_cast<std::uint32_t>(kernel_.results.size());
    kernel_.results.push_back({fmt::format("y{}", number), type, dispatch_.layout_of(output)});
    if (is_stored_in_pass(output)) {
      kernel_.stores.push_back({number, term_point_, std::nullopt, std::nullopt, passes_.at(output.node)});
    } else {
      epilogue.yield(pull(epilogue, output, point));
      kernel_.stores.push_back({number, point, std::nullopt, std::nullopt});
    }
  }
  kernel_.name = region_.name;
  kernel_.epilogue = epilogue.finish();
  return {std::move(kernel_), operands_, region_.outputs};
}

}  // namespace millrace
