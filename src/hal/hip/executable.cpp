// SPDX-License-Identifier: Apache-2.0
// Loads code objects onto a HIP device and looks up their kernels.
#include "hal/hip/executable.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "hal/checks/image.h"

namespace millrace::hip {
namespace {

struct CodeObject {
  SharedBytes bytes;
  std::shared_ptr<LoadedModule> module;
};

template <class T>
T read_at(const SharedBytes& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// Checks that the file is as long as its headers say: HIP takes an address without a length, and would read past the
/// end.
Status check_extent(const ExecutableImage& image) {
  const SharedBytes& bytes = image.bytes;
  constexpr std::size_t kHeaderBytes = 64;
  constexpr std::uint32_t kMagic = 0x464c'457f;  // "\x7f" "ELF"
  std::uint64_t end = kHeaderBytes;
  if (bytes.size() >= kHeaderBytes && read_at<std::uint32_t>(bytes, 0) == kMagic) {
    const auto table_end = [&](std::size_t offset_at, std::size_t entry_bytes_at, std::size_t count_at) {
      const auto offset = read_at<std::uint64_t>(bytes, offset_at);
      const std::uint64_t entry_bytes = read_at<std::uint16_t>(bytes, entry_bytes_at);
      return std::max(offset, offset + entry_bytes * read_at<std::uint16_t>(bytes, count_at));  // the sum may wrap
    };
    // e_phoff, e_phentsize, e_phnum; e_shoff, e_shentsize, e_shnum: usually the section table comes last.
    end = std::max(table_end(32, 54, 56), table_end(40, 58, 60));
    if (end <= bytes.size()) return {};
  }
  return invalid_argument(
      fmt::format("kernel '{}': its code object has {} bytes, expected an ELF file of at least {}; compile it again",
                  image.info.name, bytes.size(), end));
}

}  // namespace

Result<std::shared_ptr<HipExecutable>> HipExecutable::load(std::shared_ptr<Context> context, const TargetSpec& target,
                                                           std::span<const ExecutableImage> images) {
  for (const ExecutableImage& image : images) MILLRACE_TRY(check_gpu_code(target, image));
  auto executable = std::make_shared<HipExecutable>(context->id());
  const CurrentDevice current(*context);
  MILLRACE_TRY(current.status());
  std::vector<CodeObject> objects;
  for (const ExecutableImage& image : images) {
    const std::string where = fmt::format("load: kernel '{}' on device '{}', a {}", image.info.name, context->name(),
                                          context->facts().architecture);
    const auto is_its = [&](const CodeObject& known) { return known.bytes.is_shared_with(image.bytes); };
    auto object = std::ranges::find_if(objects, is_its);
    if (object == objects.end()) {
      MILLRACE_TRY(check_extent(image));
      MILLRACE_TRY_ASSIGN(std::shared_ptr<LoadedModule> module, LoadedModule::load(context, where, image.bytes));
      objects.push_back({image.bytes, std::move(module)});
      object = objects.end() - 1;
    }
    Function function = nullptr;
    const Error error = context->hip().hipModuleGetFunction(&function, object->module->get(), image.symbol.c_str());
    MILLRACE_TRY(context->check(where, "hipModuleGetFunction", error));
    executable->kernels_.push_back({image.info, object->module, function});
  }
  return executable;
}

}  // namespace millrace::hip
