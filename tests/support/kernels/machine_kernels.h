// SPDX-License-Identifier: Apache-2.0
// Small machine kernels around one op, and functions that run a kernel on the interpreter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/jit/machine_builder.h"
#include "millrace/jit/memory_plan.h"
#include "millrace/jit/scalar.h"

namespace millrace::test {

/// What a lanewise op may be given: dtypes of its operands, and its result's.
struct OpSignature {
  KernelOp op = KernelOp::kAdd;
  std::vector<DType> operands;
  DType result = DType::kF32;
  std::string to_text() const;  // "select(bool, f32, f32) -> f32"
};

/// Every combination that the op table allows on machine registers.
std::vector<OpSignature> lanewise_signatures();

/// result[0 .. lanes) = op(operand0[0 .. lanes), ...). Buffers: the operands, then the result.
MachineKernel lanewise_kernel(const OpSignature&, std::uint32_t lanes);

/// Element `i` of an array of `dtype`.
Scalar element_at(const void* data, DType dtype, std::size_t i);
void set_element(void* data, std::size_t i, Scalar value);

/// Equal bits, or two NaNs: which NaN an operation gives is not said.
bool same_value(Scalar a, Scalar b);

/// Plans memory for cpu:baseline, gives workgroup memory, runs all groups in [0, num_groups). The status word.
std::uint32_t run_interpreted(const MachineKernel&, const std::vector<void*>& buffers,
                              const std::vector<std::int64_t>& sizes = {}, std::uint32_t num_groups = 1);

/// Runs all groups before an observer's eyes, or in the order of its seed. An error names the kernel, as a device's.
Status run_observed(const MachineKernel&, const MemoryPlan&, const std::vector<void*>& buffers,
                    const std::vector<std::int64_t>& sizes, std::uint32_t num_groups, const KernelObservation&);

}  // namespace millrace::test
