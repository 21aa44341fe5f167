// SPDX-License-Identifier: Apache-2.0
// Finds and maps external data. A model may name only files in its own folder, or in folders that the caller allows.
#include "graph/import/onnx/external_data.h"

#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "millrace/base/file.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// The entries of external_data.
struct Reference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<std::uint64_t> read_number(std::string_view text, std::string_view key, const std::string& path) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return data_loss(fmt::format("{}: external data has the {} '{}', expected a number", path, key, printable(text)));
}

Result<Reference> read_reference(const TensorProto& tensor, const std::string& path) {
  Reference reference;
  for (const StringStringEntryProto& entry : tensor.external_data) {
    if (entry.key == "location") {
      reference.location = entry.value;
    } else if (entry.key == "offset") {
      MILLRACE_TRY_ASSIGN(reference.offset, read_number(entry.value, entry.key, path));
    } else if (entry.key == "length") {
      MILLRACE_TRY_ASSIGN(reference.length, read_number(entry.value, entry.key, path));
    } else if (entry.key != "checksum" && entry.key != "basepath") {
      return data_loss(fmt::format("{}: external data has the key '{}', expected location, offset, length or checksum",
                                   path, printable(entry.key)));
    }
  }
  return reference;
}

/// Whether the path stays below the folder it starts from.
bool is_inside(const fs::path& location) {
  if (location.empty() || location.is_absolute()) return false;
  for (const fs::path& part : location) {
    if (part == "..") return false;
  }
  return true;
}

/// The canonical path of `folder`/`location`, if it is a regular file in one of the allowed folders.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& location,
                                  const std::vector<fs::path>& allowed) {
  std::error_code error;
  const fs::path real = fs::canonical(folder / location, error);
  if (error || !fs::is_regular_file(real, error)) return {};
  for (const fs::path& root : allowed) {
    const fs::path relative = real.lexically_relative(root);
    if (is_inside(relative)) return real;
  }
  return {};
}

}  // namespace

Result<SharedBytes> ExternalData::map(const std::string& location, const std::string& path) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second.bytes;
  if (!is_inside(location) || location.find('\0') != std::string::npos) {
    return invalid_argument(
        fmt::format("{}: external data are in '{}', expected a relative path without '..'", path, printable(location)));
  }
  std::error_code error;
  std::vector<fs::path> folders, allowed;
  if (!model_path_.empty()) {
    folders.push_back(fs::path(model_path_).parent_path());
    allowed.push_back(fs::canonical(folders[0].empty() ? "." : folders[0], error));
    allowed.push_back(fs::canonical(model_path_, error).parent_path());
  }
  for (const std::string& folder : folders_) {
    folders.emplace_back(folder);
    allowed.push_back(fs::canonical(folder, error));
  }
  std::erase_if(allowed, [](const fs::path& folder) { return folder.empty(); });
  for (const fs::path& folder : folders) {
    const std::optional<fs::path> file = find_file(folder, location, allowed);
    if (!file) continue;
    const std::string where = fmt::format("external data '{}'", printable(file->string()));
    MILLRACE_TRY_ASSIGN(FileReader reader, FileReader::open(where, file->string()));
    MILLRACE_TRY_ASSIGN(SharedBytes bytes, reader.map(std::numeric_limits<std::size_t>::max()));
    return files_.emplace(location, MappedFile{file->string(), std::move(bytes)}).first->second.bytes;
  }
  return not_found(
      fmt::format("{}: external data are in '{}', which is not a regular file in the model's folder; allow its folder",
                  path, printable(location)));
}

Result<SharedBytes> ExternalData::read(const TensorProto& tensor, const std::string& path) {
  MILLRACE_TRY_ASSIGN(const Reference reference, read_reference(tensor, path));
  MILLRACE_TRY_ASSIGN(const SharedBytes file, map(reference.location, path));
  const std::uint64_t rest = reference.offset > file.size() ? 0 : file.size() - reference.offset;
  const std::uint64_t length = reference.length.value_or(rest);
  if (reference.offset > file.size() || length > rest) {
    return data_loss(fmt::format("{}: external data are {} bytes at offset {} of '{}', which has {} bytes", path,
                                 length, reference.offset, printable(reference.location), file.size()));
  }
  return file.part(reference.offset, length);
}

std::vector<MappedFile> ExternalData::files() const {
  std::vector<MappedFile> files;
  for (const auto& [location, file] : files_) files.push_back(file);
  return files;
}

}  // namespace millrace
