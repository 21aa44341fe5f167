// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "millrace/hal/target.h"

namespace millrace {

/// A generator that serves one family, or one instruction set of it; stands in for the real ones, a GPU's included.
class FakeGenerator final : public CodeGenerator {
 public:
  FakeGenerator(std::string name, std::string family, IsaLevel least = IsaLevel::kBaseline)
      : name_(std::move(name)), family_(std::move(family)), least_(least) {}
  std::string_view name() const override { return name_; }
  std::string version() const override { return "1"; }
  Status supports(const TargetSpec& spec) const override {
    if (spec.family != family_) return unimplemented("makes code for " + family_ + " only");
    if (spec.isa < least_) return unimplemented("needs " + std::string(to_text(least_)));
    return {};
  }

 private:
  std::string name_;
  std::string family_;
  IsaLevel least_;
};

inline std::shared_ptr<const CodeGenerator> fake_generator(std::string name, std::string family,
                                                           IsaLevel least = IsaLevel::kBaseline) {
  return std::make_shared<FakeGenerator>(std::move(name), std::move(family), least);
}

}  // namespace millrace
