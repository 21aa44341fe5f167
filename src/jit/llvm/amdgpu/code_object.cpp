// SPDX-License-Identifier: Apache-2.0
// Reads AMD GPU code objects: symbols, relocations and metadata. Also finds exchanges with lanes that may be off, which
// only the machine code shows.
#include "jit/llvm/amdgpu/code_object.h"

#include <algorithm>

#include <llvm/ADT/StringExtras.h>
#include <llvm/BinaryFormat/AMDGPUMetadataVerifier.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/BinaryFormat/MsgPackReader.h>
#include <llvm/Support/AMDGPUMetadata.h>

#include "jit/llvm/amdgpu/lane_flow.h"

namespace millrace {
namespace {

using Elf = CodeObjectElf;
namespace msgpack = llvm::msgpack;

llvm::Error failure(const char* message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

std::uint64_t integer(msgpack::MapDocNode& map, const char* key) {
  msgpack::DocNode& node = map[key];
  return node.getKind() == msgpack::Type::UInt ? node.getUInt() : 0;
}

CodeObjectKernel read_kernel(msgpack::MapDocNode& map) {
  const auto small = [&](const char* key) { return static_cast<std::uint32_t>(integer(map, key)); };
  CodeObjectKernel kernel{.symbol = map[".name"].getString().str(),
                          .argument_bytes = integer(map, ".kernarg_segment_size"),
                          .workgroup_bytes = integer(map, ".group_segment_fixed_size"),
                          .private_bytes = integer(map, ".private_segment_fixed_size"),
                          .workgroup_size = small(".max_flat_workgroup_size"),
                          .subgroup_size = small(".wavefront_size"),
                          .num_scalar_registers = small(".sgpr_count"),
                          .num_vector_registers = small(".vgpr_count"),
                          .num_scalar_spills = small(".sgpr_spill_count"),
                          .num_vector_spills = small(".vgpr_spill_count")};
  msgpack::DocNode& dynamic_stack = map[".uses_dynamic_stack"];
  kernel.has_dynamic_stack = dynamic_stack.getKind() == msgpack::Type::Boolean && dynamic_stack.getBool();
  if (!map[".args"].isArray()) return kernel;
  for (msgpack::DocNode& argument : map[".args"].getArray()) {
    const llvm::StringRef kind = argument.getMap()[".value_kind"].getString();
    if (kind.starts_with("hidden_")) kernel.hidden_arguments.push_back(kind.str());
  }
  return kernel;
}

/// Whether every key of a MessagePack map is a string. LLVM's reader aborts the process at a key that is a map or an
/// array.
bool has_text_keys(llvm::StringRef blob) {
  struct Level {
    std::uint64_t num_left = 0;
    bool is_map = false;
  };
  std::vector<Level> levels;
  msgpack::Reader reader(blob);
  do {
    msgpack::Object object;
    auto is_read = reader.read(object);
    if (!is_read) llvm::consumeError(is_read.takeError());
    if (!is_read || !*is_read) return false;
    if (!levels.empty()) {
      const bool is_key = levels.back().is_map && levels.back().num_left % 2 == 0;
      if (is_key && object.Kind != msgpack::Type::String) return false;
      --levels.back().num_left;
    }
    if (object.Kind == msgpack::Type::Map) levels.push_back({2 * std::uint64_t{object.Length}, true});
    if (object.Kind == msgpack::Type::Array) levels.push_back({object.Length, false});
    while (!levels.empty() && levels.back().num_left == 0) levels.pop_back();
  } while (!levels.empty());
  return true;
}

/// Reads the metadata note, a MessagePack map.
llvm::Error read_metadata(llvm::StringRef blob, CodeObjectInfo& info) {
  msgpack::Document document;
  llvm::AMDGPU::HSAMD::V3::MetadataVerifier verifier(/*Strict=*/true);
  if (!has_text_keys(blob) || !document.readFromBlob(blob, /*Multi=*/false) || !verifier.verify(document.getRoot())) {
    return failure("malformed metadata");
  }
  msgpack::MapDocNode& root = document.getRoot().getMap();
  if (root["amdhsa.target"].isString()) info.target = root["amdhsa.target"].getString().str();
  for (msgpack::DocNode& kernel : root["amdhsa.kernels"].getArray()) {
    info.kernels.push_back(read_kernel(kernel.getMap()));
  }
  return llvm::Error::success();
}

llvm::Error read_notes(const Elf& elf, CodeObjectInfo& info) {
  auto headers = elf.program_headers();
  if (!headers) return headers.takeError();
  bool has_metadata = false;
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (const auto& note : elf.notes(header, error)) {
      if (note.getType() != llvm::ELF::NT_AMDGPU_METADATA || note.getName() != "AMDGPU") continue;
      has_metadata = true;
      if (llvm::Error broken = read_metadata(note.getDescAsStringRef(header.p_align), info)) {
        llvm::consumeError(std::move(error));
        return broken;
      }
    }
    if (error) return error;
  }
  return has_metadata ? llvm::Error::success() : failure("no AMDGPU metadata");
}

/// Records where a function is.
llvm::Error place_function(const Elf& elf, const Elf::Elf_Sym& symbol, llvm::StringRef name, CodeObjectInfo& info) {
  const auto kernel = std::ranges::find(info.kernels, name, &CodeObjectKernel::symbol);
  if (kernel == info.kernels.end()) {
    info.other_functions.push_back(name.str());
    return llvm::Error::success();
  }
  auto section = elf.getSection(symbol.st_shndx);
  if (!section) return section.takeError();
  kernel->code_offset = symbol.st_value - (*section)->sh_addr + (*section)->sh_offset;
  kernel->code_bytes = symbol.st_size;
  kernel->code_address = symbol.st_value;
  const std::uint64_t file_bytes = elf.getBufSize();
  const bool is_inside = kernel->code_offset <= file_bytes && kernel->code_bytes <= file_bytes - kernel->code_offset;
  return is_inside ? llvm::Error::success() : failure("a kernel's code lies outside of the file");
}

void place_descriptor(const Elf::Elf_Sym& symbol, llvm::StringRef name, CodeObjectInfo& info) {
  if (!name.consume_back(".kd")) return;
  const auto kernel = std::ranges::find(info.kernels, name, &CodeObjectKernel::symbol);
  if (kernel != info.kernels.end()) kernel->descriptor_address = symbol.st_value;
}

llvm::Error read_symbols(const Elf& elf, const Elf::Elf_Shdr& table, CodeObjectInfo& info) {
  auto names = elf.getStringTableForSymtab(table);
  if (!names) return names.takeError();
  auto symbols = elf.symbols(&table);
  if (!symbols) return symbols.takeError();
  for (const auto& symbol : symbols->empty() ? *symbols : symbols->drop_front()) {  // skips the null symbol
    auto name = symbol.getName(*names);
    if (!name) return name.takeError();
    if (symbol.st_shndx == llvm::ELF::SHN_UNDEF) {
      info.undefined_symbols.push_back(name->str());
    } else if (symbol.getType() == llvm::ELF::STT_FUNC) {
      if (llvm::Error error = place_function(elf, symbol, *name, info)) return error;
    } else if (symbol.getType() == llvm::ELF::STT_OBJECT) {
      place_descriptor(symbol, *name, info);
    }
  }
  return llvm::Error::success();
}

llvm::Error read_relocations(const Elf& elf, const Elf::Elf_Shdr& section, CodeObjectInfo& info) {
  auto relocations = elf.relas(section);
  if (!relocations) return relocations.takeError();
  for (const auto& relocation : *relocations) {
    const std::uint32_t type = relocation.getType(/*isMips64EL=*/false);
    if (type != llvm::ELF::R_AMDGPU_RELATIVE64) info.relocations.push_back(elf.getRelocationTypeName(type).str());
  }
  return llvm::Error::success();
}

/// Reads what only the ELF header contains: the version, and the features that the processor must match.
void read_header(const Elf::Elf_Ehdr& header, CodeObjectInfo& info) {
  using namespace llvm::ELF;
  info.version = header.e_ident[EI_ABIVERSION] + 4u - ELFABIVERSION_AMDGPU_HSA_V4;
  const auto read_feature = [&](const char* name, std::uint32_t mask, std::uint32_t off, std::uint32_t on) {
    const std::uint32_t setting = header.e_flags & mask;
    if (setting == off || setting == on) info.set_features.push_back(std::string(name) + (setting == on ? "+" : "-"));
  };
  read_feature("xnack", EF_AMDGPU_FEATURE_XNACK_V4, EF_AMDGPU_FEATURE_XNACK_OFF_V4, EF_AMDGPU_FEATURE_XNACK_ON_V4);
  read_feature("sramecc", EF_AMDGPU_FEATURE_SRAMECC_V4, EF_AMDGPU_FEATURE_SRAMECC_OFF_V4,
               EF_AMDGPU_FEATURE_SRAMECC_ON_V4);
}

/// Finds the exchanges with lanes that may be off. Only the machine code shows them.
void read_code(llvm::StringRef bytes, CodeObjectInfo& info) {
  for (CodeObjectKernel& kernel : info.kernels) {
    const llvm::StringRef code = bytes.substr(kernel.code_offset, kernel.code_bytes);
    if (code.empty()) continue;
    kernel.inactive_lane_reads = find_inactive_lane_reads(llvm::arrayRefFromStringRef(code), *gfx_target_of(info));
  }
}

}  // namespace

const GfxTarget* gfx_target_of(const CodeObjectInfo& info) {
  llvm::StringRef name = info.target;
  name.consume_front("amdgcn-amd-amdhsa--");
  return find_gfx_target(name.take_until([](char c) { return c == ':'; }));
}

llvm::Expected<CodeObjectInfo> read_tables(const Elf& elf) {
  CodeObjectInfo info;
  if (elf.getHeader().e_machine != llvm::ELF::EM_AMDGPU || elf.getHeader().e_type != llvm::ELF::ET_DYN) {
    return failure("not a shared object for an AMD GPU");
  }
  read_header(elf.getHeader(), info);
  if (llvm::Error error = read_notes(elf, info)) return error;
  auto sections = elf.sections();
  if (!sections) return sections.takeError();
  for (const auto& section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_SYMTAB) {
      if (llvm::Error error = read_symbols(elf, section, info)) return error;
    } else if (section.sh_type == llvm::ELF::SHT_RELA) {
      if (llvm::Error error = read_relocations(elf, section, info)) return error;
    } else if (section.sh_type == llvm::ELF::SHT_REL) {
      return failure("relocations without addends");
    }
  }
  if (gfx_target_of(info) == nullptr) return failure("made for an unknown target");
  return info;
}

Result<CodeObjectInfo> read_llvm_code_object(std::span<const std::byte> bytes) {
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto elf = Elf::create(text);
  llvm::Expected<CodeObjectInfo> info = elf ? read_tables(*elf) : elf.takeError();
  if (!info) return data_loss("code object: " + llvm::toString(info.takeError()));
  read_code(text, *info);
  return std::move(*info);
}

}  // namespace millrace
