// SPDX-License-Identifier: Apache-2.0
// What GDB finds in this process: "JIT Compilation Interface" in its manual, from which these declarations come.
#include "hal/cpu/gdb_jit.h"

#include <cstring>
#include <elf.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

extern "C" {
struct gdb_code_entry {
  gdb_code_entry* next_entry;
  gdb_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct gdb_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  gdb_code_entry* relevant_entry;
  gdb_code_entry* first_entry;
};
extern gdb_descriptor descriptor_for_gdb __asm__("__jit_debug_descriptor");
}

namespace millrace {
namespace {

struct Place {
  std::uint64_t address = 0, size_bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
using Functions = std::map<std::string, Place>;

template <class T>
T read_at(const gdb_code_entry& entry, std::uint64_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= entry.symfile_size);
  std::memcpy(&value, entry.symfile_addr + offset, sizeof(T));
  return value;
}

/// The functions of an entry's ELF object, where its sections are loaded.
Functions functions_of(const gdb_code_entry& entry) {
  const auto header = read_at<Elf64_Ehdr>(entry, 0);
  REQUIRE(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  const auto section = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(entry, header.e_shoff + i * header.e_shentsize);
  };
  Functions functions;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::uint64_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(entry, symbols.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      functions[entry.symfile_addr + names.sh_offset + symbol.st_name] = {
          section(symbol.st_shndx).sh_addr + symbol.st_value, symbol.st_size};
    }
  }
  return functions;
}

/// Those of each entry in GDB's list, the newest first. Both directions of the list must agree.
std::vector<Functions> listed() {
  std::vector<Functions> all;
  const gdb_code_entry* before = nullptr;
  for (const gdb_code_entry* entry = descriptor_for_gdb.first_entry; entry != nullptr; entry = entry->next_entry) {
    CHECK(entry->prev_entry == before);
    before = entry;
    all.push_back(functions_of(*entry));
  }
  return all;
}

}  // namespace

TEST_CASE("gdb: it finds the kernels of loaded code by name and address, and code may be unloaded in any order") {
  CHECK(descriptor_for_gdb.version == 1);
  const std::vector<std::byte> code(4096);
  const auto place_of = [&](std::size_t offset, std::size_t size) {
    return Place{reinterpret_cast<std::uintptr_t>(code.data()) + offset, size};
  };
  const CodePlace first[] = {{"sort_0", code.data() + 256, 100}, {"add_1", code.data(), 17}};
  const CodePlace second[] = {{"dot_0", code.data() + 512, 64}};
  const CodePlace third[] = {{"scan_0", code.data() + 1024, 32}};
  const Functions of_first = {{"sort_0", place_of(256, 100)}, {"add_1", place_of(0, 17)}},
                  of_second = {{"dot_0", place_of(512, 64)}}, of_third = {{"scan_0", place_of(1024, 32)}};
  using List = std::vector<Functions>;
  constexpr std::uint32_t kRegister = 1, kUnregister = 2;

  REQUIRE(listed().empty());
  std::optional<DebuggedCode> a(first);
  CHECK(listed() == List{of_first});
  CHECK(descriptor_for_gdb.action_flag == kRegister);
  CHECK(descriptor_for_gdb.relevant_entry == descriptor_for_gdb.first_entry);
  std::optional<DebuggedCode> b(second), c(third);
  CHECK(listed() == List{of_third, of_second, of_first});
  b.reset();
  CHECK(listed() == List{of_third, of_first});
  CHECK(descriptor_for_gdb.action_flag == kUnregister);
  c.reset();
  CHECK(listed() == List{of_first});
  a.reset();
  CHECK(listed().empty());
}

}  // namespace millrace
