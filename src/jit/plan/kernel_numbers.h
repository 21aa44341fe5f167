// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A constant where an instruction reads it, in one lane or in all.
struct KernelNumber {
  DType dtype = DType::kI64;
  std::uint64_t bits = 0;
};

/// A machine kernel taken apart: kernels of one `shape` are equal but for their numbers (and names).
struct KernelNumbers {
  std::string shape;
  std::vector<KernelNumber> numbers;  // one per use
  /// Those of `numbers` that decide what an instruction becomes: divisors and shift counts.
  std::vector<std::size_t> deciding;
};
KernelNumbers find_numbers(const MachineKernel&);

/// What stands for a number: the constant, or an added size argument plus the constant (which is then 0 but for i64).
struct NumberSource {
  std::optional<std::uint32_t> argument;
  std::uint64_t constant = 0;
};

/// The kernel with `num_arguments` more size arguments, which each launch gives; `sources` has one entry per number.
/// Arguments hold the bits of what they stand for.
MachineKernel replace_numbers(MachineKernel, std::span<const NumberSource> sources, std::size_t num_arguments);

}  // namespace millrace
