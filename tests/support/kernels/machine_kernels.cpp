// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/machine_kernels.h"

#include <cmath>
#include <cstring>

#include "millrace/jit/interpret.h"

namespace millrace::test {
namespace {

std::vector<DType> register_dtypes() {
  std::vector<DType> dtypes;
  for (const DType dtype : kAllDTypes) {
    if (is_register_dtype(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

/// `op` on the operands as an emit with a list of run-time length.
MachineValue emit(MachineBuilder& b, const OpSignature& signature, const std::vector<MachineValue>& x) {
  switch (x.size()) {
    case 1:
      return b.emit(signature.op, signature.result, {x[0]});
    case 2:
      return b.emit(signature.op, signature.result, {x[0], x[1]});
    default:
      return b.emit(signature.op, signature.result, {x[0], x[1], x[2]});
  }
}

}  // namespace

std::string OpSignature::to_text() const {
  std::string text = std::string(millrace::to_text(op)) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(millrace::to_text(operands[i]));
  }
  return text + ") -> " + std::string(millrace::to_text(result));
}

std::vector<OpSignature> lanewise_signatures() {
  std::vector<OpSignature> signatures;
  for (const KernelOp op : kAllKernelOps) {
    if (!is_lanewise(op) || op == KernelOp::kConstant) continue;
    for (const DType operand : register_dtypes()) {
      std::vector<DType> operands(num_operands(op), operand);
      if (op == KernelOp::kSelect) operands[0] = DType::kBool;
      for (const DType result : register_dtypes()) {
        if (follows_rule(op, result, operands)) signatures.push_back({op, operands, result});
      }
    }
  }
  return signatures;
}

MachineKernel lanewise_kernel(const OpSignature& signature, std::uint32_t lanes) {
  MachineBuilder b("lanewise");
  std::vector<MachineValue> operands;
  const MachineValue zero = b.i64(0);
  for (std::size_t i = 0; i < signature.operands.size(); ++i) {
    operands.push_back(
        b.load(b.buffer("x" + std::to_string(i), signature.operands[i], BufferAccess::kRead), zero, lanes));
  }
  const MemoryHandle result = b.buffer("y", signature.result, BufferAccess::kWrite);
  b.store(result, zero, emit(b, signature, operands));
  return b.finish();
}

Scalar element_at(const void* data, DType dtype, std::size_t i) {
  Scalar value{dtype, 0};
  std::memcpy(&value.bits, static_cast<const std::byte*>(data) + i * size_bytes(dtype), size_bytes(dtype));
  return value;
}

void set_element(void* data, std::size_t i, Scalar value) {
  std::memcpy(static_cast<std::byte*>(data) + i * size_bytes(value.dtype), &value.bits, size_bytes(value.dtype));
}

bool same_value(Scalar a, Scalar b) {
  if (a == b) return true;
  return a.dtype == b.dtype && is_float(a.dtype) && std::isnan(a.to_double()) && std::isnan(b.to_double());
}

namespace {

/// 64-byte aligned.
class WorkgroupMemory {
 public:
  explicit WorkgroupMemory(const MemoryPlan& plan) : lines_(plan.workgroup_bytes / sizeof(Line) + 1) {}
  void* data() { return lines_.data(); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace

std::uint32_t run_interpreted(const MachineKernel& kernel, const std::vector<void*>& buffers,
                              const std::vector<std::int64_t>& sizes, std::uint32_t num_groups) {
  const MemoryPlan plan = plan_memory(kernel, TargetSpec{}).value();
  WorkgroupMemory workgroup_memory(plan);
  std::uint32_t status = 0;
  const KernelArgs args{&status, workgroup_memory.data(), buffers.data(), sizes.data()};
  const Status ran = interpret_kernel(kernel, plan, args, 0, num_groups);
  MILLRACE_CHECK(ran.ok());
  return status;
}

Status run_observed(const MachineKernel& kernel, const MemoryPlan& plan, const std::vector<void*>& buffers,
                    const std::vector<std::int64_t>& sizes, std::uint32_t num_groups,
                    const KernelObservation& observation) {
  WorkgroupMemory workgroup_memory(plan);
  std::uint32_t status = 0;
  const KernelArgs args{&status, workgroup_memory.data(), buffers.data(), sizes.data()};
  const Status ran = make_interpreted_kernel(kernel, plan)->run_observed(args, 0, num_groups, observation);
  return ran.ok() ? ran : Status(ran.code(), "kernel '" + kernel.name + "': " + ran.message());
}

}  // namespace millrace::test
