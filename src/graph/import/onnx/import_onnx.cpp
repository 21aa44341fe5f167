// SPDX-License-Identifier: Apache-2.0
// Reads ONNX models from files and from memory.
#include <limits>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/import_model.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/onnx.h"

namespace millrace {
namespace {

std::string where_of(const std::string& name) { return fmt::format("onnx '{}'", printable(name)); }

Result<OnnxModel> import_bytes(const std::string& name, const std::string& path, SharedBytes bytes,
                               const OnnxOptions& options) {
  const std::string where = where_of(name);
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<const ModelProto> model, decode_model(where, std::move(bytes)));
  return import_model(where, path, *model, options);
}

}  // namespace

Result<OnnxModel> import_onnx(const std::string& path, const OnnxOptions& options) {
  const auto where = [&] { return where_of(path); };
  return guard_allocations(where, [&]() -> Result<OnnxModel> {
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open(where(), path));
    MILLRACE_TRY_ASSIGN(SharedBytes bytes, file.map(std::numeric_limits<std::size_t>::max()));
    MILLRACE_TRY_ASSIGN(OnnxModel model, import_bytes(path, path, bytes, options));
    model.files.push_back({path, std::move(bytes)});
    return model;
  });
}

Result<OnnxModel> import_onnx(const std::string& name, const SharedBytes& bytes, const OnnxOptions& options) {
  return guard_allocations([&] { return where_of(name); }, [&] { return import_bytes(name, "", bytes, options); });
}

}  // namespace millrace
