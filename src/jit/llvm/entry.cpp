// SPDX-License-Identifier: Apache-2.0
// The entry functions of the LLVM module. This file and worker.cpp are built with exceptions and include no LLVM
// header; the files that they call are built without exceptions. See cmake/llvm_module.cmake.
#include "jit/cache/build_id.h"
#include "jit/llvm/amdgpu/lld.h"
#include "jit/llvm/amdgpu/machine_code.h"
#include "jit/llvm/amdgpu/read_code_object.h"
#include "jit/llvm/disassemble.h"
#include "jit/llvm/jit.h"
#include "jit/llvm/worker.h"

extern "C" const char* millrace_llvm_build_id() { return millrace::build_id().data(); }

namespace millrace {
namespace {

// Each entry function has its own LlvmWork, with copies of the arguments.

struct EmitWork final : LlvmWork {
  EmitWork(PlannedKernel given_kernel, TargetSpec given_spec, const LlvmEmitOptions& given_options)
      : kernel(std::move(given_kernel)), spec(std::move(given_spec)), options(given_options) {}
  std::string name() const override { return "kernel '" + kernel.name + "'"; }
  void run() override { status = emit_with_jit(kernel, spec, options, output); }
  PlannedKernel kernel;
  TargetSpec spec;
  LlvmEmitOptions options;
  LlvmEmitOutput output;
  Status status;
};

struct DisassembleWork final : LlvmWork {
  DisassembleWork(std::span<const std::byte> given_code, TargetSpec given_spec)
      : code(given_code.begin(), given_code.end()), spec(std::move(given_spec)) {}
  std::string name() const override { return "disassemble"; }
  void run() override {
    initialize_llvm_targets();
    text = disassemble(code, spec);
  }
  std::vector<std::byte> code;
  TargetSpec spec;
  std::string text;
};

struct LinkWork final : LlvmWork {
  explicit LinkWork(std::span<const std::span<const std::byte>> given) {
    for (const auto& object : given) objects.emplace_back(object.begin(), object.end());
  }
  std::string name() const override { return "link"; }
  void run() override {
    linked = link_gpu_objects(std::vector<std::span<const std::byte>>(objects.begin(), objects.end()));
  }
  std::vector<std::vector<std::byte>> objects;
  Result<std::vector<std::byte>> linked = std::vector<std::byte>();
};

struct ReadCodeObjectWork final : LlvmWork {
  explicit ReadCodeObjectWork(std::span<const std::byte> given) : bytes(given.begin(), given.end()) {}
  std::string name() const override { return "code object"; }
  void run() override {
    initialize_llvm_targets();
    info = read_llvm_code_object(bytes);
  }
  std::vector<std::byte> bytes;
  Result<CodeObjectInfo> info = CodeObjectInfo();
};

struct DecodeCodeObjectWork final : LlvmWork {
  explicit DecodeCodeObjectWork(std::span<const std::byte> given) : bytes(given.begin(), given.end()) {}
  std::string name() const override { return "code object"; }
  void run() override {
    initialize_llvm_targets();
    code = decode_llvm_code_object(bytes);
  }
  std::vector<std::byte> bytes;
  Result<MachineCode> code = MachineCode();
};

}  // namespace
}  // namespace millrace

extern "C" void millrace_llvm_emit(const millrace::PlannedKernel& kernel, const millrace::TargetSpec& spec,
                                   const millrace::LlvmEmitOptions& options,
                                   millrace::Result<millrace::LlvmEmitOutput>& result) {
  const auto work = std::make_shared<millrace::EmitWork>(kernel, spec, options);
  millrace::Status status = millrace::run_on_llvm_thread(work);
  if (status.ok()) status = work->status;
  if (status.ok()) {
    result = std::move(work->output);
  } else {
    result = std::move(status);
  }
}

extern "C" void millrace_llvm_disassemble(std::span<const std::byte> code, const millrace::TargetSpec& spec,
                                          millrace::Result<std::string>& text) {
  const auto work = std::make_shared<millrace::DisassembleWork>(code, spec);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  text = status.ok() ? millrace::Result(std::move(work->text)) : status;
}

extern "C" void millrace_llvm_link(std::span<const std::span<const std::byte>> objects,
                                   millrace::Result<std::vector<std::byte>>& linked) {
  const auto work = std::make_shared<millrace::LinkWork>(objects);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  linked = status.ok() ? std::move(work->linked) : status;
}

extern "C" void millrace_llvm_read_code_object(std::span<const std::byte> bytes,
                                               millrace::Result<millrace::CodeObjectInfo>& info) {
  const auto work = std::make_shared<millrace::ReadCodeObjectWork>(bytes);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  info = status.ok() ? std::move(work->info) : status;
}

extern "C" void millrace_llvm_decode_code_object(std::span<const std::byte> bytes,
                                                 millrace::Result<millrace::MachineCode>& code) {
  const auto work = std::make_shared<millrace::DecodeCodeObjectWork>(bytes);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  code = status.ok() ? std::move(work->code) : status;
}
