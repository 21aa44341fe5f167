// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// A generator that serves one family, or one instruction set of it, and makes nothing.
class FakeGenerator final : public KernelCompiler {
 public:
  FakeGenerator(std::string name, std::string family, IsaLevel min_isa = IsaLevel::kBaseline)
      : name_(std::move(name)), family_(std::move(family)), min_isa_(min_isa) {}
  std::string_view name() const override { return name_; }
  std::string version() const override { return "1"; }
  Status supports(const TargetSpec& spec) const override {
    if (spec.family != family_) return unimplemented("makes code for " + family_ + " only");
    if (spec.isa < min_isa_) return unimplemented("needs " + std::string(to_text(min_isa_)));
    return {};
  }
  Result<PlannedKernel> plan(const Kernel&, const TargetSpec&) const override { return unimplemented("is a fake"); }
  Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const override {
    return unimplemented("is a fake");
  }

 private:
  std::string name_;
  std::string family_;
  IsaLevel min_isa_;
};

inline std::shared_ptr<const KernelCompiler> fake_generator(std::string name, std::string family,
                                                            IsaLevel min_isa = IsaLevel::kBaseline) {
  return std::make_shared<FakeGenerator>(std::move(name), std::move(family), min_isa);
}

}  // namespace millrace
