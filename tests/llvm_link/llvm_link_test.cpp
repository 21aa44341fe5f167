// SPDX-License-Identifier: Apache-2.0
// What the linker refuses. The modules are LLVM IR text, because the emitter generates none like these.
#include <llvm-c/Target.h>

#include <doctest/doctest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>

#include "jit/llvm/link.h"

namespace millrace {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> make_machine(llvm::Reloc::Model relocations) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  REQUIRE_MESSAGE(target != nullptr, error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, "x86-64-v2", "", {}, relocations, llvm::CodeModel::Small));
}

/// What linking says of a module whose entry is @kernel; empty when it has linked.
std::string link_error(const char* ir, llvm::Reloc::Model relocations = llvm::Reloc::PIC_) {
  const auto machine = make_machine(relocations);
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, *context);
  REQUIRE_MESSAGE(module != nullptr, diagnostic.getMessage().str());
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  auto linker = llvm::cantFail(LlvmLinker::create(*machine));
  auto image = linker->link({std::move(module), std::move(context)}, "kernel");
  return image ? std::string() : llvm::toString(image.takeError());
}

constexpr char kReadsTable[] = R"(
  @table = private constant [2 x i32] [i32 3, i32 5]
  define i32 @kernel(i64 %i) {
    %place = getelementptr i32, ptr @table, i64 %i
    %value = load i32, ptr %place
    ret i32 %value
  })";

TEST_CASE("code that reads its constants relative to itself is linked") { CHECK(link_error(kReadsTable) == ""); }

TEST_CASE("undefined symbols are refused, and named") {
  const std::string error = link_error(R"(
    declare float @expf(float)
    define float @kernel(float %x) {
      %y = call float @expf(float %x)
      ret float %y
    })");
  CHECK(error == "emitted code has undefined symbols: expf");
}

TEST_CASE("a call that instruction selection makes is refused, too") {
  const std::string error = link_error(R"(
    define double @kernel(double %x, double %y) {
      %z = frem double %x, %y
      ret double %z
    })");
  CHECK(error == "emitted code has undefined symbols: fmod");
}

TEST_CASE("an absolute address in code is refused") {
  CHECK(link_error(kReadsTable, llvm::Reloc::Static) ==
        "emitted code depends on its address: section .text, relocation Pointer32Signed");
}

TEST_CASE("an absolute address among constants is refused") {
  const char* const ir = R"(
    @table = constant [1 x ptr] [ptr @kernel]
    define void @kernel() {
      ret void
    })";
  CHECK(link_error(ir, llvm::Reloc::Static) ==
        "emitted code depends on its address: section .rodata, relocation Pointer64");
  CHECK(link_error(ir) == "emitted code has writable data: section .data.rel.ro");
}

TEST_CASE("writable memory is refused") {
  const std::string error = link_error(R"(
    @count = internal global i32 7
    define i32 @kernel() {
      %value = load i32, ptr @count
      ret i32 %value
    })");
  CHECK(error == "emitted code has writable data: section .data");
}

}  // namespace
}  // namespace millrace
