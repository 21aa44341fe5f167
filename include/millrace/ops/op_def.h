// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/base/size_requirement.h"
#include "millrace/base/status.h"
#include "millrace/jit/algorithm.h"
#include "millrace/ops/custom_kernel.h"
#include "millrace/ops/op.h"

namespace millrace {

/// A node as seen by its op.
struct OpInstance {
  std::span<const TensorType> operands;
  std::span<const TensorType> results;
  const Attributes& attributes;
  std::uint32_t used_results = ~0u;  // one bit per result
};

/// The result types that an op's type rule infers, and the checks that remain for run time.
struct Inference {
  Inference(std::vector<TensorType> types, std::vector<SizeRequirement> needed = {})
      : results(std::move(types)), requirements(std::move(needed)) {}
  std::vector<TensorType> results;
  std::vector<SizeRequirement> requirements;
};

/// The definition of an op. Each row of op_table.inc has one, made by `define_<op>()` in src/ops/.
struct OpDef {
  /// Infers the result types and the checks that remain for run time, or returns the problem: "operand 1 is f32[8],
  /// expected f32[4x8] like operand 0; insert a broadcast". The caller puts the node's name before it.
  Result<Inference> (*infer)(std::span<const TensorType> operands, const Attributes&) = nullptr;
  /// Elementwise ops only: the op's body, once for recording and once for evaluation on the host.
  BodyFunction body = nullptr;
  HostFunction host = nullptr;
  /// The op's requests for kernels, with row-major operands and results. There is one request, except that concat has
  /// one per operand, each storing its slice of the result. Unused results are left out. A request has the node's
  /// operands (for concat, request i has only operand i) and its used results, each in order.
  Result<std::vector<KernelRequest>> (*build)(const OpInstance&) = nullptr;
  /// Whether the body reads the bits of f16 and bf16 operands, which are then passed in their own dtype, not as f32.
  bool reads_bits = false;
};

const OpDef& definition(Op op);
/// The op's attributes with default values, in the alternative of the variant that the op uses.
Attributes default_attributes(Op op);

/// Describes how a type breaks the limits that hold for every value: a known dtype, at most kMaxRank dims, extents of 0
/// or more, fewer than 2^48 elements, an element count of at most 4096 terms, no dim that is too long or divides by
/// zero. The text follows the name of the value: "is f32[-1], expected extents of 0 or more; correct the extent". Empty
/// if the type is within the limits.
std::string broken_limit(const TensorType&);

/// Infers an op's types, and checks what the table and the limits imply: operand count, attribute type, broken_limit.
Result<Inference> infer_types(Op op, std::span<const TensorType> operands, const Attributes&);

/// The type rule and the request of a custom kernel, like OpDef::infer and OpDef::build.
Result<Inference> infer_custom(const CustomKernel&, std::span<const TensorType> operands);
Result<std::vector<KernelRequest>> build_custom(const CustomKernel&, const OpInstance&);
/// The type rule of an application's loop nest.
Result<Inference> infer_nest(const LoopKernel&, std::span<const TensorType> operands);

}  // namespace millrace
