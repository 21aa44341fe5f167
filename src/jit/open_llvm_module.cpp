// SPDX-License-Identifier: Apache-2.0
#include "jit/open_llvm_module.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "jit/build_id.h"

namespace millrace {
namespace {

constexpr char kModuleFile[] = "libmillrace_llvm.so";

/// The directory of the shared library or executable that holds this function, with a final '/'; empty if unknown.
std::string own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_directory), &info) == 0 || info.dli_fname == nullptr) return {};
  // Of the executable itself, the name is as it was called, perhaps found through PATH.
  char* resolved = realpath(info.dli_fname, nullptr);
  if (resolved == nullptr) resolved = realpath("/proc/self/exe", nullptr);
  if (resolved == nullptr) return {};
  std::string path = resolved;
  std::free(resolved);
  return path.substr(0, path.rfind('/') + 1);
}

std::vector<std::string> module_candidates() {
  if (const char* chosen = std::getenv("MILLRACE_LLVM_MODULE"); chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<std::string> candidates;
  auto add = [&](std::string directory) {
    if (directory.empty()) return;
    if (directory.back() != '/') directory += '/';
    directory += kModuleFile;
    for (const std::string& known : candidates) {
      if (known == directory) return;
    }
    candidates.push_back(std::move(directory));
  };
  const std::string own = own_directory();
  add(own);
  if (!own.empty()) add(own + "../" MILLRACE_RELATIVE_LIBDIR);  // of an executable in an install's bin
  add(MILLRACE_INSTALL_LIBDIR);
  add(MILLRACE_BUILD_DIR);
  return candidates;
}

/// The module's functions.
struct LlvmModule {
  LlvmEmitFunction emit = nullptr;
  LlvmDisassembleFunction disassemble = nullptr;
  LlvmLinkFunction link = nullptr;
  LlvmReadCodeObjectFunction read_code_object = nullptr;
};

Result<LlvmModule> open_module(const std::string& path) {
  // Never closed once it is used: code of LLVM's runs at exit.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* why = dlerror();
    return unavailable("llvm: cannot open " + path + ": " + (why != nullptr ? why : "no reason given"));
  }
  const auto module_build_id = reinterpret_cast<LlvmBuildIdFunction>(dlsym(module, kLlvmBuildIdSymbol));
  const LlvmModule functions{
      reinterpret_cast<LlvmEmitFunction>(dlsym(module, kLlvmEmitSymbol)),
      reinterpret_cast<LlvmDisassembleFunction>(dlsym(module, kLlvmDisassembleSymbol)),
      reinterpret_cast<LlvmLinkFunction>(dlsym(module, kLlvmLinkSymbol)),
      reinterpret_cast<LlvmReadCodeObjectFunction>(dlsym(module, kLlvmReadCodeObjectSymbol)),
  };
  if (module_build_id == nullptr || functions.emit == nullptr) {
    return unavailable("llvm: " + path + " is no module of Millrace: it lacks " + kLlvmBuildIdSymbol + " or " +
                       kLlvmEmitSymbol);
  }
  if (build_id() != module_build_id()) {
    return unavailable("llvm: " + path + " is of another build: found build id " + module_build_id() + ", expected " +
                       std::string(build_id()) + "; install the module that was built with this library");
  }
  MILLRACE_CHECK(functions.disassemble != nullptr && functions.link != nullptr &&
                 functions.read_code_object != nullptr);
  return functions;
}

/// The first that is of this build: one of an older build may stand before it, where another version was installed.
Result<LlvmModule> open_first_module() {
  MILLRACE_TRY(find_llvm_module().status());
  Status why;
  for (const std::string& candidate : module_candidates()) {
    if (access(candidate.c_str(), R_OK) != 0) continue;
    Result<LlvmModule> module = open_module(candidate);
    if (module.ok()) return module;
    if (why.ok()) why = module.status();
  }
  return why;
}

/// Opened by the first call. A failure is not kept: the next call may find the module that was missing.
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

Result<std::string> find_llvm_module() {
  std::string places;
  for (std::string& candidate : module_candidates()) {
    if (access(candidate.c_str(), R_OK) == 0) return std::move(candidate);
    places += (places.empty() ? "" : ", ") + candidate;
  }
  return unavailable("llvm: " + std::string(kModuleFile) + " not found; looked in " + places +
                     "; install it there, or name it in MILLRACE_LLVM_MODULE");
}

Result<LlvmEmitOutput> emit_with_llvm(const PlannedKernel& kernel, const TargetSpec& spec,
                                      const LlvmEmitOptions& options) {
  MILLRACE_TRY_ASSIGN(const LlvmModule module, llvm_module());
  LlvmEmitOutput output;
  Status status;
  module.emit(kernel, spec, options, output, status);
  if (!status.ok()) return status;
  return output;
}

Result<std::string> disassemble_with_llvm(std::span<const std::byte> code, const TargetSpec& spec) {
  MILLRACE_TRY_ASSIGN(const LlvmModule module, llvm_module());
  std::string text;
  module.disassemble(code, spec, text);
  return text;
}

Result<std::vector<std::byte>> link_with_llvm(std::span<const std::span<const std::byte>> objects) {
  MILLRACE_TRY_ASSIGN(const LlvmModule module, llvm_module());
  Result<std::vector<std::byte>> linked = std::vector<std::byte>();
  module.link(objects, linked);
  return linked;
}

Result<CodeObjectInfo> read_code_object(std::span<const std::byte> bytes) {
  MILLRACE_TRY_ASSIGN(const LlvmModule module, llvm_module());
  Result<CodeObjectInfo> info = CodeObjectInfo();
  module.read_code_object(bytes, info);
  return info;
}

}  // namespace millrace
