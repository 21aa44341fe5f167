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

/// What passes and dispatch formation must know of an op.
enum OpTraits : std::uint32_t {
  kElementwise = 1,  // one result point from the same point of every operand
  kCommutative = 2,  // of two operands
  kReduction = 4,    // one result point from many operand points
  kContraction = 8,  // sums of products of two operands
  kView = 16,        // only renames where elements are
  kMove = 32,        // copies elements elsewhere
  kOrder = 64,       // sort and topk
  kSequence = 128,   // scans and scatters: results depend on an order of the operand's points
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
