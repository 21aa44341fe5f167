// SPDX-License-Identifier: Apache-2.0
// Decoded code objects: what the isa device executes, and which objects are refused.
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "jit/ir/instruction_lines.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/gpu/gpu_kernels.h"

namespace millrace {
namespace {

const GfxTarget& kGfx = *find_gfx_target("gfx1100");

std::vector<std::byte> object_of(const MachineKernel& kernel, const GfxTarget& gfx, bool line_tables = false) {
  const auto generator = make_llvm_generator({.line_tables = line_tables});
  return link_images({{generator->emit(generator->plan(kernel, spec_of(gfx)).value(), spec_of(gfx)).value()}}).value();
}

MachineKernel row_sum_for(const GfxTarget& gfx) { return test::row_sum_kernel(DType::kF32, gfx.subgroup_size); }

bool has_instruction(const MachineCodeKernel& kernel, std::string_view part) {
  return std::ranges::any_of(kernel.instructions,
                             [&](const auto& each) { return each.text.find(part) != std::string::npos; });
}

TEST_CASE("a kernel has the properties of its metadata, its descriptor and its code") {
  for (const GfxTarget& gfx : gfx_targets()) {
    CAPTURE(gfx.name);
    const std::vector<std::byte> object = object_of(row_sum_for(gfx), gfx);
    const MachineCode code = decode_code_object(object).value();
    const CodeObjectKernel info = read_code_object(object).value().kernels.at(0);
    CHECK(code.gfx == gfx.name);
    CHECK(code.relocations.empty());
    REQUIRE(code.kernels.size() == 1);
    const MachineCodeKernel& kernel = code.kernels[0];
    CHECK(kernel.symbol == info.symbol);
    CHECK(kernel.argument_bytes == 32);
    CHECK(kernel.workgroup_bytes == info.workgroup_bytes);
    CHECK(kernel.private_bytes == 0);
    CHECK(kernel.workgroup_size == 256);
    CHECK(kernel.subgroup_size == gfx.subgroup_size);
    CHECK(kernel.num_vector_registers == info.num_vector_registers);
    CHECK(kernel.hidden_arguments.empty());
    std::uint32_t group_bytes = 0, argument_bytes = 0;
    std::memcpy(&group_bytes, kernel.descriptor.data(), sizeof(group_bytes));
    std::memcpy(&argument_bytes, &kernel.descriptor[8], sizeof(argument_bytes));
    CHECK(group_bytes == kernel.workgroup_bytes);
    CHECK(argument_bytes == 32);
  }
}

TEST_CASE("the instructions cover the kernel's code, without the padding after it") {
  for (const GfxTarget& gfx : gfx_targets()) {
    CAPTURE(gfx.name);
    const std::vector<std::byte> object = object_of(row_sum_for(gfx), gfx);
    const MachineCodeKernel kernel = decode_code_object(object).value().kernels.at(0);
    std::uint64_t address = kernel.entry;
    for (const MachineCodeInstruction& instruction : kernel.instructions) {
      CHECK(instruction.address == address);
      CHECK(instruction.text != "");
      CHECK(instruction.line == 0);
      address += instruction.size_bytes;
    }
    CHECK(address == kernel.entry + read_code_object(object).value().kernels.at(0).code_bytes);
    CHECK(kernel.instructions.back().text == "s_endpgm");
    CHECK(has_instruction(kernel, is_rdna(gfx) ? "exec_lo" : "exec, exec"));
    CHECK(has_instruction(kernel, "vcc_lo") == is_rdna(gfx));
  }
}

TEST_CASE("the segments hold the bytes that a loader puts into memory, in order") {
  const std::vector<std::byte> object = object_of(row_sum_for(kGfx), kGfx);
  const MachineCode code = decode_code_object(object).value();
  const CodeObjectKernel info = read_code_object(object).value().kernels.at(0);
  std::uint64_t end = 0;
  const MachineCodeSegment* of_code = nullptr;
  for (const MachineCodeSegment& segment : code.segments) {
    CHECK(segment.address >= end);
    CHECK(segment.memory_bytes >= segment.bytes.size());
    end = segment.address + segment.memory_bytes;
    if (info.code_address >= segment.address && info.code_address < end) of_code = &segment;
  }
  REQUIRE(of_code != nullptr);
  CHECK(std::memcmp(&of_code->bytes[info.code_address - of_code->address], &object[info.code_offset],
                    info.code_bytes) == 0);
}

TEST_CASE("with line tables, an instruction has the line that it comes from, in each kernel's own text") {
  const auto generator = make_llvm_generator({.line_tables = true});
  const std::vector<MachineKernel> kernels = {test::row_sum_kernel(DType::kF32, 32),
                                              test::row_sum_kernel(DType::kF64, 32)};
  std::vector<ExecutableImage> images;
  for (const MachineKernel& kernel : kernels) {
    images.push_back(generator->emit(generator->plan(kernel, spec_of(kGfx)).value(), spec_of(kGfx)).value());
  }
  const MachineCode code = decode_code_object(link_images(images).value()).value();
  REQUIRE(code.kernels.size() == 2);
  for (const MachineCodeKernel& kernel : code.kernels) {
    const bool is_first = kernel.symbol == images[0].symbol;
    CHECK(kernel.symbol == images[is_first ? 0 : 1].symbol);
    const auto line_of = [&](std::string_view part) {
      const auto found = std::ranges::find_if(
          kernel.instructions, [&](const auto& each) { return each.text.find(part) != std::string::npos; });
      REQUIRE(found != kernel.instructions.end());
      return text_of_line(kernels[is_first ? 0 : 1], found->line);
    };
    CHECK(line_of("global_store").starts_with("store_vector @1"));
    CHECK(line_of("s_barrier") == "barrier");
    CHECK(line_of("global_load").find("load_vector @0") != std::string::npos);
  }
}

/// An object that a test damages.
struct Damaged {
  std::vector<std::byte> bytes = object_of(row_sum_for(kGfx), kGfx);

  Elf64_Ehdr& header() { return *reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }
  Elf64_Phdr& load(std::size_t number) {
    auto* segment = reinterpret_cast<Elf64_Phdr*>(&bytes[header().e_phoff]);
    for (;; ++segment) {
      if (segment->p_type == PT_LOAD && number-- == 0) return *segment;
    }
  }
  Elf64_Shdr& section(std::size_t number) { return reinterpret_cast<Elf64_Shdr*>(&bytes[header().e_shoff])[number]; }
  /// The kernel's function or, of type STT_OBJECT, its descriptor.
  Elf64_Sym& symbol(unsigned char type) {
    std::size_t table = 0;
    while (section(table).sh_type != SHT_SYMTAB) ++table;
    auto* symbol = reinterpret_cast<Elf64_Sym*>(&bytes[section(table).sh_offset]);
    while (ELF64_ST_TYPE(symbol->st_info) != type) ++symbol;
    return *symbol;
  }
  /// "kernel '<symbol>': ".
  static std::string kernel() {
    static const std::string kName = read_code_object(object_of(row_sum_for(kGfx), kGfx)).value().kernels.at(0).symbol;
    return "code object: kernel '" + kName + "': ";
  }
  std::string message() const {
    const Status status = decode_code_object(bytes).status();
    CHECK(status.code() == StatusCode::kDataLoss);
    return status.message();
  }
};

std::string hex(std::uint64_t number) { return fmt::format("{:#x}", number); }

TEST_CASE("a file that is not a code object is refused like by read_code_object") {
  Damaged damaged;
  damaged.header().e_type = ET_REL;
  CHECK(damaged.message() == "code object: not a shared object for an AMD GPU");
  damaged.bytes.resize(20);
  CHECK(damaged.message() == read_code_object(damaged.bytes).status().message());
  damaged.bytes.clear();
  CHECK(damaged.message() == read_code_object(damaged.bytes).status().message());
}

TEST_CASE("segments that are outside of the file, or that overlap, are refused") {
  Damaged cut;
  cut.load(1).p_filesz = cut.load(1).p_memsz = cut.bytes.size() + 1;
  CHECK(cut.message() == "code object: program header  [index 2] has a p_offset (" + hex(cut.load(1).p_offset) +
                             ") + p_filesz (" + hex(cut.load(1).p_filesz) + ") that is greater than the file size (" +
                             hex(cut.bytes.size()) + ")");
  Damaged small;
  const Elf64_Phdr segment = small.load(1);
  small.load(1).p_memsz = 8;
  CHECK(small.message() == "code object: segment at " + hex(segment.p_vaddr) + ": " + std::to_string(segment.p_filesz) +
                               " bytes in the file, expected at most its 8 of memory");
  Damaged overlapping;
  overlapping.load(1).p_vaddr = 8;
  CHECK(overlapping.message() == "code object: segment at 0x8 of " + std::to_string(segment.p_memsz) +
                                     " bytes overlaps another, or is out of order");
  Damaged huge;
  huge.load(1).p_memsz = ~std::uint64_t{0};
  CHECK(huge.message() == "code object: segment at " + hex(segment.p_vaddr) +
                              " of 18446744073709551615 bytes overlaps another, or is out of order");
}

TEST_CASE("a kernel's code outside of the segments is refused") {
  Damaged moved;
  const Elf64_Sym code = moved.symbol(STT_FUNC);
  moved.load(1).p_vaddr += 1 << 20;  // away from the code, which the file still holds
  moved.load(2).p_vaddr += 1 << 20;
  CHECK(moved.message() == Damaged::kernel() + "its code of " + std::to_string(code.st_size) + " bytes at " +
                               hex(code.st_value) + " lies outside of the segments");
  Damaged none;
  none.symbol(STT_FUNC).st_size = 0;
  CHECK(none.message() == Damaged::kernel() + "no code");
  Damaged beyond;
  beyond.symbol(STT_FUNC).st_size = beyond.bytes.size();
  CHECK(beyond.message() == "code object: a kernel's code lies outside of the file");
}

TEST_CASE("a descriptor that is missing, outside of the segments or another kernel's is refused") {
  Damaged none;
  none.symbol(STT_OBJECT).st_info = STT_NOTYPE;
  CHECK(none.message() == Damaged::kernel() + "no descriptor");
  Damaged outside;
  outside.symbol(STT_OBJECT).st_value = 0x7fffffffffffffff;
  CHECK(outside.message() == Damaged::kernel() + "its descriptor at 0x7fffffffffffffff lies outside of the segments");
  Damaged partly;
  const std::uint64_t end = partly.load(0).p_vaddr + partly.load(0).p_filesz;
  partly.symbol(STT_OBJECT).st_value = end - 63;
  CHECK(partly.message() == Damaged::kernel() + "its descriptor at " + hex(end - 63) + " lies outside of the segments");
  Damaged other;
  const std::uint64_t entry = other.symbol(STT_FUNC).st_value;
  other.symbol(STT_FUNC).st_value += 4;
  other.symbol(STT_FUNC).st_size -= 4;
  CHECK(other.message() == Damaged::kernel() + "its descriptor places code at " + hex(entry) + ", expected " +
                               hex(entry + 4) + " like its symbol");
}

TEST_CASE("a kernel with subgroups that its target does not have is refused") {
  const GfxTarget& gfx = *find_gfx_target("gfx90a");
  Damaged damaged{object_of(row_sum_for(gfx), gfx)};
  const std::string symbol = read_code_object(damaged.bytes).value().kernels.at(0).symbol;
  constexpr std::string_view kKey = ".wavefront_size";
  const std::string_view text(reinterpret_cast<const char*>(damaged.bytes.data()), damaged.bytes.size());
  REQUIRE(text.find(kKey) != std::string_view::npos);
  damaged.bytes[text.find(kKey) + kKey.size()] = std::byte{32};
  CHECK(damaged.message() == "code object: kernel '" + symbol + "': subgroups of 32 threads, gfx90a has 64");
}

TEST_CASE("a line table that is malformed is refused") {
  Damaged damaged{object_of(row_sum_for(kGfx), kGfx, true)};
  const auto* names =
      reinterpret_cast<const char*>(&damaged.bytes[damaged.section(damaged.header().e_shstrndx).sh_offset]);
  for (std::size_t i = 0; i < damaged.header().e_shnum; ++i) {
    const Elf64_Shdr& section = damaged.section(i);
    if (std::string_view(names + section.sh_name) == ".debug_line")
      damaged.bytes[section.sh_offset + 4] = std::byte{99};
  }
  CHECK(damaged.message() == "code object: line table at byte 0: version 99, expected 5");
}

TEST_CASE("no damage ends the process: an object that is truncated, or has wrong bytes, is decoded or refused") {
  const std::vector<std::byte> object = object_of(row_sum_for(kGfx), kGfx, true);
  const auto decode = [](const std::vector<std::byte>& bytes) {
    const auto code = decode_code_object(bytes);
    CHECK((code.ok() || code.status().code() == StatusCode::kDataLoss));
    return code.ok();
  };
  for (std::size_t size = 0; size < object.size(); size += 97) {
    CHECK(!decode({object.begin(), object.begin() + static_cast<std::ptrdiff_t>(size)}));
  }
  std::mt19937_64 random(13);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::byte> damaged = object;
    for (int i = 0; i < 4; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    decode(damaged);
  }
}

TEST_CASE("bytes that are not an instruction have no text, and the next instruction is decoded") {
  Damaged damaged;
  const CodeObjectKernel info = read_code_object(damaged.bytes).value().kernels.at(0);
  const MachineCodeKernel intact = decode_code_object(damaged.bytes).value().kernels.at(0);
  std::memset(&damaged.bytes[info.code_offset + info.code_bytes - 4], 0xff, 4);
  damaged.symbol(STT_FUNC).st_size += 2;
  const MachineCodeKernel kernel = decode_code_object(damaged.bytes).value().kernels.at(0);
  REQUIRE(kernel.instructions.size() == intact.instructions.size() + 1);
  const MachineCodeInstruction& bad = kernel.instructions[intact.instructions.size() - 1];
  CHECK(bad.text == "");
  CHECK(bad.size_bytes == 4);
  CHECK(kernel.instructions.back().text == "");
  CHECK(kernel.instructions.back().size_bytes == 2);
}

}  // namespace
}  // namespace millrace
