// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "millrace/graph/context.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace::test {

/// Plans as another generator does, and can emit nothing, as if its library were away.
class PlansOnly final : public KernelCompiler {
 public:
  explicit PlansOnly(std::shared_ptr<const KernelCompiler> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return inner_->name(); }
  std::string version() const override { return inner_->version(); }
  Status supports(const TargetSpec& spec) const override { return inner_->supports(spec); }
  bool is_reference() const override { return inner_->is_reference(); }
  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    return inner_->plan(kernel, spec);
  }
  Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const override {
    return unavailable(std::string(inner_->name()) + ": is away");
  }

 private:
  std::shared_ptr<const KernelCompiler> inner_;
};

/// The usual context of an application that has its kernels in a layer, no cache of its own, and no generator that
/// emits code.
inline std::shared_ptr<const Context> context_without_generators(const std::string& layer) {
  auto context =
      std::make_shared<Context>(*make_default_context({.cache_directory = "", .read_only_cache_directories = {layer}}));
  for (std::shared_ptr<const KernelCompiler>& generator : context->generators) {
    if (generator->emits_code()) generator = std::make_shared<PlansOnly>(generator);
  }
  return context;
}

/// A context that fills the directory.
inline std::shared_ptr<const Context> context_that_fills(const std::string& directory) {
  return make_default_context(
      {.cache_directory = directory, .read_only_cache_directories = {}, .requires_cache_writes = true});
}

}  // namespace millrace::test
