// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/llvm/emit_support.h"

#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "millrace/jit/scalar.h"

namespace millrace {

HostKernelEntry entry_of(const MappedCode& code, const ExecutableImage& image) {
  // Through an integer, because no cast makes a function of const bytes.
  return reinterpret_cast<HostKernelEntry>(reinterpret_cast<std::uintptr_t>(code.data() + image.entry_offset));
}

EmittedKernel::EmittedKernel(const MachineKernel& kernel, IsaLevel isa, const MemoryPlan& plan,
                             const LlvmEmitOptions& options) {
  PlannedKernel planned;
  planned.name = kernel.name;
  planned.generator = "llvm";
  planned.mapped = kernel;
  planned.memory = plan;
  planned.info.name = kernel.name;
  Result<LlvmEmitOutput> output = emit_with_llvm(planned, {.isa = isa}, options);
  REQUIRE_MESSAGE(output.ok(), output.status().message());
  output_ = *std::move(output);
  Result<MappedCode> code = MappedCode::map(output_.image.bytes, output_.image.code_bytes);
  REQUIRE_MESSAGE(code.ok(), code.status().message());
  code_ = *std::move(code);
}

std::uint32_t EmittedKernel::run(std::vector<void*> buffers, std::vector<std::int64_t> sizes, std::uint32_t num_groups,
                                 void* workgroup_memory, bool streams) const {
  std::uint32_t status = 0;
  const KernelArgs args{.status = &status,
                        .workgroup_memory = workgroup_memory,
                        .buffers = buffers.data(),
                        .sizes = sizes.data(),
                        .streams = streams ? 1u : 0u};
  entry_of(code_, output_.image)(&args, 0, num_groups);
  return status;
}

std::string first_difference(DType dtype, const void* found, const void* expected, std::size_t num_elements) {
  const std::size_t size = size_bytes(dtype);
  for (std::size_t i = 0; i < num_elements; ++i) {
    Scalar a{dtype, 0}, b{dtype, 0};
    std::memcpy(&a.bits, static_cast<const char*>(found) + i * size, size);
    std::memcpy(&b.bits, static_cast<const char*>(expected) + i * size, size);
    if (a == b) continue;
    if (is_float(dtype) && std::isnan(a.to_double()) && std::isnan(b.to_double())) continue;
    return "element " + std::to_string(i) + ": found " + to_text(a) + ", expected " + to_text(b);
  }
  return {};
}

}  // namespace millrace
