// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/conformance/kernels.h"

#include <functional>
#include <map>
#include <mutex>

#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

using Body = std::function<void(MachineBuilder&)>;

/// One thread of each workgroup runs the body. Linked into a code object of its own.
ExecutableImage compile(const TargetSpec& target, const char* name, const Body& body) {
  MachineBuilder b(name);
  b.set_workgroup(target.subgroup_size(), target.subgroup_size());
  const auto nothing = [] { return MachineBuilder::Values{}; };
  b.if_else(
      b.eq(b.thread_id(), b.i32(0)),
      [&] {
        body(b);
        return MachineBuilder::Values{};
      },
      nothing);
  const auto generator = make_llvm_generator();
  const PlannedKernel planned = generator->plan(b.finish(), target).value();
  const std::vector<ExecutableImage> parts = {generator->emit(planned, target).value()};
  ExecutableImage image = parts[0];
  image.format = ImageFormat::kGpuCode;
  image.bytes = link_images(parts).value();
  return image;
}

/// LLVM takes milliseconds for each, and the suite asks for them thousands of times.
ExecutableImage compile_once(const TargetSpec& target, const char* name, const Body& body) {
  static std::mutex mutex;
  static std::map<std::string, ExecutableImage> images;
  const std::lock_guard lock(mutex);
  const std::string key = target.to_text() + " " + name;
  if (!images.contains(key)) images.emplace(key, compile(target, name, body));
  return images.at(key);
}

MachineValue factor_of(MachineBuilder& b, const char* name) { return b.convert(DType::kU32, b.size(Dim(name))); }

}  // namespace

ExecutableImage store_ids_on(const TargetSpec& target) {
  if (runs_host_kernels(target)) return store_ids_image(target);
  return compile_once(target, "store_ids", [](MachineBuilder& b) {
    const MemoryHandle y = b.buffer("y", DType::kU32, BufferAccess::kWrite);
    b.store(y, b.workgroup_id(), b.convert(DType::kU32, b.workgroup_id()));
  });
}

ExecutableImage scale_on(const TargetSpec& target) {
  if (runs_host_kernels(target)) return scale_image(target);
  return compile_once(target, "scale", [](MachineBuilder& b) {
    const MemoryHandle x = b.buffer("x", DType::kU32, BufferAccess::kRead),
                       y = b.buffer("y", DType::kU32, BufferAccess::kWrite);
    b.store(y, b.workgroup_id(), b.mul(b.load(x, b.workgroup_id()), factor_of(b, "factor")));
  });
}

ExecutableImage fail_index_on(const TargetSpec& target) {
  if (runs_host_kernels(target)) return fail_index_image(target);
  return compile_once(target, "gather_0", [](MachineBuilder& b) {
    b.report_error(b.eq(b.thread_id(), b.i32(0)), static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
  });
}

ExecutableImage append_on(const TargetSpec& target) {
  if (runs_host_kernels(target)) {
    const KernelInfo info{.name = "append", .num_buffers = 1, .num_sizes = 1, .buffer_is_written = {true}};
    return host_kernel_image(target, info, [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
      auto* word = static_cast<std::uint32_t*>(args.buffers[0]);
      *word = *word * 10 + static_cast<std::uint32_t>(args.sizes[0]);
      return {};
    });
  }
  return compile_once(target, "append", [](MachineBuilder& b) {
    const MemoryHandle y = b.buffer("y", DType::kU32, BufferAccess::kReadWrite);
    const MachineValue ten = b.convert(DType::kU32, b.i32(10));
    b.store(y, b.i32(0), b.mul_add(b.load(y, b.i32(0)), ten, factor_of(b, "digit")));
  });
}

}  // namespace millrace
