// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <doctest/doctest.h>

#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

using test::golden_problem;

/// Sets MILLRACE_UPDATE_GOLDEN, or unsets it for nullptr, and restores it at the end.
class UpdateGolden {
 public:
  explicit UpdateGolden(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    set(value);
  }
  UpdateGolden(const UpdateGolden&) = delete;
  UpdateGolden& operator=(const UpdateGolden&) = delete;
  ~UpdateGolden() { set(old_ ? old_->c_str() : nullptr); }

 private:
  static constexpr const char* kName = "MILLRACE_UPDATE_GOLDEN";
  static void set(const char* value) { value == nullptr ? unsetenv(kName) : setenv(kName, value, 1); }

  std::optional<std::string> old_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a mismatch with a golden file shows the file and the first line that differs") {
  const UpdateGolden off(nullptr);
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/sums.txt";
  std::ofstream(path) << "a = 1\nb = 2\nc = 3\n";
  CHECK(golden_problem(path, "a = 1\nb = 2\nc = 3\n") == "");
  const std::string accept = ": the text differs; run with MILLRACE_UPDATE_GOLDEN=1 to accept\n";
  CHECK(golden_problem(path, "a = 1\nb = 4\nc = 5\n") ==
        path + ":2" + accept + "  found    'b = 4'\n  expected 'b = 2'");
  CHECK(golden_problem(path, "a = 1\n") == path + ":2" + accept + "  found    the end\n  expected 'b = 2'");
  CHECK(golden_problem(path, "a = 1\nb = 2\nc = 3\nd\n") ==
        path + ":4" + accept + "  found    'd'\n  expected the end");
  CHECK(golden_problem(path, "a = 1\nb = 2\nc = 3") ==
        path + ":3" + accept + "  found    'c = 3' without a newline\n  expected 'c = 3'");
  CHECK(golden_problem(path, "") == path + ":1" + accept + "  found    the end\n  expected 'a = 1'");
}

TEST_CASE("a golden file that is missing next to the test is a failure") {
  const UpdateGolden off("0");
  const std::string problem = golden_problem("none.txt", "");
  const std::string end =
      "/tests/base/golden/none.txt: there is no such file; run with MILLRACE_UPDATE_GOLDEN=1 to accept";
  CAPTURE(problem);
  CHECK(problem.starts_with("/"));
  CHECK(problem.ends_with(end));
}

TEST_CASE("an update writes golden files, and makes their folder") {
  const UpdateGolden on("1");
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/golden/sums.txt";
  CHECK(golden_problem(path, "a = 1\nb = 2\n") == "");
  CHECK(content(path) == "a = 1\nb = 2\n");
  CHECK(golden_problem(path, "a = 3\n") == "");
  CHECK(content(path) == "a = 3\n");
  const UpdateGolden off(nullptr);
  CHECK(golden_problem(path, "a = 3\n") == "");
}

TEST_CASE("an update that cannot write its golden file is a failure") {
  const UpdateGolden on("1");
  const TemporaryDirectory directory;
  CHECK(golden_problem(directory.path(), "a = 1\n") == directory.path() + ": cannot be written");
}

}  // namespace
}  // namespace millrace
