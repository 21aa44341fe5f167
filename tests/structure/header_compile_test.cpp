// SPDX-License-Identifier: Apache-2.0
// An application compiles our headers with nothing but a C++20 compiler: no LLVM, no xbyak, no HIP.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/structure/compiler.h"
#include "tests/structure/source_tree.h"

namespace fs = std::filesystem;
using namespace millrace::structure;

namespace {

/// Path pieces that a dependency of a public header never has. (Clang's own headers stand under /usr/lib/llvm-19.)
constexpr std::string_view kForeign[] = {"/llvm/", "/llvm-c/",  "/lld/", "/xbyak", "/hip/",   "/hsa/",
                                         "/Eigen", "/nlohmann", "/fmt/", "/xxh",   "/doctest"};

std::string judge(const std::string& header, const CompilerRun& run) {
  if (!run.succeeded) return fmt::format("{} does not compile on its own:\n{}", header, run.output);
  for (const std::string_view foreign : kForeign) {
    if (run.output.find(foreign) != std::string::npos) return fmt::format("{} reaches {}", header, foreign);
  }
  return {};
}

/// The public headers that an application cannot compile with a bare compiler, and why.
Violations check_headers_compile_alone(const fs::path& include_dir) {
  std::vector<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(include_dir)) {
    const std::string header = fs::relative(entry.path(), include_dir).generic_string();
    if (entry.path().extension() == ".h" && !header.starts_with("millrace/interop")) headers.push_back(header);
  }
  std::ranges::sort(headers);
  Violations verdicts(headers.size());
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back([&] {
        for (size_t at; (at = next++) < headers.size();) {
          verdicts[at] = judge(headers[at], compile_alone(include_dir, fmt::format("#include \"{}\"\n", headers[at])));
        }
      });
    }
  }
  std::erase(verdicts, std::string());
  return verdicts;
}

/// A folder of headers that lives as long as the test.
class TemporaryHeaders {
 public:
  TemporaryHeaders() {
    std::string pattern = (fs::temp_directory_path() / "millrace_headers_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
  }
  ~TemporaryHeaders() { fs::remove_all(root_); }
  void add(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("every public header compiles on its own, without LLVM, xbyak or HIP") {
  CHECK(join_lines(check_headers_compile_alone(fs::path(MILLRACE_SOURCE_DIR) / "include")) == "");
}

TEST_CASE("a header that lacks an include is found") {
  TemporaryHeaders headers;
  headers.add("millrace/base/good.h", "#pragma once\n#include <string>\nstd::string name();\n");
  headers.add("millrace/base/short.h", "#pragma once\nstd::string name();\n");
  const auto violations = check_headers_compile_alone(headers.root());
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].starts_with("millrace/base/short.h does not compile on its own:\n"));
}

TEST_CASE("a checkout may stand in a folder of any name") {
  TemporaryHeaders headers;
  headers.add("llvm-things/millrace/base/good.h", "#pragma once\nint good();\n");
  CHECK(check_headers_compile_alone(headers.root() / "llvm-things").empty());
}

TEST_CASE("a header that includes a foreign one through another is found") {
  TemporaryHeaders headers;
  headers.add("xbyak/xbyak.inc", "int assemble();\n");
  headers.add("millrace/jit/detail.h", "#pragma once\n#include \"xbyak/xbyak.inc\"\n");
  headers.add("millrace/jit/outer.h", "#pragma once\n#include \"millrace/jit/detail.h\"\n");
  CHECK(join_lines(check_headers_compile_alone(headers.root())) ==
        "millrace/jit/detail.h reaches /xbyak\nmillrace/jit/outer.h reaches /xbyak\n");
}
