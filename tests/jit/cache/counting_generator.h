// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Emits a few bytes that depend on the kernel's name, and counts how often.
class CountingGenerator final : public KernelCompiler {
 public:
  explicit CountingGenerator(std::string version = "1") : version_(std::move(version)) {}
  std::string_view name() const override { return "counting"; }
  std::string version() const override { return version_; }
  Status supports(const TargetSpec&) const override { return {}; }
  Result<PlannedKernel> plan(const Kernel&, const TargetSpec&) const override { return unimplemented("not needed"); }
  Result<ExecutableImage> emit(const PlannedKernel& kernel, const TargetSpec& spec) const override {
    ++emissions;
    if (kernel.key_text == "impossible") return unimplemented("impossible: cannot be emitted");
    ExecutableImage image;
    image.target = spec.to_text();
    image.generator = name();
    image.info = kernel.info;
    image.bytes = SharedBytes(std::as_bytes(std::span(kernel.key_text)));
    image.code_bytes = image.bytes.size();
    image.entry_offset = 1;
    return image;
  }
  mutable std::atomic<int> emissions = 0;

 private:
  std::string version_;
};

inline PlannedKernel planned_kernel(std::string name, std::string key_text) {
  PlannedKernel kernel;
  kernel.name = name;
  kernel.generator = "counting";
  kernel.info = {.name = std::move(name), .num_buffers = 2, .num_sizes = 1, .buffer_is_written = {false, true}};
  kernel.key_text = std::move(key_text);
  return kernel;
}

}  // namespace millrace
