// SPDX-License-Identifier: Apache-2.0
// All kernels of a CPU program as one object, and the records of kernels in memory for perf and GDB.
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <map>
#include <sys/wait.h>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

template <class T>
T at(const std::string& file, std::size_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= file.size());
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

/// The functions of a relocatable object of x86-64 code.
std::map<std::string, std::string> functions_of(const std::string& file) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  REQUIRE(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  CHECK(header.e_machine == EM_X86_64);
  CHECK(header.e_type == ET_REL);
  const auto section = [&](std::size_t i) { return at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  std::map<std::string, std::string> functions;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::size_t k = 1; k < symbols.sh_size / sizeof(Elf64_Sym); ++k) {
      const auto symbol = at<Elf64_Sym>(file, symbols.sh_offset + k * sizeof(Elf64_Sym));
      const Elf64_Shdr text = section(symbol.st_shndx);
      CHECK(symbol.st_value + symbol.st_size <= text.sh_size);
      functions[file.c_str() + names.sh_offset + symbol.st_name] =
          file.substr(text.sh_offset + symbol.st_value, symbol.st_size);
    }
  }
  return functions;
}

TEST_CASE("all kernels of a CPU program are one object, with one function each") {
  const Workplace here;
  CHECK(here.output_of("dump net.mr --stage object --target cpu:avx2 -o net.o") == "");
  const auto functions = functions_of(here.read("net.o"));
  REQUIRE(functions.size() == 2);
  for (const auto& [name, code] : functions) {
    CHECK((name == "dot_tanh_0" || name == "reduce_max_1"));
    CHECK(contains(code, "\xc3"));  // ret
  }
  CHECK(here.error_of("dump net.mr --stage object --generator interpreter") ==
        "millrace: kernel 'dot_tanh_0': the generator interpreter makes no object file; ask for another "
        "form of it, or force another generator\n");
}

/// Whether a file of the process that ran the command, "<before><pid><after>", exists; its text.
std::string text_of_process(const std::string& directory, const std::string& before, const std::string& after) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(before) && name.ends_with(after)) {
      std::string text;
      if (std::FILE* file = std::fopen(entry.path().c_str(), "rb")) {
        char buffer[4096];
        for (std::size_t count = 1; count > 0;)
          text.append(buffer, count = std::fread(buffer, 1, sizeof(buffer), file));
        std::fclose(file);
      }
      return text;
    }
  }
  return {};
}

TEST_CASE("a jitdump holds each kernel's name and code") {
  const Workplace here;
  setenv("TMPDIR", here.path("").c_str(), 1);
  CHECK(here.run("run net.mr --input x=ones --input w=ones --device cpu:avx2,symbols=jitdump").exit_code == 0);
  unsetenv("TMPDIR");
  const std::string dump = text_of_process(here.path(""), "jit-", ".dump");
  REQUIRE(dump.size() > 40);
  CHECK(at<std::uint32_t>(dump, 0) == 0x4A695444);
  CHECK(at<std::uint32_t>(dump, 8) == 40);
  std::map<std::string, std::string> kernels;
  for (std::size_t record = 40; record < dump.size(); record += at<std::uint32_t>(dump, record + 4)) {
    CHECK(at<std::uint32_t>(dump, record) == 0);
    const auto code_bytes = at<std::uint64_t>(dump, record + 40);
    const std::string name = dump.c_str() + record + 56;
    const std::size_t code = record + 56 + name.size() + 1;
    CHECK(code + code_bytes == record + at<std::uint32_t>(dump, record + 4));
    kernels[name] = dump.substr(code, code_bytes);
  }
  CHECK(here.output_of("dump net.mr --stage object --target cpu:avx2 -o net.o") == "");
  for (const auto& [name, code] : functions_of(here.read("net.o"))) CHECK(contains(kernels[name], code));
  CHECK(kernels.size() == 2);
}

TEST_CASE("perf's map names the kernels of the process") {
  const Workplace here;
  // The shell says its own number, which the program has after exec.
  const std::string command = "cd '" + here.path("") +
                              "' && sh -c 'echo $$ > pid; exec \"" MILLRACE_TOOL
                              "\" run net.mr --input x=ones --input w=ones --device cpu:symbols=perf > /dev/null'";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string path = "/tmp/perf-" + std::to_string(std::stoi(here.read("pid"))) + ".map";
  std::string map;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    char buffer[4096];
    map.assign(buffer, std::fread(buffer, 1, sizeof(buffer), file));
    std::fclose(file);
  }
  std::filesystem::remove(path);
  std::uint64_t begin = 0, size = 0;
  char name[32] = {};
  REQUIRE(std::sscanf(map.c_str(), "%lx %lx %31s", &begin, &size, name) == 3);
  CHECK(std::string(name) == "dot_tanh_0");
  CHECK(begin > 0);
  CHECK(size > 0);
  CHECK(contains(map, " reduce_max_1\n"));
}

TEST_CASE("words choose the records for tools, and unknown words are refused") {
  const Workplace here;
  const std::string run = "run net.mr --input x=ones --input w=ones --device cpu:symbols=";
  CHECK(here.run(run + "gdb").exit_code == 0);
  CHECK(here.error_of(run + "gdb+vtune") ==
        "millrace: device 'cpu:symbols=gdb+vtune': symbols is 'gdb+vtune', expected perf, jitdump or gdb, or several "
        "of them joined with +\n");
  setenv("TMPDIR", here.path("nowhere").c_str(), 1);
  const std::string error = here.error_of(run + "jitdump");
  unsetenv("TMPDIR");
  CHECK(error.starts_with("millrace: '" + here.path("nowhere") + "/jit-"));
  CHECK(
      error.ends_with(".dump': the file cannot be written: No such file or directory; check the path and the space\n"));
}

}  // namespace
}  // namespace millrace
