// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/kernel_compiler.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::unary_nest;

LoopKernel doubling() {
  return unary_nest("doubling", DType::kF32, DType::kF32, {1024}, [](auto& b, auto x) { return b.add(x, x); });
}

/// A kernel as the generator plans it, listed; or why not.
std::string listing(const std::shared_ptr<const KernelCompiler>& generator, const LoopKernel& kernel, IsaLevel isa,
                    ListingKind kind) {
  const TargetSpec spec{.isa = isa};
  const Result<std::string> text = generator->listing(generator->plan(kernel, spec).value(), spec, kind);
  return text.ok() ? *text : text.status().message();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("LLVM lists a kernel as IR, as assembly and as an object file, for every level") {
  const auto llvm = make_llvm_generator();
  const auto list = [&](IsaLevel isa, ListingKind kind) { return listing(llvm, doubling(), isa, kind); };
  for (const IsaLevel isa : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    CHECK(contains(list(isa, ListingKind::kLlvmIr), "define void @millrace_kernel("));
    CHECK(list(isa, ListingKind::kObject)
              .starts_with("\x7f"
                           "ELF"));
  }
  CHECK(contains(list(IsaLevel::kBaseline, ListingKind::kAssembly), "\taddps\t"));
  CHECK(contains(list(IsaLevel::kAvx2, ListingKind::kAssembly), "ymm"));
  CHECK(contains(list(IsaLevel::kAvx512, ListingKind::kAssembly), "zmm"));
}

TEST_CASE("machine code of xbyak is disassembled, with offsets") {
  const std::string text =
      listing(make_xbyak_generator(), matmul_nest(64, 64, 64), IsaLevel::kAvx2, ListingKind::kAssembly);
  CHECK(text.starts_with("     0:\t"));
  CHECK(contains(text, "vfmadd231ps"));
  CHECK(contains(text, "\tretq"));
  CHECK(contains(listing(make_xbyak_generator(), matmul_nest(64, 64, 64), IsaLevel::kAvx512, ListingKind::kAssembly),
                 "%zmm"));
}

TEST_CASE("a form that a generator does not have is refused, and named") {
  const auto xbyak = [](ListingKind kind) {
    return listing(make_xbyak_generator(), matmul_nest(64, 64, 64), IsaLevel::kAvx2, kind);
  };
  CHECK(xbyak(ListingKind::kLlvmIr) ==
        "kernel 'matmul': the generator xbyak makes no LLVM IR; ask for another form of it, or force another "
        "generator");
  CHECK(xbyak(ListingKind::kObject) ==
        "kernel 'matmul': the generator xbyak makes no object file; ask for another form of it, or force another "
        "generator");
  CHECK(listing(make_interpreter_generator(), doubling(), IsaLevel::kBaseline, ListingKind::kAssembly) ==
        "kernel 'doubling': the generator interpreter makes no assembly; ask for another form of it, or force another "
        "generator");
}

}  // namespace
}  // namespace millrace
