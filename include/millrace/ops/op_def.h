// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/jit/algorithm.h"
#include "millrace/ops/custom_kernel.h"
#include "millrace/ops/op.h"

namespace millrace {

/// A node as its op sees it.
struct OpInstance {
  std::span<const TensorType> operands;
  std::span<const TensorType> results;
  const Attributes& attributes;
  std::uint32_t used_results = ~0u;  // bit per result
};

/// What a run must check before anything executes, because only it knows the sizes: small <= large.
struct SizeRequirement {
  SizeExpr small;
  SizeExpr large;
};

/// What an op's type rule says of operands that it takes.
struct Inference {
  Inference(std::vector<TensorType> types, std::vector<SizeRequirement> needed = {})
      : results(std::move(types)), requirements(std::move(needed)) {}
  std::vector<TensorType> results;
  std::vector<SizeRequirement> requirements;
};

/// What an op means. One per row of op_table.inc, made by `define_<op>()` in src/ops/.
struct OpDef {
  /// Result types and what a run must check, or what is wrong: "operand 1 is f32[8], expected f32[4x8] like operand 0;
  /// insert a broadcast". The caller puts the node in front.
  Result<Inference> (*infer)(std::span<const TensorType> operands, const Attributes&) = nullptr;
  /// Elementwise ops: one body, recorded and computed.
  BodyFunction body = nullptr;
  HostFunction host = nullptr;
  /// What the op asks of the jit, with row-major operands and results: one request; for concat one per operand, each
  /// storing its slice of the result. Unused results are absent. Operands of a request are numbered as the node's
  /// (concat: request i has the one operand i), results as the used ones in order.
  Result<std::vector<KernelRequest>> (*build)(const OpInstance&) = nullptr;
};

const OpDef& definition(Op op);
/// The op's alternative of Attributes, as it is when nothing is said.
Attributes default_attributes(Op op);

/// How a type breaks what every value of a graph keeps (a dtype of the table, at most kMaxRank dims, extents of 0 or
/// more, fewer than 2^48 elements, whose number has at most 4096 terms; no dim too long or divided by 0), to stand
/// after the name of what has it: "is f32[-1], expected extents of 0 or more; correct them". Empty when it breaks
/// nothing.
std::string broken_limit(const TensorType&);

/// Infers with the checks that the table itself gives: operand count, attribute type, rank limit, element count.
Result<Inference> infer_types(Op op, std::span<const TensorType> operands, const Attributes&);

/// Type rule and request of a custom kernel, as OpDef::infer and OpDef::build.
Result<Inference> infer_custom(const CustomKernel&, std::span<const TensorType> operands);
Result<std::vector<KernelRequest>> build_custom(const CustomKernel&, const OpInstance&);

}  // namespace millrace
