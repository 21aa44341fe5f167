// SPDX-License-Identifier: Apache-2.0
// Source: the ELF specification, "Program Loading"; LLVM's "User Guide for AMDGPU Backend", "Code Object".
#include "jit/llvm/amdgpu/machine_code.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "jit/llvm/amdgpu/code_object.h"
#include "jit/llvm/amdgpu/machine_layer.h"
#include "jit/llvm/code_lines.h"

namespace millrace {
namespace {

using Elf = CodeObjectElf;

llvm::Error failure(const std::string& message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error kernel_failure(const MachineCodeKernel& kernel, const std::string& message) {
  return failure(fmt::format("kernel '{}': {}", kernel.symbol, message));
}

/// Reads the segments. Checks that their addresses ascend, as ELF requires, and that they do not overlap.
llvm::Error read_segments(const Elf& elf, MachineCode& code) {
  auto headers = elf.program_headers();
  if (!headers) return headers.takeError();
  std::uint64_t end = 0;
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD) continue;
    auto bytes = elf.getSegmentContents(header);
    if (!bytes) return bytes.takeError();
    const std::uint64_t address = header.p_vaddr, memory_bytes = header.p_memsz;
    if (memory_bytes < bytes->size()) {
      return failure(fmt::format("segment at {:#x}: {} bytes in the file, expected at most its {} of memory", address,
                                 bytes->size(), memory_bytes));
    }
    if (address < end || memory_bytes > std::numeric_limits<std::uint64_t>::max() - address) {
      return failure(
          fmt::format("segment at {:#x} of {} bytes overlaps another, or is out of order", address, memory_bytes));
    }
    end = address + memory_bytes;
    const auto span = std::as_bytes(std::span(bytes->data(), bytes->size()));
    code.segments.push_back({address, memory_bytes, {span.begin(), span.end()}});
  }
  return llvm::Error::success();
}

/// Reads the relative relocations, which read_tables leaves out of CodeObjectInfo::relocations.
llvm::Error read_relocations(const Elf& elf, MachineCode& code) {
  auto sections = elf.sections();
  if (!sections) return sections.takeError();
  const auto is_inside = [](const MachineCodeSegment& segment, std::uint64_t address) {
    return address >= segment.address && segment.memory_bytes >= 8 &&
           address - segment.address <= segment.memory_bytes - 8;
  };
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_RELA) continue;
    auto relocations = elf.relas(section);
    if (!relocations) return relocations.takeError();
    for (const auto& relocation : *relocations) {
      const std::uint64_t address = relocation.r_offset;
      if (std::ranges::none_of(code.segments, [&](const auto& segment) { return is_inside(segment, address); })) {
        return failure(fmt::format("relocation at {:#x} lies outside of the segments", address));
      }
      code.relocations.push_back({address, static_cast<std::uint64_t>(relocation.r_addend)});
    }
  }
  return llvm::Error::success();
}

llvm::Expected<CodeLines> read_lines(const Elf& elf) {
  auto sections = elf.sections();
  if (!sections) return sections.takeError();
  for (const auto& section : *sections) {
    auto name = elf.getSectionName(section);
    if (!name) return name.takeError();
    if (*name != ".debug_line") continue;
    auto bytes = elf.getSectionContentsAsArray<char>(section);
    if (!bytes) return bytes.takeError();
    return CodeLines::read(llvm::StringRef(bytes->data(), bytes->size()));
  }
  return CodeLines();
}

/// The bytes at an address; fewer than `num_bytes` if no segment in the file contains all of them.
std::span<const std::byte> bytes_at(const MachineCode& code, std::uint64_t address, std::uint64_t num_bytes) {
  for (const MachineCodeSegment& segment : code.segments) {
    if (address < segment.address || address - segment.address >= segment.bytes.size()) continue;
    const auto rest = std::span(segment.bytes).subspan(address - segment.address);
    return rest.first(std::min<std::uint64_t>(rest.size(), num_bytes));
  }
  return {};
}

/// Reads the descriptor. Its entry must be the address of the kernel's symbol, because the hardware starts there.
llvm::Error read_descriptor(const MachineCode& code, std::uint64_t address, MachineCodeKernel& kernel) {
  constexpr std::size_t kEntryOffset = 16;  // KERNEL_CODE_ENTRY_BYTE_OFFSET, from the descriptor
  if (address == 0) return kernel_failure(kernel, "no descriptor");
  const auto bytes = bytes_at(code, address, kernel.descriptor.size());
  if (bytes.size() < kernel.descriptor.size()) {
    return kernel_failure(kernel, fmt::format("its descriptor at {:#x} lies outside of the segments", address));
  }
  std::ranges::copy(bytes, kernel.descriptor.begin());
  std::uint64_t offset = 0;
  std::memcpy(&offset, &kernel.descriptor[kEntryOffset], sizeof(offset));
  if (address + offset == kernel.entry) return llvm::Error::success();
  return kernel_failure(kernel, fmt::format("its descriptor places code at {:#x}, expected {:#x} like its symbol",
                                            address + offset, kernel.entry));
}

void disassemble(std::span<const std::byte> bytes, const MachineLayer& machine, const CodeLines& lines,
                 MachineCodeKernel& kernel) {
  constexpr std::size_t kWordBytes = 4;
  const llvm::ArrayRef<std::uint8_t> code(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  for (std::size_t offset = 0; offset < code.size();) {
    MachineCodeInstruction instruction{.address = kernel.entry + offset};
    llvm::MCInst decoded;
    std::uint64_t size = 0;
    if (machine.decode(code.drop_front(offset), instruction.address, decoded, size)) {
      instruction.text = machine.text_of(decoded);
    } else {
      size = std::min(kWordBytes, code.size() - offset);
    }
    instruction.size_bytes = static_cast<std::uint32_t>(size);
    instruction.line = lines.line_of(instruction.address);
    kernel.instructions.push_back(std::move(instruction));
    offset += size;
  }
}

MachineCodeKernel copy_metadata(const CodeObjectKernel& info) {
  return {.symbol = info.symbol,
          .entry = info.code_address,
          .argument_bytes = info.argument_bytes,
          .workgroup_bytes = info.workgroup_bytes,
          .private_bytes = info.private_bytes,
          .workgroup_size = info.workgroup_size,
          .subgroup_size = info.subgroup_size,
          .num_vector_registers = info.num_vector_registers,
          .hidden_arguments = info.hidden_arguments};
}

/// Decodes the kernels of an object. Precondition: `code` has its segments.
class KernelDecoder {
 public:
  KernelDecoder(const GfxTarget& gfx, const CodeLines& lines, MachineCode& code)
      : gfx_(gfx), lines_(lines), code_(code) {}

  llvm::Error decode(const CodeObjectKernel& info) {
    MachineCodeKernel kernel = copy_metadata(info);
    if (info.code_bytes == 0) return kernel_failure(kernel, "no code");
    const auto bytes = bytes_at(code_, info.code_address, info.code_bytes);
    if (bytes.size() < info.code_bytes) {
      return kernel_failure(kernel, fmt::format("its code of {} bytes at {:#x} lies outside of the segments",
                                                info.code_bytes, info.code_address));
    }
    if (llvm::Error error = read_descriptor(code_, info.descriptor_address, kernel)) return error;
    if (kernel.subgroup_size != 64 && kernel.subgroup_size != gfx_.subgroup_size) {
      return kernel_failure(kernel, fmt::format("subgroups of {} threads, {} has {}", kernel.subgroup_size, gfx_.name,
                                                gfx_.subgroup_size));
    }
    auto& machine = kernel.subgroup_size == 32 ? machine_of_32_ : machine_of_64_;
    if (!machine) machine.emplace(gfx_, kernel.subgroup_size);
    disassemble(bytes, *machine, lines_, kernel);
    code_.kernels.push_back(std::move(kernel));
    return llvm::Error::success();
  }

 private:
  const GfxTarget& gfx_;
  const CodeLines& lines_;
  MachineCode& code_;
  std::optional<MachineLayer> machine_of_32_, machine_of_64_;
};

llvm::Error decode(llvm::StringRef bytes, MachineCode& code) {
  auto elf = Elf::create(bytes);
  if (!elf) return elf.takeError();
  auto info = read_tables(*elf);
  if (!info) return info.takeError();
  if (!info->relocations.empty()) {
    return failure(fmt::format("relocation of type {}, expected only relative ones", info->relocations.front()));
  }
  const GfxTarget& gfx = *gfx_target_of(*info);
  code.gfx = gfx.name;
  if (llvm::Error error = read_segments(*elf, code)) return error;
  if (llvm::Error error = read_relocations(*elf, code)) return error;
  auto lines = read_lines(*elf);
  if (!lines) return lines.takeError();
  KernelDecoder decoder(gfx, *lines, code);
  for (const CodeObjectKernel& kernel : info->kernels) {
    if (llvm::Error error = decoder.decode(kernel)) return error;
  }
  return llvm::Error::success();
}

}  // namespace

Result<MachineCode> decode_llvm_code_object(std::span<const std::byte> bytes) {
  MachineCode code;
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (llvm::Error error = decode(text, code)) {
    return data_loss("code object: " + llvm::toString(std::move(error)));
  }
  return code;
}

}  // namespace millrace
