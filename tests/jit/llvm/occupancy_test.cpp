// SPDX-License-Identifier: Apache-2.0
// Occupancy against LLVM, which prints its own count in a kernel's assembly.
#include "millrace/jit/occupancy.h"

#include <charconv>

#include <doctest/doctest.h>

#include "jit/llvm_client/open_module.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/gpu/gpu_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

struct Demand {
  std::uint32_t threads = 256;
  std::uint32_t vectors = 0;            // values of each thread that live at a time
  std::uint32_t scalars = 0;            // likewise, of the subgroup
  std::uint64_t workgroup_numbers = 0;  // of 4 bytes, in workgroup memory
};

/// Loads all values before it stores the first.
MachineKernel demanding_kernel(const Demand& demand, std::uint32_t subgroup_size) {
  MachineBuilder b("demanding");
  b.set_workgroup(demand.threads, subgroup_size);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead),
                     y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  const MachineValue thread = b.thread_id();
  const auto place = [&](std::uint32_t i) {
    const MachineValue first = b.i32(static_cast<std::int32_t>(i * 1024));
    return i < demand.scalars ? first : b.add(first, thread);
  };
  std::vector<MachineValue> values;
  MachineValue sum = thread;
  for (std::uint32_t i = 0; i < demand.scalars + demand.vectors; ++i) {
    const MachineValue offset = place(i);
    values.push_back(b.load(x, offset));
    sum = b.bit_xor(sum, values.back());
  }
  if (demand.workgroup_numbers > 0) {
    const MemoryHandle shared = b.workgroup_memory(DType::kI32, demand.workgroup_numbers, "shared");
    b.store(shared, thread, sum);
    b.barrier();
    const MachineValue neighbour = b.bit_xor(thread, b.i32(1));
    sum = b.load(shared, neighbour);
  }
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const MachineValue first = b.i32(static_cast<std::int32_t>(i * 1024));
    const MachineValue offset = b.add(first, thread), product = b.mul(values[i], sum);
    b.store(y, offset, product);
  }
  b.store(y, thread, sum);
  return b.finish();
}

/// "; Occupancy: 12".
std::uint32_t occupancy_in(const std::string& assembly) {
  constexpr std::string_view kWords = "; Occupancy: ";
  const std::size_t at = assembly.find(kWords);
  REQUIRE(at != std::string::npos);
  const char* begin = assembly.data() + at + kWords.size();
  std::uint32_t number = 0;
  REQUIRE(std::from_chars(begin, assembly.data() + assembly.size(), number).ec == std::errc());
  return number;
}

/// Gives the counted occupancy.
Occupancy check_occupancy(const MachineKernel& kernel, const GfxTarget& gfx) {
  const PlannedKernel planned = make_llvm_generator()->plan(kernel, spec_of(gfx)).value();
  const Result<LlvmEmitOutput> output = emit_with_llvm(planned, spec_of(gfx), {.want_asm = true});
  REQUIRE_MESSAGE(output.ok(), output.status().message());
  const CodeObjectInfo info = read_code_object(link_images({{output->image}}).value()).value();
  const CodeObjectKernel& code = info.kernels.at(0);
  const Occupancy occupancy = occupancy_of(code, gfx);
  CAPTURE(kernel.name);
  CAPTURE(gfx.name);
  CAPTURE(code.num_vector_registers);
  CAPTURE(code.num_scalar_registers);
  CHECK(occupancy.subgroups_per_simd == occupancy_in(output->assembly));
  return occupancy;
}

TEST_CASE("the occupancy of kernels equals LLVM's, on every GPU target") {
  for (const GfxTarget& gfx : gfx_targets()) {
    for (const test::GpuTestKernel& kernel : test::gpu_test_kernels()) {
      check_occupancy(kernel.build(kernel.dtypes.front(), gfx.subgroup_size), gfx);
    }
  }
}

TEST_CASE("the occupancy of kernels that need much of one resource equals LLVM's, and that resource is the limit" *
          test::Sliced()) {
  using enum OccupancyLimit;
  struct Row {
    Demand demand;
    OccupancyLimit on_cdna, on_rdna;
  };
  constexpr Row kRows[] = {
      {{.vectors = 12}, kNothing, kNothing},
      {{.vectors = 110}, kVectorRegisters, kVectorRegisters},
      {{.vectors = 160}, kVectorRegisters, kVectorRegisters},
      {{.scalars = 80}, kNothing, kNothing},
      {{.workgroup_numbers = 1024}, kNothing, kNothing},
      {{.workgroup_numbers = 5 * 1024}, kWorkgroupMemory, kWorkgroupMemory},
      {{.threads = 64, .workgroup_numbers = 1024}, kWorkgroupMemory, kNothing},
      {{.threads = 64, .workgroup_numbers = 10 * 1024}, kWorkgroupMemory, kWorkgroupMemory},
      {{.threads = 1024, .workgroup_numbers = 16 * 1024}, kWorkgroupMemory, kNothing},
      {{.threads = 768}, kWorkgroupSize, kWorkgroupSize},
  };
  for (const GfxTarget& gfx : gfx_targets()) {
    for (const Row& row : kRows) {
      CAPTURE(&row - kRows);
      const Occupancy occupancy = check_occupancy(demanding_kernel(row.demand, gfx.subgroup_size), gfx);
      CHECK(to_text(occupancy.limit) == to_text(is_rdna(gfx) ? row.on_rdna : row.on_cdna));
    }
  }
}

}  // namespace
}  // namespace millrace
