// SPDX-License-Identifier: Apache-2.0
// Finds and opens the HIP library at run time, so that building and starting need no ROCm.
#include "hal/hip/runtime.h"

#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::hip {
namespace {

/// The newest version first.
constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

enum Need { Optional, Required };

template <class Function>
void find(void* library, Need need, const char* name, Function*& function, std::vector<std::string_view>& missing) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr && need == Required) missing.push_back(name);
}

std::vector<std::string_view> find_all(void* library, EntryPoints& entries) {
  std::vector<std::string_view> missing;
#define MILLRACE_HIP(need, result, name, parameters) find(library, need, #name, entries.name, missing);
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
  if (entries.hipGetDevicePropertiesR0600 == nullptr && entries.hipGetDeviceProperties == nullptr) {
    missing.push_back("hipGetDeviceProperties");
  }
  return missing;
}

/// Opens the library; if that fails, returns null and sets the reason.
void* open_library(const char* name, std::string& reason) {
  struct stat info{};
  // dlopen() of a named pipe waits forever for its writer.
  if (std::strchr(name, '/') != nullptr && stat(name, &info) == 0 && !S_ISREG(info.st_mode)) {
    reason = "not a regular file";
    return nullptr;
  }
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) reason = dlerror();
  return library;
}

/// Returns the library that the process has already opened, if any, because another one would not know the
/// application's memory and streams; otherwise the newest library that can be opened. If there is none, returns null
/// and the reasons.
void* open_any_library(std::string& name, std::vector<std::string>& reasons) {
  for (const char* each : kLibraries) {
    name = each;
    if (void* library = dlopen(each, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  }
  for (const char* each : kLibraries) {
    name = each;
    if (void* library = open_library(each, reasons.emplace_back())) return library;
  }
  return nullptr;
}

/// HIP_VERSION: 60342131 is 6.3.42131.
std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

/// The state of a library. It lasts as long as the process, and all of the library's runtimes share it. A hung device
/// stays hung until the process ends, even when it is not open.
struct Library {
  std::weak_ptr<const Runtime> runtime;
  std::shared_ptr<std::atomic<bool>> has_hung_device;
};
struct Libraries {
  std::mutex mutex;
  std::map<void*, Library> by_handle;
};

Libraries& opened_libraries() {
  static Libraries libraries;
  return libraries;
}

Status no_device(const Runtime& runtime, std::string_view entry, std::string_view reason) {
  return unavailable(fmt::format(
      "hip: {} of {} reports {}, expected an AMD GPU; check that the kernel driver amdgpu is loaded, and that "
      "this user may open /dev/kfd and /dev/dri (groups render and video)",
      entry, runtime.library(), reason));
}

}  // namespace

Result<std::shared_ptr<const Runtime>> Runtime::open(std::string_view path) {
  const auto runtime = std::make_shared<Runtime>();
  runtime->library_ = path;
  void* library = nullptr;
  if (!path.empty()) {
    std::string reason;
    library = open_library(runtime->library_.c_str(), reason);
    if (library == nullptr) {
      return unavailable(fmt::format("hip: {} cannot be opened ({}); give the path of a HIP runtime", path, reason));
    }
  } else {
    std::vector<std::string> reasons;
    library = open_any_library(runtime->library_, reasons);
    if (library == nullptr) {
      return unavailable(
          fmt::format("hip: none of {} can be opened ({}); install AMD's HIP runtime (package libamdhip64-5 of Debian "
                      "and Ubuntu, hip-runtime-amd of ROCm), or give its path as in hip:library=PATH",
                      fmt::join(kLibraries, ", "), fmt::join(reasons, "; ")));
    }
  }
  Libraries& libraries = opened_libraries();
  const std::lock_guard lock(libraries.mutex);
  Library& opened = libraries.by_handle[library];
  if (std::shared_ptr<const Runtime> shared = opened.runtime.lock()) return shared;
  if (opened.has_hung_device == nullptr) opened.has_hung_device = std::make_shared<std::atomic<bool>>(false);
  runtime->has_hung_device_ = opened.has_hung_device;
  MILLRACE_TRY(runtime->start(library));
  opened.runtime = runtime;
  return std::shared_ptr<const Runtime>(runtime);
}

void Runtime::forget_hung_devices() {
  Libraries& libraries = opened_libraries();
  const std::lock_guard lock(libraries.mutex);
  for (auto& [handle, library] : libraries.by_handle) {
    if (library.has_hung_device != nullptr) library.has_hung_device->store(false, std::memory_order_release);
  }
}

Status Runtime::start(void* library) {
  if (const std::vector<std::string_view> missing = find_all(library, *this); !missing.empty()) {
    return unavailable(fmt::format("hip: {} has no {}; install a newer HIP runtime, 5.2 or later", library_,
                                   fmt::join(missing, ", ")));
  }
  // Without a GPU, some versions of HIP fail here and others below; neither is a bug in Millrace.
  if (const Error error = hipInit(0); error != Error::kSuccess)
    return no_device(*this, "hipInit", name_of(*this, error));
  if (const Error error = hipGetDeviceCount(&num_devices_); error != Error::kSuccess) {
    return no_device(*this, "hipGetDeviceCount", name_of(*this, error));
  }
  if (num_devices_ < 1) return no_device(*this, "hipGetDeviceCount", "0 devices");
  int version = 0;
  MILLRACE_TRY(to_status(*this, "hip", "hipRuntimeGetVersion", hipRuntimeGetVersion(&version)));
  version_ = version_text(version);
  return {};
}

}  // namespace millrace::hip
