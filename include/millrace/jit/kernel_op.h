// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class KernelOp : std::uint8_t {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, meaning) name,
#include "millrace/jit/kernel_ops.inc"
};

enum class KernelOpRule : std::uint8_t { kArith, kCompare, kSelect, kConvert, kBody, kMachine };

constexpr std::string_view to_text(KernelOp op) {
  constexpr std::string_view kNames[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, meaning) text,
#include "millrace/jit/kernel_ops.inc"
  };
  return kNames[static_cast<std::size_t>(op)];
}

/// Fixed operands; kLoad may have one more, kFor and kIf carry more.
constexpr unsigned num_operands(KernelOp op) {
  constexpr unsigned kCounts[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, meaning) operands,
#include "millrace/jit/kernel_ops.inc"
  };
  return kCounts[static_cast<std::size_t>(op)];
}

constexpr KernelOpRule rule_of(KernelOp op) {
  constexpr KernelOpRule kRules[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, meaning) KernelOpRule::rule,
#include "millrace/jit/kernel_ops.inc"
  };
  return kRules[static_cast<std::size_t>(op)];
}

/// Elementwise on lanes, meaningful on host scalars: everything but kBody and kMachine.
constexpr bool is_lanewise(KernelOp op) { return rule_of(op) < KernelOpRule::kBody; }

}  // namespace millrace
