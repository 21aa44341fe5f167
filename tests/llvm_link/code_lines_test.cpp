// SPDX-License-Identifier: Apache-2.0
// The lines of instructions, against LLVM's own reader of line tables.
#include <doctest/doctest.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ObjectFile.h>

#include "jit/llvm/amdgpu/machine_code.h"
#include "millrace/jit/code_object.h"
#include "tests/support/gpu/gpu_kernels.h"

namespace millrace {
namespace {

/// Per address, from the object's units of debug information.
std::uint32_t line_by_llvm(llvm::DWARFContext& dwarf, std::uint64_t address) {
  for (const auto& unit : dwarf.compile_units()) {
    const auto* table = dwarf.getLineTableForUnit(unit.get());
    const std::uint32_t row = table->lookupAddress({address, llvm::object::SectionedAddress::UndefSection});
    if (row != table->UnknownRowIndex) return table->Rows[row].Line;
  }
  return 0;
}

TEST_CASE("every instruction of joined kernels has the line that LLVM reads") {
  const auto generator = make_llvm_generator({.line_tables = true});
  for (const GfxTarget& gfx : gfx_targets()) {
    const TargetSpec spec{.family = "amdgpu", .gfx = std::string(gfx.name)};
    std::vector<ExecutableImage> images;
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64}) {
      const MachineKernel kernel = test::row_sum_kernel(dtype, gfx.subgroup_size);
      images.push_back(generator->emit(generator->plan(kernel, spec).value(), spec).value());
    }
    const std::vector<std::byte> object = link_images(images).value();
    const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
    const auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile({bytes, "object"}));
    const auto dwarf = llvm::DWARFContext::create(*file);
    const MachineCode code = decode_llvm_code_object(object).value();
    CHECK(code.kernels.size() == 3);
    std::size_t num_lines = 0;
    for (const MachineCodeKernel& kernel : code.kernels) {
      for (const MachineCodeInstruction& instruction : kernel.instructions) {
        CHECK(instruction.line == line_by_llvm(*dwarf, instruction.address));
        num_lines += instruction.line != 0;
      }
    }
    CHECK(num_lines > 100);
  }
}

}  // namespace
}  // namespace millrace
