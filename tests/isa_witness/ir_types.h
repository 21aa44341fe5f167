// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "random_ir.h"

// The words of LLVM IR for the types of random functions.
namespace millrace::test {

inline constexpr const char* kNames[] = {"i1", "i8", "i16", "i32", "i64", "float", "double", "<2 x i16>", "half"};
inline constexpr std::uint32_t kBits[] = {1, 8, 16, 32, 64, 32, 64, 16, 16};  // of a lane
/// The types' ends of the names of intrinsics.
inline constexpr const char* kSuffixes[] = {"i1", "i8", "i16", "i32", "i64", "f32", "f64", "v2i16", "f16"};
inline constexpr IrType kInts[] = {IrType::kI8, IrType::kI16, IrType::kI32, IrType::kI64, IrType::kI32, IrType::kI64};
inline constexpr IrType kFloats[] = {IrType::kF32, IrType::kF64};

inline std::size_t index(IrType type) { return static_cast<std::size_t>(type); }
inline std::string name(IrType type) { return kNames[index(type)]; }
inline bool is_float(IrType type) { return type == IrType::kF32 || type == IrType::kF64; }

}  // namespace millrace::test
