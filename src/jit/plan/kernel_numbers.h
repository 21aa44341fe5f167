// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A constant that an instruction reads, as a scalar or in all lanes.
struct KernelNumber {
  DType dtype = DType::kI64;
  std::uint64_t bits = 0;
};

/// A machine kernel split into its code and the constants that it reads. Kernels with equal shapes differ only in
/// numbers and names.
struct KernelNumbers {
  std::string shape;
  std::vector<KernelNumber> numbers;  // one per use
  /// Indices of the `numbers` for which code is specialized: divisors and shift counts, because instructions are faster
  /// if these are constants.
  std::vector<std::size_t> specialized;
};
KernelNumbers find_numbers(const MachineKernel&);

/// The replacement of a number: a constant, or an added size argument plus a constant (which is 0 except for i64).
struct NumberSource {
  std::optional<std::uint32_t> argument;
  std::uint64_t constant = 0;
};

/// Returns the kernel with `num_arguments` more size arguments, which each launch passes. `sources` has one entry per
/// number. A size argument has the bits of the numbers that it replaces.
MachineKernel replace_numbers(MachineKernel, std::span<const NumberSource> sources, std::size_t num_arguments);

}  // namespace millrace
