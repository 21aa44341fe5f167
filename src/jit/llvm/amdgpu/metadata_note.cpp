// SPDX-License-Identifier: Apache-2.0
// Source: the ELF specification, "Note Section"; LLVM's "User Guide for AMDGPU Backend", "Code Object Metadata".
#include "jit/llvm/amdgpu/metadata_note.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELF.h>

namespace millrace {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;
namespace msgpack = llvm::msgpack;

llvm::Error failure(const char* message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// Adds a note's kernels to those of the earlier notes. Everything else in the notes must be equal.
bool add_metadata(msgpack::Document& document, llvm::StringRef note) {
  return document.readFromBlob(note, /*Multi=*/false,
                               [](msgpack::DocNode* to, const msgpack::DocNode& from, const msgpack::DocNode& key) {
                                 if (to->getKind() != from.getKind()) return -1;
                                 if (to->isMap()) return 0;
                                 if (!to->isArray()) return *to == from ? 0 : -1;
                                 const bool is_kernels = key.isString() && key.getString() == "amdhsa.kernels";
                                 return is_kernels ? static_cast<int>(to->getArray().size()) : 0;
                               });
}

/// A metadata note in the form that its section holds.
std::string make_note(const std::string& metadata) {
  constexpr char kName[] = "AMDGPU";  // 7 bytes with its final zero, padded to 8
  Elf::Elf_Nhdr header;
  header.n_namesz = sizeof(kName);
  header.n_descsz = static_cast<std::uint32_t>(metadata.size());
  header.n_type = llvm::ELF::NT_AMDGPU_METADATA;
  std::string note(sizeof(header) + 8, '\0');
  std::memcpy(note.data(), &header, sizeof(header));
  std::memcpy(note.data() + sizeof(header), kName, sizeof(kName));
  note += metadata;
  note.resize((note.size() + 3) / 4 * 4, '\0');
  return note;
}

/// The header for which `is_of_notes` is true; null unless there is exactly one. It is writable, because the caller
/// owns the object.
template <class Header>
Header* find_notes(llvm::ArrayRef<Header> headers, auto is_of_notes) {
  const auto first = std::ranges::find_if(headers, is_of_notes);
  if (first == headers.end() || std::find_if(first + 1, headers.end(), is_of_notes) != headers.end()) return nullptr;
  return const_cast<Header*>(&*first);
}

llvm::Error join(std::span<std::byte> object) {
  auto elf = Elf::create(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()));
  if (!elf) return elf.takeError();
  auto sections = elf->sections();
  if (!sections) return sections.takeError();
  auto segments = elf->program_headers();
  if (!segments) return segments.takeError();
  auto* section = find_notes(*sections, [](const auto& header) { return header.sh_type == llvm::ELF::SHT_NOTE; });
  auto* segment = find_notes(*segments, [](const auto& header) { return header.p_type == llvm::ELF::PT_NOTE; });
  if (section == nullptr || segment == nullptr || section->sh_offset != segment->p_offset ||
      section->sh_size != segment->p_filesz) {
    return failure("expected one section of notes, and one segment for it");
  }
  std::size_t num_notes = 0;
  msgpack::Document document;
  llvm::Error error = llvm::Error::success();
  for (const auto& note : elf->notes(*section, error)) {
    const bool is_metadata = note.getType() == llvm::ELF::NT_AMDGPU_METADATA && note.getName() == "AMDGPU";
    if (!is_metadata || !add_metadata(document, note.getDescAsStringRef(section->sh_addralign))) {
      llvm::consumeError(std::move(error));
      return failure("found a note that is not metadata, or metadata of another target or version");
    }
    ++num_notes;
  }
  if (error || num_notes < 2) return error;
  std::string metadata;
  document.writeToBlob(metadata);
  const std::string note = make_note(metadata);
  if (note.size() > section->sh_size) return failure("the joined metadata is larger than its parts");
  const auto place = object.subspan(section->sh_offset, section->sh_size);
  std::ranges::fill(place, std::byte{0});
  std::memcpy(place.data(), note.data(), note.size());
  section->sh_size = note.size();
  segment->p_filesz = note.size();
  segment->p_memsz = note.size();
  return llvm::Error::success();
}

}  // namespace

Status join_metadata_notes(std::span<std::byte> linked_object) {
  if (llvm::Error error = join(linked_object)) return internal_error("link: " + llvm::toString(std::move(error)));
  return {};
}

}  // namespace millrace
