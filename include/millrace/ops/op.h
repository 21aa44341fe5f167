// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "millrace/ops/attributes.h"

namespace millrace {

enum class Op : std::uint8_t {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) name,
#include "millrace/ops/op_table.inc"
};

inline constexpr Op kAllOps[] = {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) Op::name,
#include "millrace/ops/op_table.inc"
};

/// The properties of an op on which the rest of the library and the tests rely. No other code lists ops.
enum OpTraits : std::uint32_t {
  kNoTrait = 0,
  // The kind of op.
  kElementwise = 1 << 0,  // a result point depends on the same point of every operand
  kReduction = 1 << 1,    // a result point depends on many operand points
  kContraction = 1 << 2,  // sums of products of two operands
  kIndexView = 1 << 3,    // gives elements other indices, by an affine map
  kStorageView = 1 << 4,  // the same elements in memory, with another shape
  kView = kIndexView | kStorageView,
  kMove = 1 << 5,      // copies elements elsewhere
  kOrder = 1 << 6,     // sort and topk
  kSequence = 1 << 7,  // scans and scatters: results depend on the order of the operand's points
  // What the op's kernel can fuse. Elementwise ops have all of these properties.
  kFusibleEpilogue = 1 << 8,  // can apply elementwise ops to its result before it stores it
  kFusibleTerm = 1 << 9,      // reads each operand point once, and can apply elementwise ops to it first
  kReadsViews = 1 << 10,      // reads operands through index views; ops with kFusibleTerm do too
  // Properties of the op's operands and results.
  kCommutative = 1 << 11,   // the two operands may be exchanged
  kAccumulates = 1 << 12,   // sums or products of many floats, in an order that the kernel chooses
  kMultiplies = 1 << 13,    // products, not sums
  kPicks = 1 << 14,         // each result element is an operand's element, as in views and moves
  kTakesIndices = 1 << 15,  // operand 1 holds indices along an axis of operand 0
  // What the op's kernel can fuse, continued.
  kFusibleLoad = 1 << 16,  // can apply elementwise ops to the elements of its operand as it reads them
};

struct OpInfo {
  std::string_view name;
  int num_operands;  // -1: one or more
  int num_results;
  std::uint32_t traits;
  std::string_view attributes;  // the attribute struct's name
  std::string_view meaning;
  std::string_view example;  // empty for an elementwise op without attributes
};

inline constexpr OpInfo kOpInfos[] = {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) \
  {#name, operands, results, traits, #attributes, meaning, example},
#include "millrace/ops/op_table.inc"
};

constexpr const OpInfo& info(Op op) { return kOpInfos[static_cast<std::size_t>(op)]; }

/// Whether `op` is a row of the table. The other functions in this header accept only known ops.
constexpr bool is_known(Op op) { return static_cast<std::size_t>(op) < std::size(kAllOps); }
constexpr std::string_view to_text(Op op) { return info(op).name; }
constexpr bool has_trait(Op op, OpTraits trait) { return (info(op).traits & trait) != 0; }

}  // namespace millrace
