// SPDX-License-Identifier: Apache-2.0
// How many threads of a kernel run at once, by the resources that it takes. tests/jit/llvm/occupancy_test.cpp compares
// with LLVM.
#include "millrace/jit/occupancy.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using enum OccupancyLimit;

TEST_CASE("occupancy is limited by registers, workgroup memory and the workgroup's size") {
  struct Row {
    const char* gfx;
    std::uint32_t vector_registers, scalar_registers, threads;
    std::uint64_t workgroup_bytes;
    Occupancy expected;
  };
  constexpr Row kRows[] = {
      {"gfx1100", 36, 20, 512, 8192, {16, 2, kNothing}},       // 16 subgroups a group, 32 in a unit
      {"gfx1100", 97, 20, 256, 0, {12, 3, kVectorRegisters}},  // 97 registers are given as 120
      {"gfx1030", 97, 20, 256, 0, {9, 2, kVectorRegisters}},   // ... as 112
      {"gfx1201", 256, 106, 32, 0, {5, 10, kVectorRegisters}},
      {"gfx90a", 128, 20, 256, 33 * 1024, {1, 1, kWorkgroupMemory}},
      {"gfx90a", 128, 20, 256, 16 * 1024, {4, 4, kVectorRegisters}},  // memory leaves as much
      {"gfx90a", 40, 20, 256, 513, {8, 8, kNothing}},
      {"gfx90a", 20, 96, 256, 0, {8, 8, kNothing}},
      {"gfx90a", 20, 97, 256, 0, {7, 7, kScalarRegisters}},  // 97 are given as 112, of 800
      {"gfx1100", 20, 106, 256, 0, {16, 4, kNothing}},       // RDNA gives each subgroup all of them
      {"gfx90a", 512, 20, 1024, 0, {1, 0, kVectorRegisters}},
      {"gfx1201", 0, 0, 32, 0, {16, 32, kNothing}},
      {"gfx1100", 20, 20, 768, 0, {12, 1, kWorkgroupSize}},  // 24 of 32 subgroups, and no room for 24 more
      {"gfx1100", 20, 20, 32, 33 * 1024, {1, 1, kWorkgroupMemory}},
      {"gfx942", 20, 20, 64, 7 * 512 - 1, {5, 18, kWorkgroupMemory}},  // 18 groups on 4 SIMDs
      {"gfx1151", 20, 20, 128, 7 * 512 - 1, {16, 8, kNothing}},        // given as 4096 bytes
      {"gfx1151", 20, 20, 64, 7 * 512 - 1, {16, 16, kNothing}},
      {"gfx1151", 20, 20, 32, 7 * 512 - 1, {8, 16, kWorkgroupMemory}},
  };
  for (const Row& row : kRows) {
    const CodeObjectKernel kernel{.workgroup_bytes = row.workgroup_bytes,
                                  .workgroup_size = row.threads,
                                  .num_scalar_registers = row.scalar_registers,
                                  .num_vector_registers = row.vector_registers};
    const Occupancy found = occupancy_of(kernel, *find_gfx_target(row.gfx));
    CAPTURE(&row - kRows);
    CHECK(found.subgroups_per_simd == row.expected.subgroups_per_simd);
    CHECK(found.workgroups_per_unit == row.expected.workgroups_per_unit);
    CHECK(to_text(found.limit) == to_text(row.expected.limit));
  }
}

}  // namespace
}  // namespace millrace
