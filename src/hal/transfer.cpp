// SPDX-License-Identifier: Apache-2.0
// Blocking copies to and from a device, as small command lists that are recorded and submitted at once.
#include "millrace/hal/transfer.h"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {
namespace {

std::int64_t as_size(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }

/// A command list that copies bytes between the host and one buffer, and its bindings.
class TransferList {
 public:
  explicit TransferList(const Buffer& buffer, BindingKind kind) : bindings_{buffer.binding()} {
    bind({"buffer", kind}, buffer.size_bytes());
  }

  void upload(std::size_t offset_bytes, std::span<const std::byte> source) {
    const BufferRange from = add_host(BindingKind::kInput, const_cast<std::byte*>(source.data()), source.size());
    list_.commands.emplace_back(UploadCommand{from, {BindingIndex{0}, size(offset_bytes), from.length_bytes}});
  }
  void download(std::size_t offset_bytes, std::span<std::byte> destination) {
    const BufferRange to = add_host(BindingKind::kOutput, destination.data(), destination.size());
    list_.commands.emplace_back(DownloadCommand{{BindingIndex{0}, size(offset_bytes), to.length_bytes}, to});
  }

  Status run(Device& device) const {
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<Recording> recording, device.record(list_, nullptr));
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<Semaphore> done, device.create_semaphore());
    std::vector<std::int64_t> sizes;
    for (const SizeExpr& each : list_.sizes) sizes.push_back(each.constant());
    const Timepoint signal[] = {{done, 1}};
    MILLRACE_TRY(device.submit(*recording, {.bindings = bindings_, .sizes = sizes, .signal = signal}));
    return done->wait(1);
  }

 private:
  SizeIndex size(std::size_t bytes) { return list_.sizes.push_back(as_size(bytes)); }
  BindingIndex bind(BindingDecl declared, std::size_t bytes) {
    declared.size_bytes = size(bytes);
    return list_.bindings.push_back(std::move(declared));
  }
  BufferRange add_host(BindingKind kind, std::byte* data, std::size_t bytes) {
    bindings_.push_back({.data = data, .size_bytes = bytes});
    const BindingIndex binding = bind({.name = "host", .kind = kind, .place = BindingPlace::kHost}, bytes);
    return {binding, size(0), size(bytes)};
  }

  CommandList list_;
  std::vector<BufferBinding> bindings_;
};

bool is_outside(std::size_t offset_bytes, std::size_t bytes, const Buffer& buffer) {
  return offset_bytes > buffer.size_bytes() || bytes > buffer.size_bytes() - offset_bytes;
}

Status out_of_buffer(std::string_view verb, std::size_t offset_bytes, std::size_t bytes, const Buffer& buffer) {
  return invalid_argument(fmt::format("{}: {} bytes at offset {} of a buffer of {} bytes, expected a range inside it",
                                      verb, bytes, offset_bytes, buffer.size_bytes()));
}

Status check_owner(std::string_view verb, const Device& device, const Buffer& buffer) {
  if (buffer.device() == device.id()) return {};
  return invalid_argument(
      fmt::format("{}: the buffer is another device's; ask that device instead of '{}'", verb, device.name()));
}

}  // namespace

Status upload(Device& device, const Buffer& destination, std::span<const UploadPart> parts) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY(check_owner("upload", device, destination));
    for (const auto& [offset_bytes, source] : parts) {
      if (is_outside(offset_bytes, source.size(), destination)) {
        return out_of_buffer("upload", offset_bytes, source.size(), destination);
      }
    }
    TransferList list(destination, BindingKind::kOutput);
    for (const auto& [offset_bytes, source] : parts) {
      if (source.empty()) continue;
      if (destination.host_address() != nullptr) {
        std::memcpy(destination.bytes().data() + offset_bytes, source.data(), source.size());
      } else {
        list.upload(offset_bytes, source);
      }
    }
    return destination.host_address() != nullptr ? Status() : list.run(device);
  });
}

Status upload(Device& device, const Buffer& destination, std::span<const std::byte> source) {
  const UploadPart part{0, source};
  return upload(device, destination, std::span(&part, 1));
}

Status download(Device& device, const Buffer& source, std::size_t offset_bytes, std::span<std::byte> destination) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY(check_owner("download", device, source));
    if (is_outside(offset_bytes, destination.size(), source)) {
      return out_of_buffer("download", offset_bytes, destination.size(), source);
    }
    if (destination.empty()) return {};
    if (source.host_address() != nullptr) {
      std::memcpy(destination.data(), source.bytes().data() + offset_bytes, destination.size());
      return {};
    }
    TransferList list(source, BindingKind::kInput);
    list.download(offset_bytes, destination);
    return list.run(device);
  });
}

Status download(Device& device, const Buffer& source, std::span<std::byte> destination) {
  return download(device, source, 0, destination);
}

}  // namespace millrace
