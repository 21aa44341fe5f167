// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <xxhash.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"
#include "hal/host/routines/gemm/gemm_f32.h"
#include "hal/host/routines/scan/scan_rows.h"
#include "hal/host/routines/topk/topk_rows.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

// A parameter takes its own microkernel alone, even where others have the same signature.
static_assert(std::is_same_v<SortInRegisters::Pointer, WriteFromKeys::Pointer>);
static_assert(!std::is_convertible_v<Microkernel<SortInRegisters>, Microkernel<WriteFromKeys>>);

/// The text of types and signatures, by name.
using Definitions = std::map<std::string, std::string, std::less<>>;

constexpr std::array kSignatures = {
#define MILLRACE_MICROKERNEL(Name, Result, Arguments) std::array<std::string_view, 2>{#Name, #Result " " #Arguments},
#include "hal/host/routines/microkernels.inc"
};

struct AbiRow {
  std::string_view name;
  std::uint32_t version;
  std::size_t parameter_bytes;
  std::string_view types;
};
constexpr AbiRow kAbiRows[] = {
#define MILLRACE_ROUTINE(name, version, Parameters, ...) \
  {#name, version, sizeof(Parameters), #Parameters " " #__VA_ARGS__},
#include "hal/host/routines/microkernels.inc"
};

std::string without_comments(std::string_view text) {
  std::string code;
  while (!text.empty()) {
    const std::size_t end = text.find("//");
    code += text.substr(0, end);
    text.remove_prefix(std::min(text.find('\n', std::min(end, text.size())), text.size()));
  }
  return code;
}

/// Adds the structs and enums that a header defines in a namespace.
void add_definitions(std::string_view header, Definitions& definitions) {
  const std::string text = without_comments(header);
  for (const std::string_view keyword : {"\nstruct ", "\nenum class "}) {
    for (std::size_t at = text.find(keyword); at != text.npos; at = text.find(keyword, at + 1)) {
      const std::size_t brace = text.find_first_of("{;", at);
      if (brace == text.npos || text[brace] == ';') continue;
      std::string_view name = std::string_view(text).substr(at + keyword.size(), brace - at - keyword.size());
      if (name.starts_with("alignas")) name.remove_prefix(name.find(' ') + 1);
      name = name.substr(0, name.find_first_of(" :<"));
      std::size_t end = brace + 1;
      for (int depth = 1; end < text.size() && depth > 0; ++end) depth += (text[end] == '{') - (text[end] == '}');
      definitions[std::string(name)] = text.substr(at, end - at);
    }
  }
}

/// The words that may name the type of a member, in order, without qualifiers.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = std::ranges::find_if(text, is_of_word); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_of_word);
    if (!std::string_view(end, text.end()).starts_with("::")) names.emplace_back(at, end);
    at = std::find_if(end, text.end(), is_of_word);
  }
  return names;
}

/// All definitions that the types are made of, without spaces.
std::string text_of(std::string_view types, const Definitions& definitions) {
  std::string text;
  std::set<std::string> seen;
  std::vector<std::string> open = names_in(types);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto definition = definitions.find(open[i]);
    if (definition == definitions.end() || !seen.insert(open[i]).second) continue;
    text += open[i] + ": " + definition->second + "\n";
    const std::vector<std::string> inside = names_in(definition->second);
    open.insert(open.end(), inside.begin(), inside.end());
  }
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

std::string abi_line(const AbiRow& row, const Definitions& definitions) {
  const std::string text = fmt::format("{}:{}", row.parameter_bytes, text_of(row.types, definitions));
  return fmt::format("{} {} {:016x}\n", row.name, row.version, XXH3_64bits(text.data(), text.size()));
}

/// Why a line must not replace that of the same routine in `golden`: it says something else with the same version.
std::string version_problem(std::string_view golden, std::string_view line) {
  const std::string lines = fmt::format("\n{}", golden);
  const auto start_of = [](std::string_view text) { return text.substr(0, text.rfind(' ') + 1); };  // before the hash
  const std::string start = fmt::format("\n{}", start_of(line));
  if (lines.find(start) == lines.npos || lines.find(fmt::format("\n{}", line)) != lines.npos) return "";
  return fmt::format(
      "'{}': what the routine shares with images has changed; raise its version in src/hal/host/routines/"
      "microkernels.inc, and then run with MILLRACE_UPDATE_GOLDEN=1",
      start.substr(1, start.size() - 2));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Definitions all_definitions() {
  Definitions definitions;
  for (const auto& [name, signature] : kSignatures) definitions.emplace(name, signature);
  const auto folder = std::filesystem::path(MILLRACE_SOURCE_DIR) / "src/hal/host/routines";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".h") add_definitions(read_text(entry.path()), definitions);
  }
  return definitions;
}

TEST_CASE("the version of a routine is raised with every change of what it shares with images") {
  const Definitions definitions = all_definitions();
  const std::string golden =
      read_text(std::filesystem::path(MILLRACE_SOURCE_DIR) / "tests/hal/host/golden/routine_abi.txt");
  std::string text, problems;
  for (const AbiRow& row : kAbiRows) {
    for (const std::string& type : names_in(row.types)) CHECK_MESSAGE(definitions.contains(type), type);
    const std::string line = abi_line(row, definitions);
    text += line;
    problems += version_problem(golden, line);
  }
  CHECK(problems == "");
  if (problems.empty()) CHECK(test::golden_problem("routine_abi.txt", text) == "");
}

TEST_CASE("the interface of a routine and images contains every type that its types use") {
  const Definitions definitions = all_definitions();
  const auto shares = [&](std::string_view types, std::string_view text) {
    return text_of(types, definitions).find(text) != std::string::npos;
  };
  CHECK(shares("TopkRowsParameters", "std::int64_tmax_found;"));
  CHECK(shares("TopkRowsParameters", "Microkernel<MakeKeys>make_keys;"));                   // of its SortRowsParameters
  CHECK(shares("TopkRowsParameters", "FindMinima:std::byte*(constvoid*row,void*minima,"));  // a microkernel
  CHECK(shares("ArgRowsParameters", "std::bytekeys_and_places[128];"));                     // that one is passed
  CHECK_FALSE(shares("ScanRowsParameters", "MakeKeys:"));
}

TEST_CASE("another layout, size or signature makes another line; another comment does not") {
  constexpr AbiRow kRow = {"walk", 7, 16, "Walk"};
  Definitions before;
  add_definitions("\nstruct Walk {\n  i64 n;  // elements\n  Microkernel<Step> step;\n};\n", before);
  before["Step"] = "void (int n)";
  const std::string line = abi_line(kRow, before);

  Definitions commented = before, swapped = before, renamed = before;
  add_definitions("\n/// Walks.\nstruct Walk {\n  i64 n;\n  Microkernel<Step> step;\n};\n", commented);
  CHECK(abi_line(kRow, commented) == line);
  add_definitions("\nstruct Walk {\n  Microkernel<Step> step;\n  i64 n;\n};\n", swapped);
  renamed["Step"] = "void (int n, int stride)";
  CHECK(abi_line(kRow, swapped) != line);
  CHECK(abi_line(kRow, renamed) != line);
  CHECK(abi_line({"walk", 7, 24, "Walk"}, before) != line);
}

TEST_CASE("a line replaces another only with another version") {
  constexpr std::string_view kGolden = "walk 7 00000000000000aa\nrun 1 00000000000000bb\n";
  CHECK(version_problem(kGolden, "walk 7 00000000000000aa\n") == "");
  CHECK(version_problem(kGolden, "walk 8 00000000000000cc\n") == "");
  CHECK(version_problem(kGolden, "jump 1 00000000000000cc\n") == "");
  CHECK(version_problem(kGolden, "walk 7 00000000000000cc\n") ==
        "'walk 7': what the routine shares with images has changed; raise its version in src/hal/host/routines/"
        "microkernels.inc, and then run with MILLRACE_UPDATE_GOLDEN=1");
}

}  // namespace
}  // namespace millrace
