// SPDX-License-Identifier: Apache-2.0
// Which of a system's HIP runtimes is opened when none is named. Each case runs in its own process, whose loader
// searches a directory that the parent has filled.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/hip_standin/standin.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/child_case.h"

namespace millrace {
namespace {

constexpr const char* kVersions[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

/// A directory with a library under each name; null: a file that is not a library.
class System {
 public:
  explicit System(const char* const (&libraries)[3]) {
    for (int i = 0; i < 3; ++i) {
      const std::filesystem::path name = std::filesystem::path(directory_.path()) / kVersions[i];
      if (libraries[i] == nullptr) {
        std::ofstream(name).flush();
      } else {
        std::filesystem::create_symlink(libraries[i], name);
      }
    }
  }
  bool passes(const std::string& child) const {
    return test::run_child("LD_LIBRARY_PATH='" + directory_.path() + "'", child) == 0;
  }

 private:
  TemporaryDirectory directory_;
};

Status open_any() { return create_hip_device({}).status(); }

}  // namespace

TEST_CASE("child: any HIP opens" * doctest::skip()) { CHECK(open_any().message() == ""); }

TEST_CASE("child: the first HIP lacks an entry" * doctest::skip()) {
  CHECK(open_any().message() ==
        "hip: libamdhip64.so.7 has no hipModuleLaunchKernel, hipGetDeviceProperties; install a newer HIP runtime, 5.2 "
        "or later");
}

TEST_CASE("child: HIP 6 is in the process" * doctest::skip()) {
  REQUIRE(dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL) != nullptr);
  CHECK(open_any().message() == "");
}

TEST_CASE("child: no HIP opens" * doctest::skip()) {
  const std::string directory = std::getenv("LD_LIBRARY_PATH");
  std::string reasons;
  for (const char* version : kVersions) {
    reasons += (reasons.empty() ? "" : "; ") + directory + "/" + version + ": file too short";
  }
  const Status status = open_any();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() ==
        "hip: none of libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so.5 can be opened (" + reasons +
            "); install AMD's HIP runtime (package libamdhip64-5 of Debian and Ubuntu, hip-runtime-amd of ROCm), or "
            "give its path as in hip:library=PATH");
}

TEST_CASE("hip: the newest runtime that can be opened is taken") {
  using hip_standin::kLackingLibrary, hip_standin::kLibrary, hip_standin::kRequiredLibrary;
  CHECK(System({kLibrary, kLackingLibrary, kLackingLibrary}).passes("child: any HIP opens"));
  CHECK(System({nullptr, kLibrary, kLackingLibrary}).passes("child: any HIP opens"));
  CHECK(System({nullptr, nullptr, kRequiredLibrary}).passes("child: any HIP opens"));
  CHECK(System({kLackingLibrary, kLibrary, kLibrary}).passes("child: the first HIP lacks an entry"));
}

TEST_CASE("hip: the runtime that the application has opened is taken, though there is a newer one") {
  CHECK(
      System({hip_standin::kLackingLibrary, hip_standin::kLibrary, nullptr}).passes("child: HIP 6 is in the process"));
}

TEST_CASE("hip: if no runtime can be opened, the reason for each is reported") {
  CHECK(System({nullptr, nullptr, nullptr}).passes("child: no HIP opens"));
}

}  // namespace millrace
