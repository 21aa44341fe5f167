// SPDX-License-Identifier: Apache-2.0
// Records and submits the copies between caller memory and a device that cannot address it.
#include "graph/run/staging.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {

Result<std::unique_ptr<Staging>> Staging::create(Device& device, std::span<const Argument> inputs,
                                                 std::span<const Argument> outputs) {
  std::unique_ptr<Staging> staging(new Staging(device));
  MILLRACE_TRY(staging->inputs_.record(device, inputs, true));
  MILLRACE_TRY(staging->outputs_.record(device, outputs, false));
  return staging;
}

Status Staging::Side::record(Device& device, std::span<const Argument> arguments, bool is_upload) {
  CommandList list;
  for (std::size_t i = 0; i < arguments.size(); ++i) list.sizes.push_back(Dim(fmt::format("bytes_{}", i)));
  const SizeIndex zero = list.sizes.push_back(0);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const SizeIndex bytes = SizeIndex(i);
    const std::string name = printable(arguments[i].name);
    const BufferRange host{list.bindings.push_back({name, is_upload ? BindingKind::kInput : BindingKind::kOutput, bytes,
                                                    BindingPlace::kHost}),
                           zero, bytes};
    const BufferRange staged{
        list.bindings.push_back({name, is_upload ? BindingKind::kTransient : BindingKind::kInput, bytes}), zero, bytes};
    if (is_upload) {
      list.commands.emplace_back(UploadCommand{host, staged});
    } else {
      list.commands.emplace_back(DownloadCommand{staged, host});
    }
  }
  MILLRACE_TRY_ASSIGN(recording, device.record(list, nullptr));
  buffers.resize(arguments.size());
  bindings.resize(2 * arguments.size());
  sizes.resize(arguments.size() + 1);
  return {};
}

Status Staging::Side::replace(Device& device, std::span<BufferBinding> given,
                              std::vector<std::shared_ptr<Buffer>>& retired) {
  has_work = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    sizes[i] = 0;
    bindings[2 * i] = bindings[2 * i + 1] = {};
    if (given[i].buffer != nullptr || given[i].size_bytes == 0) continue;
    if (buffers[i] == nullptr || buffers[i]->size_bytes() < given[i].size_bytes) {
      if (buffers[i] != nullptr) retired.push_back(std::move(buffers[i]));
      MILLRACE_TRY_ASSIGN(buffers[i], device.allocate(given[i].size_bytes));
    }
    sizes[i] = static_cast<std::int64_t>(given[i].size_bytes);
    bindings[2 * i] = given[i];
    bindings[2 * i + 1] = {.size_bytes = given[i].size_bytes, .buffer = buffers[i].get()};
    given[i] = bindings[2 * i + 1];
    has_work = true;
  }
  return {};
}

Status Staging::Side::submit(Device& device, Submission when) const {
  when.bindings = bindings;
  when.sizes = sizes;
  return device.submit(*recording, when);
}

Status Staging::replace(std::span<BufferBinding> bindings, std::vector<std::shared_ptr<Buffer>>& retired) {
  const std::size_t num_inputs = inputs_.buffers.size();
  MILLRACE_TRY(inputs_.replace(device_, bindings.first(num_inputs), retired));
  return outputs_.replace(device_, bindings.subspan(num_inputs), retired);
}

}  // namespace millrace
