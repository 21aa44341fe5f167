// SPDX-License-Identifier: Apache-2.0
// Writes ELF objects with host kernels, for applications that link them and for debuggers.
#include "millrace/hal/host_object.h"

#include <cstring>
#include <elf.h>
#include <string_view>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/host/memory_pages.h"

namespace millrace {
namespace {

enum Section : std::uint16_t { kNone, kText, kSymbols, kStrings, kSectionNames, kStackNote, kNumSections };
constexpr std::string_view kSectionText("\0.text\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0", 49);
constexpr std::uint32_t kNameOffsets[] = {0, 1, 7, 15, 23, 33};  // where each name begins, by Section

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    put(&value, sizeof(value));
  }
  void put(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + size);
    std::memcpy(bytes_.data() + begin, data, size);
  }
  void align(std::size_t alignment) { bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment); }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> finish() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

Elf64_Ehdr file_header(std::uint64_t section_headers) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = section_headers;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kNumSections;
  header.e_shstrndx = kSectionNames;
  return header;
}

}  // namespace

std::vector<std::byte> make_elf_object(const HostObject& object) {
  std::string strings(1, '\0');
  std::vector<Elf64_Sym> symbols(1);  // the first one is the null symbol
  for (const ObjectFunction& function : object.functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = function.offset_bytes;
    symbol.st_size = function.size_bytes;
    symbols.push_back(symbol);
    strings += function.name + '\0';
  }
  Elf64_Shdr sections[kNumSections]{};
  Writer file;
  const auto place = [&](Section section, Elf64_Word type, const void* data, std::size_t size, std::size_t alignment) {
    file.align(alignment);
    sections[section].sh_name = kNameOffsets[section];
    sections[section].sh_type = type;
    sections[section].sh_offset = file.size();
    sections[section].sh_size = size;
    sections[section].sh_addralign = alignment;
    if (type != SHT_NOBITS) file.put(data, size);
  };
  file.put(file_header(0));
  place(kText, object.code.empty() ? SHT_NOBITS : SHT_PROGBITS, object.code.data(), object.size_bytes,
        object.address == 0 ? kPageBytes : 1);
  sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[kText].sh_addr = object.address;
  place(kSymbols, SHT_SYMTAB, symbols.data(), symbols.size() * sizeof(Elf64_Sym), alignof(Elf64_Sym));
  sections[kSymbols].sh_link = kStrings;
  sections[kSymbols].sh_info = 1;  // the first global symbol
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  place(kStrings, SHT_STRTAB, strings.data(), strings.size(), 1);
  place(kSectionNames, SHT_STRTAB, kSectionText.data(), kSectionText.size(), 1);
  place(kStackNote, SHT_PROGBITS, nullptr, 0, 1);  // tells linkers that the stack need not be executable
  file.align(alignof(Elf64_Shdr));
  const std::uint64_t headers = file.size();
  file.put(sections, sizeof(sections));
  std::vector<std::byte> bytes = file.finish();
  const Elf64_Ehdr header = file_header(headers);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Result<std::vector<std::byte>> link_host_images(std::span<const ExecutableImage> images) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> code;
    std::vector<ObjectFunction> functions;
    for (const ExecutableImage& image : images) {
      if (image.format != ImageFormat::kHostCode) {
        return invalid_argument(fmt::format(
            "host object: the image of kernel '{}' is not host code; compile it for a cpu target", image.info.name));
      }
      // Code addresses its constants relative to itself, so both are copied as one block. Align the block as the loader
      // does: to 64 bytes, or to pages if it has constants.
      const std::size_t alignment = image.code_bytes == image.bytes.size() ? 64 : kPageBytes;
      code.resize((code.size() + alignment - 1) / alignment * alignment, std::byte{0xcc});  // int3
      functions.push_back({image.info.name, code.size() + image.entry_offset, image.code_bytes - image.entry_offset});
      code.insert(code.end(), image.bytes.data(), image.bytes.data() + image.bytes.size());
    }
    return make_elf_object({.code = code, .size_bytes = code.size(), .functions = functions});
  });
}

}  // namespace millrace
