// SPDX-License-Identifier: Apache-2.0
// Reads and writes graphs as files, with large constants in a safetensors file next to the text.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/text/constant_text.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// The files with their paths relative to the folder of `path`.
std::vector<MappedFile> seen_from(const std::string& path, std::span<const MappedFile> files) {
  std::vector<MappedFile> seen;
  for (const MappedFile& file : files) {
    std::error_code error;
    const fs::path folder = fs::absolute(path, error).parent_path();
    const fs::path relative = fs::proximate(fs::absolute(file.path, error), folder, error);
    seen.push_back({error || relative.empty() ? file.path : relative.string(), file.bytes});
  }
  return seen;
}

}  // namespace

Result<Graph> read_graph(const std::string& path, ParseOptions options) {
  const auto where = [&] { return fmt::format("graph '{}'", printable(path)); };
  return guard_allocations(where, [&]() -> Result<Graph> {
    MILLRACE_TRY_ASSIGN(const std::vector<std::byte> bytes, read_file(where(), path));
    options.name = path;
    options.directory = fs::path(path).parent_path().string();
    if (options.directory.empty()) options.directory = ".";
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // UTF-8 byte order mark, which some editors write
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return parse_graph(text, options);
  });
}

Status write_graph(const Graph& graph, const std::string& path, std::span<const MappedFile> mapped) {
  const auto where = [&] { return fmt::format("graph '{}'", printable(path)); };
  return guard_allocations(where, [&]() -> Status {
    std::error_code error;
    if (fs::is_other(fs::status(path, error))) {
      return write_file(where(), path, to_text(graph, {LargeConstants::kBytes}));
    }
    const std::string constants = path + ".safetensors";
    std::map<std::string, Safetensors::Entry> entries;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[NodeId{i}];
      const SharedBytes* data = elements_of(node);
      if (data == nullptr || !is_large(node.results[0])) continue;
      if (data->size() == size_bytes(node.results[0].dtype)) continue;  // one element stands for all; the text lists it
      if (std::ranges::any_of(mapped, [&](const MappedFile& file) { return file.offset_of(*data).has_value(); }))
        continue;
      entries[fmt::format("{}", i)] = {node.results[0], *data};
    }
    // The constants are written first, so that the text never names a file that does not exist.
    if (!entries.empty()) MILLRACE_TRY(write_safetensors(constants, entries));
    const std::string text =
        to_text(graph, {LargeConstants::kFile, fs::path(constants).filename().string(), seen_from(path, mapped)});
    return write_file(where(), path, text);
  });
}

}  // namespace millrace
