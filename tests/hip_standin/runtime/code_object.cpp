// SPDX-License-Identifier: Apache-2.0
// Source: the ELF specification; LLVM's "User Guide for AMDGPU Backend", "ELF Code Object" and "Code Object V4
// Metadata".
#include "tests/hip_standin/runtime/code_object.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <optional>
#include <span>

#include "tests/hip_standin/runtime/message_pack.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

constexpr unsigned kMachine = 224;  // EM_AMDGPU
constexpr unsigned kHsa = 64;       // ELFOSABI_AMDGPU_HSA
constexpr unsigned kVersion4 = 2;   // ELFABIVERSION_AMDGPU_HSA_V4; 5 and 6 follow
constexpr unsigned kMetadataNote = 32;

struct Processor {
  std::string_view name;
  unsigned flags;  // EF_AMDGPU_MACH
};
constexpr Processor kProcessors[] = {{"gfx90a", 0x3f},  {"gfx942", 0x4c},  {"gfx1030", 0x36},
                                     {"gfx1100", 0x41}, {"gfx1151", 0x4a}, {"gfx1201", 0x4e}};

/// A setting that an object may need: xnack in bits 8 and 9 of its flags, sramecc in bits 10 and 11.
bool accepts_setting(unsigned of_object, std::string_view architecture, std::string_view off, std::string_view on) {
  constexpr unsigned kOff = 2, kOn = 3;  // 0 and 1: it does not matter
  if (of_object == kOff) return architecture.find(off) != std::string_view::npos;
  if (of_object == kOn) return architecture.find(on) != std::string_view::npos;
  return true;
}

bool accepts(std::string_view architecture, unsigned flags) {
  const std::string_view name = architecture.substr(0, architecture.find(':'));
  const auto processor = std::ranges::find(kProcessors, name, &Processor::name);
  return processor != std::end(kProcessors) && processor->flags == (flags & 0xff) &&
         accepts_setting(flags >> 8 & 3, architecture, ":xnack-", ":xnack+") &&
         accepts_setting(flags >> 10 & 3, architecture, ":sramecc-", ":sramecc+");
}

/// Parts of an object's bytes.
class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) { std::memcpy(&header_, bytes.data(), kHeaderBytes); }

  static std::uint64_t size_of(const void* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, kHeaderBytes);
    const std::uint64_t sections = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
    const std::uint64_t segments = header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize;
    return std::max({kHeaderBytes, sections, segments});
  }

  std::vector<Elf64_Phdr> segments() const { return table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum); }
  std::vector<Elf64_Shdr> sections() const { return table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum); }

  template <class T>
  std::vector<T> table(std::uint64_t offset, std::uint64_t count) const {
    std::vector<T> rows;
    if (count > bytes_.size() / sizeof(T) || offset > bytes_.size() - count * sizeof(T)) return rows;
    rows.resize(count);
    if (count > 0) std::memcpy(rows.data(), &bytes_[offset], count * sizeof(T));
    return rows;
  }
  std::string_view text(std::uint64_t offset, std::uint64_t num_bytes) const {
    if (num_bytes > bytes_.size() || offset > bytes_.size() - num_bytes) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, num_bytes};
  }

 private:
  static constexpr std::uint64_t kHeaderBytes = sizeof(Elf64_Ehdr);
  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_;
};

bool has_undefined_symbols(const Elf& elf) {
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto symbols = elf.table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    const auto is_undefined = [](const Elf64_Sym& symbol) {
      return symbol.st_name != 0 && symbol.st_shndx == SHN_UNDEF;
    };
    if (std::ranges::any_of(symbols, is_undefined)) return true;
  }
  return false;
}

/// The first metadata note of a segment of notes.
std::optional<std::string_view> find_metadata(std::string_view notes) {
  const auto aligned = [](std::uint64_t bytes) { return (bytes + 3) / 4 * 4; };
  Elf64_Nhdr header;
  while (notes.size() >= sizeof(header)) {
    std::memcpy(&header, notes.data(), sizeof(header));
    notes.remove_prefix(sizeof(header));
    const std::uint64_t name_bytes = aligned(header.n_namesz), bytes = aligned(header.n_descsz);
    if (notes.size() < name_bytes || notes.size() - name_bytes < header.n_descsz) return {};
    const bool is_metadata = header.n_type == kMetadataNote && notes.starts_with(std::string_view("AMDGPU", 7));
    if (is_metadata) return notes.substr(name_bytes, header.n_descsz);
    notes.remove_prefix(std::min(name_bytes + bytes, notes.size()));
  }
  return {};
}

}  // namespace

Error read_code_object(const void* image, std::string_view architecture, CodeObject& object) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return Error::kInvalidImage;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  const bool is_code_object = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == kMachine &&
                              header.e_ident[EI_OSABI] == kHsa && header.e_ident[EI_ABIVERSION] >= kVersion4;
  if (!is_code_object || header.e_type != ET_DYN) return Error::kInvalidImage;
  if (!accepts(architecture, header.e_flags)) return Error::kNoBinaryForGpu;
  const auto* const begin = static_cast<const std::byte*>(image);
  object.bytes.assign(begin, begin + Elf::size_of(image));
  const Elf elf(object.bytes);
  if (has_undefined_symbols(elf)) return Error::kSharedObjectInitFailed;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_NOTE) continue;
    const auto metadata = find_metadata(elf.text(segment.p_offset, segment.p_filesz));
    if (metadata && read_metadata(*metadata, object.kernels)) return Error::kSuccess;
  }
  return Error::kInvalidKernelFile;
}

}  // namespace millrace::hip_standin
