// SPDX-License-Identifier: Apache-2.0
// What linking GPU objects refuses, and what reading them back finds. The modules are LLVM IR as text, because the
// emitter makes none like these.
#include <llvm-c/Target.h>

#include <doctest/doctest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/llvm_code_object.h"
#include "jit/llvm_lld.h"

namespace millrace {
namespace {

constexpr char kTriple[] = "amdgcn-amd-amdhsa";

/// The relocatable object of a module.
std::string compile(const char* ir) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  REQUIRE_MESSAGE(target != nullptr, error);
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, "gfx1100", "", {}, llvm::Reloc::PIC_));
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  REQUIRE_MESSAGE(module != nullptr, diagnostic.getMessage().str());
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  REQUIRE(!machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
  return std::string(object);
}

Result<std::vector<std::byte>> link(const std::vector<std::string>& objects) {
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& object : objects) spans.push_back(std::as_bytes(std::span(object)));
  return link_gpu_objects(spans);
}

CodeObjectInfo info_of(const char* ir) { return read_llvm_code_object(link({compile(ir)}).value()).value(); }

constexpr char kEmpty[] = "define protected amdgpu_kernel void @kernel() { ret void }";

TEST_CASE("an object without anything to resolve is linked") {
  const CodeObjectInfo info = info_of(kEmpty);
  REQUIRE(info.kernels.size() == 1);
  CHECK(info.kernels[0].symbol == "kernel");
  CHECK(info.target == "amdgcn-amd-amdhsa--gfx1100");
  CHECK(info.undefined_symbols.empty());
  CHECK(info.relocations.empty());
  CHECK(info.other_functions.empty());
}

TEST_CASE("undefined symbols are refused by name") {
  const std::string object = compile(R"(
    declare ptr @malloc(i64)
    declare void @free(ptr)
    define protected amdgpu_kernel void @kernel() {
      %memory = call ptr @malloc(i64 8)
      call void @free(ptr %memory)
      ret void
    })");
  const Status status = link({object}).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message() == "link: undefined symbol: malloc; undefined symbol: free");
  CHECK(link({compile(kEmpty)}).ok());  // lld runs again
}

TEST_CASE("two kernels of one name are refused") {
  const std::string object = compile(kEmpty);
  CHECK(link({object, object}).status().message() == "link: duplicate symbol: kernel; duplicate symbol: kernel.kd");
}

TEST_CASE("objects of two targets are refused") {
  std::string other = compile(kEmpty);
  other[18] = 62;  // EM_X86_64
  CHECK(!link({compile(kEmpty), other}).ok());
}

TEST_CASE("functions that are called, hidden arguments and a stack without bound are found") {
  const CodeObjectInfo info = info_of(R"(
    define internal i32 @helper(i32 %n) noinline {
      %twice = add i32 %n, %n
      ret i32 %twice
    }
    define protected amdgpu_kernel void @kernel(ptr addrspace(1) %to, ptr %unknown, i32 %n) {
      %first = call i32 @helper(i32 %n)
      %second = call i32 %unknown(i32 %first)
      store i32 %second, ptr addrspace(1) %to
      ret void
    })");
  REQUIRE(info.kernels.size() == 1);
  CHECK(info.other_functions == std::vector<std::string>{"helper"});
  CHECK(info.kernels[0].has_dynamic_stack);
  CHECK(info.kernels[0].argument_bytes > 20);
  REQUIRE(!info.kernels[0].hidden_arguments.empty());
  CHECK(info.kernels[0].hidden_arguments[0] == "hidden_block_count_x");
}

}  // namespace
}  // namespace millrace
