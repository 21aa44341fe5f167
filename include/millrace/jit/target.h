// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

class KernelCompiler;  // kernel_compiler.h

using KernelCompilerList = std::vector<std::shared_ptr<const KernelCompiler>>;

/// A spec and the generators that serve it, in the order in which they are tried. There is always at least one, so a
/// Target without code generation cannot exist.
class Target {
 public:
  /// Keeps the generators that support `spec`. If none does, the error names the target, and each generator with its
  /// reason.
  static Result<Target> create(TargetSpec spec, const KernelCompilerList& generators);

  const TargetSpec& spec() const { return spec_; }
  const KernelCompilerList& generators() const { return generators_; }
  /// Null when no generator has this name.
  const KernelCompiler* find_generator(std::string_view name) const;
  std::string to_text() const { return spec_.to_text(); }

 private:
  Target(TargetSpec spec, KernelCompilerList generators) : spec_(std::move(spec)), generators_(std::move(generators)) {}
  TargetSpec spec_;
  KernelCompilerList generators_;
};

}  // namespace millrace
