// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/target.h"

#include <doctest/doctest.h>

#include "millrace/base/printable.h"
#include "tests/support/kernels/fake_generator.h"

// What must be impossible: a device without a back end.

namespace millrace {
namespace {

const TargetSpec kCpuBaseline{.family = "cpu", .isa = IsaLevel::kBaseline};
const TargetSpec kCpuAvx512{.family = "cpu", .isa = IsaLevel::kAvx512};
const TargetSpec kGpu{.family = "amdgpu"};

}  // namespace

TEST_CASE("a target without any generator is refused") {
  const Result<Target> target = Target::create(kCpuBaseline, {});
  REQUIRE(!target.ok());
  CHECK(target.status().code() == StatusCode::kFailedPrecondition);
  CHECK(target.status().message() ==
        "target 'cpu:baseline' has no code generator; built in: none; give one that makes code for it");
}

TEST_CASE("a target that no generator serves is refused with each generator's reason") {
  const KernelCompilerList generators = {fake_generator("xbyak", "cpu", IsaLevel::kAvx2),
                                         fake_generator("gpu", "amdgpu")};
  const Result<Target> target = Target::create(kCpuBaseline, generators);
  REQUIRE(!target.ok());
  CHECK(target.status().code() == StatusCode::kUnimplemented);
  CHECK(target.status().message() ==
        "target 'cpu:baseline' has no code generator; built in: xbyak (needs avx2), gpu (makes code for amdgpu only); "
        "give one that makes code for it, or choose another target");
}

TEST_CASE("a GPU target is refused where only cpu generators are built in") {
  const KernelCompilerList generators = {fake_generator("llvm", "cpu"), fake_generator("interpreter", "cpu")};
  const Result<Target> target = Target::create(kGpu, generators);
  REQUIRE(!target.ok());
  CHECK(target.status().message() ==
        "target 'amdgpu' has no code generator; built in: llvm (makes code for cpu only), interpreter (makes code for "
        "cpu only); give one that makes code for it, or choose another target");
}

TEST_CASE("a null generator is refused, not followed") {
  const KernelCompilerList generators = {fake_generator("llvm", "cpu"), nullptr};
  const Result<Target> target = Target::create(kCpuBaseline, generators);
  REQUIRE(!target.ok());
  CHECK(target.status().code() == StatusCode::kInvalidArgument);
  CHECK(target.status().message() ==
        "target 'cpu:baseline': code generator 1 of 2 is null; give a generator or leave it out");
}

TEST_CASE("a target keeps the generators that serve it, in order") {
  const KernelCompilerList generators = {
      fake_generator("gpu", "amdgpu"), fake_generator("xbyak", "cpu", IsaLevel::kAvx2), fake_generator("llvm", "cpu")};
  const Target best = Target::create(kCpuAvx512, generators).value();
  REQUIRE(best.generators().size() == 2);
  CHECK(best.generators()[0]->name() == "xbyak");
  CHECK(best.generators()[1]->name() == "llvm");
  CHECK(best.spec() == kCpuAvx512);
  CHECK(best.to_text() == "cpu:avx512");
  const Target baseline = Target::create(kCpuBaseline, generators).value();
  REQUIRE(baseline.generators().size() == 1);
  CHECK(baseline.generators()[0]->name() == "llvm");
  CHECK(Target::create(kGpu, generators).value().generators()[0]->name() == "gpu");
}

TEST_CASE("plain cpu needs no further options") {
  CHECK(Target::create(TargetSpec::parse("cpu").value(), {fake_generator("llvm", "cpu")}).ok());
}

TEST_CASE("every subset of generators with every target gives a target or names target, generators and reasons") {
  const KernelCompilerList all = {fake_generator("xbyak", "cpu", IsaLevel::kAvx2), fake_generator("llvm", "cpu"),
                                  fake_generator("avx512", "cpu", IsaLevel::kAvx512), fake_generator("gpu", "amdgpu"),
                                  nullptr};
  const std::string texts[] = {"",       "cpu",      "cpu:baseline", "cpu:avx2",       "cpu:avx512",
                               "local",  "cpu:avx9", "amdgpu",       "amdgpu:gfx1100", "vulkan",
                               "cpu:\n", "cuda",     "cpu:cpu",      "trace(cpu)"};
  for (unsigned subset = 0; subset < (1u << all.size()); ++subset) {
    KernelCompilerList generators;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((subset >> i & 1) != 0) generators.push_back(all[i]);
    }
    for (const std::string& text : texts) {
      CAPTURE(subset);
      CAPTURE(text);
      const Result<TargetSpec> parsed = TargetSpec::parse(text);
      if (!parsed.ok()) CHECK(parsed.status().message().find("target '" + printable(text) + "'") == 0);
      const TargetSpec spec = parsed.ok() ? *parsed : TargetSpec{.family = text};
      const Result<Target> target = Target::create(spec, generators);
      if (target.ok()) {
        CHECK(!target->generators().empty());
        for (const auto& generator : target->generators()) CHECK(generator->supports(spec).ok());
        continue;
      }
      const std::string message = target.status().message();
      CHECK(message.find("target '" + spec.to_text() + "'") == 0);
      const bool has_null = (subset >> 4 & 1) != 0;
      for (const auto& generator : generators) {
        if (has_null) break;
        CHECK(!generator->supports(spec).ok());
        CHECK(message.find(std::string(generator->name()) + " (" + generator->supports(spec).message() + ")") !=
              std::string::npos);
      }
      if (has_null) CHECK(message.find("is null; give a generator") != std::string::npos);
    }
  }
}

}  // namespace millrace
