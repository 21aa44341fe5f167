// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {
namespace {

/// Takes every kernel, or none for a reason.
class TestGenerator final : public KernelCompiler {
 public:
  explicit TestGenerator(std::string name, std::string refusal = {})
      : name_(std::move(name)), refusal_(std::move(refusal)) {}
  std::string_view name() const override { return name_; }
  bool is_reference() const override { return name_ == "interpreter"; }
  std::string version() const override { return "1"; }
  Status supports(const TargetSpec&) const override { return {}; }
  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec&) const override {
    if (!refusal_.empty()) return unimplemented(refusal_);
    PlannedKernel planned;
    planned.name = name_of(kernel);
    planned.generator = name_;
    return planned;
  }
  Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const override {
    return unimplemented("emits nothing");
  }

 private:
  std::string name_, refusal_;
};

std::shared_ptr<const KernelCompiler> generator(std::string name, std::string refusal = {}) {
  return std::make_shared<TestGenerator>(std::move(name), std::move(refusal));
}

MachineKernel empty_kernel() { return MachineBuilder("empty").finish(); }

/// "name of the generator; refusals", or the error.
std::string choose(const KernelCompilerList& generators, const CompileKernelOptions& options = {}) {
  const Target target = Target::create(TargetSpec{}, generators).value();
  const auto outcome = plan_kernel(empty_kernel(), target, options);
  if (!outcome.ok()) return outcome.status().message();
  std::string text = outcome->kernel.generator;
  for (const Refusal& refusal : outcome->refusals) text += "; " + refusal.who + ": " + refusal.reason;
  return text;
}

TEST_CASE("a CPU runs one thread per workgroup, and generated code states that") {
  MachineBuilder b("sum");
  b.set_workgroup(256, 32);
  const auto planned = make_llvm_generator()->plan(b.finish(), TargetSpec{.isa = IsaLevel::kAvx2});
  CHECK(planned.status().code() == StatusCode::kUnimplemented);
  CHECK(planned.status().message() ==
        "kernel 'sum': workgroups of 256 threads, cpu:avx2 runs one thread per workgroup");
}

TEST_CASE("the first generator that accepts a kernel gets it, and the refusals before it are kept") {
  CHECK(choose({generator("xbyak"), generator("llvm")}) == "xbyak");
  CHECK(choose({generator("xbyak", "no contraction"), generator("llvm")}) == "llvm; xbyak: no contraction");
}

TEST_CASE("the interpreter is chosen if there is no other generator, or if it is allowed or forced") {
  CHECK(choose({generator("interpreter")}) == "interpreter");
  const KernelCompilerList both = {generator("llvm", "too odd"), generator("interpreter")};
  CHECK(choose(both) ==
        "kernel empty: no generator of cpu:baseline supports it:\n"
        "  llvm: too odd\n"
        "  interpreter: it is the slow reference; set CompileKernelOptions::allow_reference to use it");
  CHECK(choose(both, {.allow_reference = true}) == "interpreter; llvm: too odd");
  CHECK(choose(both, {.force_generator = "interpreter"}) == "interpreter");
}

TEST_CASE("only a forced generator is asked") {
  const KernelCompilerList generators = {generator("xbyak", "no contraction"), generator("llvm")};
  CHECK(choose(generators, {.force_generator = "llvm"}) == "llvm");
  CHECK(choose(generators, {.force_generator = "xbyak"}) ==
        "kernel empty: no generator of cpu:baseline supports it:\n  xbyak: no contraction");
  CHECK(choose(generators, {.force_generator = "gcc"}) ==
        "kernel empty: generator 'gcc' does not support cpu:baseline; there are xbyak, llvm; force one of these, or "
        "choose "
        "a target that it supports");
}

TEST_CASE("the interpreter's plan has all that a launch needs") {
  MachineBuilder b("both");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  const MemoryHandle keys = b.workgroup_memory(DType::kF32, 8, "keys");
  b.set_num_groups(Dim("rows"));
  const MachineValue offset = b.mul(b.workgroup_id(), b.size(Dim("n")));
  b.store(keys, b.i64(0), b.load(x, offset, 8));
  b.store(y, offset, b.load(keys, b.i64(0), 8));
  const auto interpreter = make_interpreter_generator();
  const PlannedKernel planned = interpreter->plan(b.finish(), TargetSpec{}).value();
  CHECK(planned.generator == "interpreter");
  CHECK(planned.num_groups == SizeExpr(Dim("rows")));
  CHECK(planned.sizes == std::vector<SizeExpr>{Dim("n")});
  CHECK(planned.info == KernelInfo{.name = "both",
                                   .num_buffers = 2,
                                   .num_sizes = 1,
                                   .buffer_is_written = {false, true},
                                   .workgroup_bytes = 32,
                                   .private_bytes = 0});
  const ExecutableImage image = interpreter->emit(planned, TargetSpec{}).value();
  CHECK(image.format == ImageFormat::kInterpreted);
  CHECK(image.info == planned.info);
  float in[16], out[16] = {};
  for (int i = 0; i < 16; ++i) in[i] = static_cast<float>(i);
  void* buffers[] = {in, out};
  alignas(64) std::byte workgroup_memory[64];
  std::uint32_t status = 0;
  const std::int64_t n = 8;
  REQUIRE(image.kernel->run({&status, workgroup_memory, buffers, &n}, 0, 2).ok());
  CHECK(std::vector(in, in + 16) == std::vector(out, out + 16));
}

TEST_CASE("the interpreter runs on the host only") {
  CHECK(make_interpreter_generator()->supports(TargetSpec{.family = "abacus"}).message() ==
        "target abacus is neither a CPU nor simulated; the interpreter runs on the host");
}

TEST_CASE("a simulated GPU is served by the interpreter alone, as its own generator") {
  const TargetSpec spec = TargetSpec::parse("sim:gfx1100").value();
  const KernelCompilerList all = {make_xbyak_generator(), make_llvm_generator(), make_interpreter_generator()};
  const Target target = Target::create(spec, all).value();
  REQUIRE(target.generators().size() == 1);
  CHECK(target.generators()[0]->name() == "interpreter");
  const PlanOutcome outcome = plan_kernel(MachineBuilder("empty").finish(), target, {}).value();
  CHECK(outcome.kernel.generator == "interpreter");
  CHECK(outcome.refusals.empty());
  CHECK(make_llvm_generator()->supports(spec).message() ==
        "target sim:gfx1100 is simulated from kernel IR; use the interpreter");
}

}  // namespace
}  // namespace millrace
