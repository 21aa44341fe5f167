// SPDX-License-Identifier: Apache-2.0
// Source: LLVM's "User Guide for AMDGPU Backend", "Code Object V4 Metadata".
#include <optional>

#include "tests/hip_standin/runtime/code_object.h"
#include "tests/hip_standin/runtime/message_pack.h"

namespace millrace::hip_standin {
namespace {

/// The value of a map's key; an empty value if the map lacks the key.
const PackedValue& at(const PackedValue& map, std::string_view key) {
  static const PackedValue kNothing;
  const PackedValue* const found = map.find(key);
  return found == nullptr ? kNothing : *found;
}

KernelMetadata read_kernel(const PackedValue& kernel) {
  KernelMetadata info{.name = std::string(at(kernel, ".name").text()),
                      .argument_bytes = at(kernel, ".kernarg_segment_size").number(),
                      .workgroup_size = static_cast<std::uint32_t>(at(kernel, ".max_flat_workgroup_size").number())};
  for (const PackedValue& argument : at(kernel, ".args").array()) {
    const std::string_view kind = at(argument, ".value_kind").text();
    if (kind.starts_with("hidden_")) {
      info.has_hidden_arguments = true;
      continue;
    }
    info.arguments.push_back({at(argument, ".offset").number(), at(argument, ".size").number()});
    if (kind == "global_buffer") info.pointer_offsets.push_back(info.arguments.back().offset);
  }
  return info;
}

bool is_plausible(const KernelMetadata& info) {
  for (const KernelArgument& argument : info.arguments) {
    if (argument.size_bytes == 0 || argument.size_bytes > info.argument_bytes ||
        argument.offset > info.argument_bytes - argument.size_bytes) {
      return false;
    }
  }
  for (const std::uint64_t offset : info.pointer_offsets) {
    if (offset + sizeof(std::uint64_t) > info.argument_bytes) return false;
  }
  return !info.name.empty() && info.workgroup_size > 0;
}

}  // namespace

bool read_metadata(std::string_view note, std::vector<KernelMetadata>& kernels) {
  const std::optional<PackedValue> root = read_packed(note);
  if (!root) return false;
  for (const PackedValue& kernel : at(*root, "amdhsa.kernels").array()) {
    kernels.push_back(read_kernel(kernel));
    if (!is_plausible(kernels.back())) return false;
  }
  return !kernels.empty();
}

}  // namespace millrace::hip_standin
