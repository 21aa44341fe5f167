// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/dtype.h"

namespace millrace {

enum class KernelOp : std::uint8_t {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) name,
#include "millrace/jit/kernel_ops.inc"
};

enum class KernelOpRule : std::uint8_t { kArith, kCompare, kSelect, kConvert, kBody, kMachine };

/// The dtypes that an op accepts. f16 and bf16 can only be moved, selected and converted, and only in bodies; machine
/// registers hold their bits as u16.
enum class KernelOpDTypes : std::uint8_t {
  kEvery,
  kNonBool,  // every dtype except bool
  kOrdered,  // bool, integers, f32, f64
  kNumber,   // integers, f32, f64
  kInteger,
  kFloat,  // f32, f64
  kBits,   // bool, integers
  kWord,   // i32, u32, i64, u64
};

inline constexpr KernelOp kAllKernelOps[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) KernelOp::name,
#include "millrace/jit/kernel_ops.inc"
};

constexpr std::string_view to_text(KernelOp op) {
  constexpr std::string_view kNames[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) text,
#include "millrace/jit/kernel_ops.inc"
  };
  return kNames[static_cast<std::size_t>(op)];
}

/// The number of operands that the op always has. kLoad may have one more, and kFor may have any number more.
constexpr unsigned num_operands(KernelOp op) {
  constexpr unsigned kCounts[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) operands,
#include "millrace/jit/kernel_ops.inc"
  };
  return kCounts[static_cast<std::size_t>(op)];
}

constexpr KernelOpRule rule_of(KernelOp op) {
  constexpr KernelOpRule kRules[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) KernelOpRule::rule,
#include "millrace/jit/kernel_ops.inc"
  };
  return kRules[static_cast<std::size_t>(op)];
}

constexpr KernelOpDTypes dtypes_of(KernelOp op) {
  constexpr KernelOpDTypes kDTypes[] = {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) KernelOpDTypes::dtypes,
#include "millrace/jit/kernel_ops.inc"
  };
  return kDTypes[static_cast<std::size_t>(op)];
}

/// Whether the op computes each lane independently and can run on host scalars: every op except kBody and kMachine ops.
constexpr bool is_lanewise(KernelOp op) { return rule_of(op) < KernelOpRule::kBody; }

/// Whether operand 0 is an offset into the memory that `immediate` names.
constexpr bool touches_memory(KernelOp op) { return KernelOp::kLoadVector <= op && op <= KernelOp::kAtomicExchange; }
/// Whether the op reads and writes memory in one step and returns the old value.
constexpr bool is_atomic(KernelOp op) { return KernelOp::kAtomicAdd <= op && op <= KernelOp::kAtomicExchange; }

/// Whether a register of a machine kernel can have this dtype.
constexpr bool is_register_dtype(DType dtype) { return dtype != DType::kF16 && dtype != DType::kBF16; }

/// The register dtype that a machine kernel loads from, and stores to, elements of dtype `stored`.
constexpr DType register_dtype(DType stored) { return is_register_dtype(stored) ? stored : DType::kU16; }

/// Whether `op` accepts operands of `dtype`; for kSelect, as operands 1 and 2.
constexpr bool takes(KernelOp op, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  const bool is_register_float = is_float(dtype) && is_register_dtype(dtype);
  switch (dtypes_of(op)) {
    case KernelOpDTypes::kEvery:
      return true;
    case KernelOpDTypes::kNonBool:
      return !is_bool;
    case KernelOpDTypes::kOrdered:
      return is_register_dtype(dtype);
    case KernelOpDTypes::kNumber:
      return is_integer(dtype) || is_register_float;
    case KernelOpDTypes::kInteger:
      return is_integer(dtype);
    case KernelOpDTypes::kFloat:
      return is_register_float;
    case KernelOpDTypes::kBits:
      return is_bool || is_integer(dtype);
    case KernelOpDTypes::kWord:
      return is_integer(dtype) && size_bytes(dtype) >= 4;
  }
  __builtin_unreachable();
}

}  // namespace millrace
