// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// Command lists in the words of a test: sizes are expressions, bindings are named when they are made.
class ListBuilder {
 public:
  BindingIndex binding(std::string name, BindingKind kind, const SizeExpr& size_bytes) {
    return list.bindings.push_back({.name = std::move(name), .kind = kind, .size_bytes = list.add_size(size_bytes)});
  }
  BindingIndex input(std::string name, const SizeExpr& size_bytes) {
    return binding(std::move(name), BindingKind::kInput, size_bytes);
  }
  BindingIndex output(std::string name, const SizeExpr& size_bytes) {
    return binding(std::move(name), BindingKind::kOutput, size_bytes);
  }
  /// Memory of the host's, for uploads and downloads.
  BindingIndex host(std::string name, BindingKind kind, const SizeExpr& size_bytes) {
    const BindingIndex index = binding(std::move(name), kind, size_bytes);
    list.bindings[index].place = BindingPlace::kHost;
    return index;
  }
  BufferRange range(BindingIndex binding, const SizeExpr& offset, const SizeExpr& length) {
    return {.binding = binding, .offset_bytes = list.add_size(offset), .length_bytes = list.add_size(length)};
  }
  KernelIndex kernel(const KernelInfo& info) { return list.kernels.push_back(info); }

  void fill(const BufferRange& destination, std::uint64_t pattern, std::uint32_t pattern_bytes) {
    list.commands.emplace_back(
        FillCommand{.destination = destination, .pattern = pattern, .pattern_bytes = pattern_bytes});
  }
  void copy(const BufferRange& source, const BufferRange& destination) {
    list.commands.emplace_back(CopyCommand{.source = source, .destination = destination});
  }
  void upload(const BufferRange& source, const BufferRange& destination) {
    list.commands.emplace_back(UploadCommand{.source = source, .destination = destination});
  }
  void download(const BufferRange& source, const BufferRange& destination) {
    list.commands.emplace_back(DownloadCommand{.source = source, .destination = destination});
  }
  void dispatch(KernelIndex kernel, const SizeExpr& num_groups, std::vector<BufferRange> buffers,
                const std::vector<SizeExpr>& sizes = {}) {
    DispatchCommand dispatch{.kernel = kernel, .num_groups = list.add_size(num_groups), .buffers = std::move(buffers)};
    for (const SizeExpr& size : sizes) dispatch.sizes.push_back(list.add_size(size));
    list.commands.emplace_back(std::move(dispatch));
  }
  void barrier() { list.commands.emplace_back(BarrierCommand{}); }

  /// What a submission gives as its sizes.
  std::vector<std::int64_t> evaluate(const SymbolValues& symbols = {}) const {
    std::vector<std::int64_t> values;
    for (const SizeExpr& size : list.sizes) values.push_back(size.evaluate(symbols).value());
    return values;
  }

  CommandList list;
};

}  // namespace millrace
