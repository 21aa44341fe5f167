// SPDX-License-Identifier: Apache-2.0
// Opens the LLVM module on the first use and calls the functions that it exports.
#include "jit/llvm_client/open_module.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/guard_allocations.h"
#include "base/has_room.h"
#include "jit/cache/build_id.h"
#include "jit/llvm_client/module_file.h"
#include "jit/llvm_client/module_paths.h"
#include "millrace/base/printable.h"
#include "millrace/jit/llvm_module.h"

namespace millrace {
namespace {

/// The module that the environment names, if any. Whoever sets the variable controls what this process loads, so
/// check_path accepts any path. A program that runs with other rights than its caller, such as a setuid program,
/// ignores the variable.
std::string chosen_module() {
  const char* chosen = secure_getenv("MILLRACE_LLVM_MODULE");
  return chosen != nullptr ? chosen : "";
}

bool is_path(std::string_view module) { return module.find('/') != module.npos; }

/// The paths at which the module exists. A chosen name without a slash is returned unchecked, because dlopen looks it
/// up.
Result<std::vector<std::string>> module_candidates() {
  const std::string chosen = chosen_module();
  if (!chosen.empty() && !is_path(chosen)) return std::vector{chosen};
  std::vector<std::string> candidates;
  std::string paths;
  for (std::string& path : chosen.empty() ? module_paths(own_file(), millrace_package_module()) : std::vector{chosen}) {
    paths += (paths.empty() ? "" : ", ") + printable(path);
    if (access(path.c_str(), R_OK) == 0) candidates.push_back(std::move(path));
  }
  if (!candidates.empty()) return candidates;
  return unavailable("llvm: " + std::string(kLlvmModuleFile) + " not found; looked in " + paths +
                     "; put it there (millrace_deploy_module of the CMake package does), or name it in "
                     "MILLRACE_LLVM_MODULE");
}

Status check_path(const std::string& module) {
  if (!chosen_module().empty()) return {};
  struct stat library{};
  if (stat(own_file().c_str(), &library) != 0) library.st_uid = geteuid();
  return check_module_writers(module, library.st_uid);
}

/// The functions that the module exports.
struct LlvmModule {
  LlvmEmitFunction emit = nullptr;
  LlvmDisassembleFunction disassemble = nullptr;
  LlvmLinkFunction link = nullptr;
  LlvmReadCodeObjectFunction read_code_object = nullptr;
  LlvmDecodeCodeObjectFunction decode_code_object = nullptr;
};

/// The file that dlopen opens for a candidate; empty if it is not on the search path.
std::string file_of(const std::string& candidate) {
  return is_path(candidate) ? candidate : find_in_library_path(candidate);
}

/// libLLVM and its dependencies take 190 MiB of address space. If memory runs out in their initializers, LLVM ends the
/// process, because no handler can be installed before they run.
constexpr Room kRoomToOpen{.mapped_bytes = std::size_t{184} << 20, .written_bytes = std::size_t{8} << 20};

/// Whether dlopen() failed for lack of memory: another thread may have allocated memory since the check. Only the text
/// of dlerror() shows the cause.
bool is_lack_of_memory(std::string_view reason) {
  return reason.find("failed to map segment") != reason.npos || reason.find("llocate memory") != reason.npos;
}

Result<LlvmModule> open_module(const std::string& path) {
  if (const std::string file = file_of(path); !file.empty()) MILLRACE_TRY(check_module_segments(file));
  const std::string shown = printable(path);
  if (!has_room(kRoomToOpen)) {
    return resource_exhausted("llvm: cannot open " + shown + ": less than " +
                              std::to_string((kRoomToOpen.mapped_bytes + kRoomToOpen.written_bytes) >> 20) +
                              " MiB of memory are left; free memory, or allow this process more");
  }
  // Never closed, because LLVM runs code at exit.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* why = dlerror();
    const std::string reason = why != nullptr ? why : "no reason given";
    return Status(is_lack_of_memory(reason) ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
                  "llvm: cannot open " + shown + ": " + printable(reason, 1024));
  }
  const auto module_build_id = reinterpret_cast<LlvmBuildIdFunction>(dlsym(module, kLlvmBuildIdSymbol));
  const LlvmModule functions{
      reinterpret_cast<LlvmEmitFunction>(dlsym(module, kLlvmEmitSymbol)),
      reinterpret_cast<LlvmDisassembleFunction>(dlsym(module, kLlvmDisassembleSymbol)),
      reinterpret_cast<LlvmLinkFunction>(dlsym(module, kLlvmLinkSymbol)),
      reinterpret_cast<LlvmReadCodeObjectFunction>(dlsym(module, kLlvmReadCodeObjectSymbol)),
      reinterpret_cast<LlvmDecodeCodeObjectFunction>(dlsym(module, kLlvmDecodeCodeObjectSymbol)),
  };
  if (module_build_id == nullptr || functions.emit == nullptr) {
    return unavailable("llvm: " + shown + " is not a Millrace module: it lacks " + kLlvmBuildIdSymbol + " or " +
                       kLlvmEmitSymbol);
  }
  if (build_id() != module_build_id()) {
    return unavailable("llvm: " + shown + " is of another build: found build id " + module_build_id() + ", expected " +
                       std::string(build_id()) + "; install the module that was built with this library");
  }
  MILLRACE_CHECK(functions.disassemble != nullptr && functions.link != nullptr &&
                 functions.read_code_object != nullptr && functions.decode_code_object != nullptr);
  return functions;
}

/// Opens the first candidate that is a module of this build. If two versions are installed, a module of another build
/// may come first.
Result<LlvmModule> open_first_module() {
  MILLRACE_TRY_ASSIGN(const std::vector<std::string> candidates, module_candidates());
  Status why;
  for (const std::string& candidate : candidates) {
    Status status = check_path(candidate);
    if (status.ok()) {
      Result<LlvmModule> module = open_module(candidate);
      if (module.ok()) return module;
      status = module.status();
    }
    if (why.ok()) why = std::move(status);
  }
  return why;
}

/// The first call opens the module. A failure is not remembered: the next call may find the missing module.
Result<LlvmModule> llvm_module() {
  static std::mutex mutex;
  static LlvmModule module;
  const std::lock_guard lock(mutex);
  if (module.emit == nullptr) {
    MILLRACE_TRY_ASSIGN(module, open_first_module());
  }
  return module;
}

}  // namespace

std::string_view llvm_version() { return MILLRACE_LLVM_VERSION; }

Status check_llvm_module() {
  return guard_allocations([] { return llvm_module().status(); });
}

Result<std::string> find_llvm_module() {
  return guard_allocations([]() -> Result<std::string> {
    MILLRACE_TRY_ASSIGN(std::vector<std::string> candidates, module_candidates());
    if (!is_path(candidates.front())) MILLRACE_TRY(check_llvm_module());  // only dlopen knows whether the file exists
    return std::move(candidates.front());
  });
}

/// Calls the module. `call` stores its result in its last argument.
template <class T, class Call>
static Result<T> call_module(Call&& call) {
  MILLRACE_TRY_ASSIGN(const LlvmModule module, llvm_module());
  Result<T> result = T();
  call(module, result);
  return result;
}

Result<LlvmEmitOutput> emit_with_llvm(const PlannedKernel& kernel, const TargetSpec& spec,
                                      const LlvmEmitOptions& options) {
  return guard_allocations([&] { return "llvm: kernel '" + kernel.name + "'"; },
                           [&] {
                             return call_module<LlvmEmitOutput>([&](const LlvmModule& module, auto& output) {
                               module.emit(kernel, spec, options, output);
                             });
                           });
}

Result<std::string> disassemble_with_llvm(std::span<const std::byte> code, const TargetSpec& spec) {
  return guard_allocations([&] {
    return call_module<std::string>(
        [&](const LlvmModule& module, auto& text) { module.disassemble(code, spec, text); });
  });
}

Result<std::vector<std::byte>> link_with_llvm(std::span<const std::span<const std::byte>> objects) {
  return call_module<std::vector<std::byte>>(
      [&](const LlvmModule& module, auto& linked) { module.link(objects, linked); });
}

Result<CodeObjectInfo> read_code_object(std::span<const std::byte> bytes) {
  return guard_allocations([&] {
    return call_module<CodeObjectInfo>(
        [&](const LlvmModule& module, auto& info) { module.read_code_object(bytes, info); });
  });
}

Result<MachineCode> decode_code_object(std::span<const std::byte> bytes) {
  return guard_allocations([&] {
    return call_module<MachineCode>(
        [&](const LlvmModule& module, auto& code) { module.decode_code_object(bytes, code); });
  });
}

}  // namespace millrace
