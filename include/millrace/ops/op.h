// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "millrace/ops/attributes.h"

namespace millrace {

enum class Op : std::uint8_t {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning) name,
#include "millrace/ops/op_table.inc"
};

inline constexpr Op kAllOps[] = {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning) Op::name,
#include "millrace/ops/op_table.inc"
};

/// What the rest of the library and the tests must know of an op: nothing else lists ops.
enum OpTraits : std::uint32_t {
  kNoTrait = 0,
  // What it is.
  kElementwise = 1 << 0,  // one result point from the same point of every operand
  kReduction = 1 << 1,    // one result point from many operand points
  kContraction = 1 << 2,  // sums of products of two operands
  kIndexView = 1 << 3,    // only renames where elements are, by an affine map of indices
  kStorageView = 1 << 4,  // the same elements in memory, another shape
  kView = kIndexView | kStorageView,
  kMove = 1 << 5,      // copies elements elsewhere
  kOrder = 1 << 6,     // sort and topk
  kSequence = 1 << 7,  // scans and scatters: results depend on an order of the operand's points
  // How its kernel takes part in a dispatch. Elementwise ops do all of it.
  kTakesEpilogue = 1 << 8,  // computes elementwise ops on its result
  kTakesTerm = 1 << 9,      // reads each operand point once, and computes elementwise ops on its way there
  kReadsViews = 1 << 10,    // reads operands through index views; those that take a term do
  // What its values are.
  kCommutative = 1 << 11,   // of two operands
  kAccumulates = 1 << 12,   // sums or products of many floats, which are rounded in an order of the kernel's
  kMultiplies = 1 << 13,    // products, not sums
  kPicks = 1 << 14,         // each result element is one of the operands', as those of views and moves are
  kTakesIndices = 1 << 15,  // operand 1 names places along an axis of operand 0
};

struct OpInfo {
  std::string_view name;
  int num_operands;  // -1: one or more
  int num_results;
  std::uint32_t traits;
  std::string_view attributes;  // the attribute struct's name
  std::string_view meaning;
};

inline constexpr OpInfo kOpInfos[] = {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning) \
  {#name, operands, results, traits, #attributes, meaning},
#include "millrace/ops/op_table.inc"
};

constexpr const OpInfo& info(Op op) { return kOpInfos[static_cast<std::size_t>(op)]; }

/// Whether a row of the table has this number; the rest of this header takes no other.
constexpr bool is_known(Op op) { return static_cast<std::size_t>(op) < std::size(kAllOps); }
constexpr std::string_view to_text(Op op) { return info(op).name; }
constexpr bool has_trait(Op op, OpTraits trait) { return (info(op).traits & trait) != 0; }

}  // namespace millrace
