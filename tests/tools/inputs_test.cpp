// SPDX-License-Identifier: Apache-2.0
// The contents of generated and mapped inputs, read back through a graph that returns them.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <sys/stat.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/npy.h"
#include "millrace/jit/scalar.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::Workplace;

/// The elements that `millrace run` makes of an input, as numbers.
std::vector<double> generated(const Workplace& here, DType dtype, const std::string& kind, std::size_t count) {
  here.write("same.mr", fmt::format("graph same(%x: {}[n]) {{\n  return y = %x\n}}\n", to_text(dtype)));
  REQUIRE(here.output_of(fmt::format("run same.mr --input x={},{} --output y=@y.npy", kind, count)) == "");
  const NpyArray array = read_npy(here.path("y.npy")).value();
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(load_scalar(dtype, array.bytes.data() + i * size_bytes(dtype)).to_double());
  }
  return values;
}

TEST_CASE("zeros, ones and arange equal NumPy's, in every dtype") {
  const Workplace here;
  for (const DType dtype : kAllDTypes) {
    CAPTURE(to_text(dtype));
    constexpr std::size_t kCount = 66000;  // beyond 16 bits
    const std::vector<double> zeros = generated(here, dtype, "zeros", 5), ones = generated(here, dtype, "ones", 77),
                              up = generated(here, dtype, "arange", kCount);
    for (const double value : zeros) CHECK(value == 0);
    for (const double value : ones) CHECK(value == 1);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{65519}, kCount - 1}) {
      const auto n = static_cast<std::int64_t>(i);
      CHECK(up[i] == Scalar::from_int(dtype, n).to_double());
    }
  }
  CHECK(generated(here, DType::kU8, "arange", 300)[299] == 43);
  CHECK(generated(here, DType::kI16, "arange", 66000)[40000] == 40000 - 65536);
  CHECK(std::isinf(generated(here, DType::kF16, "arange", 66000).back()));
}

TEST_CASE("random numbers are normal: their moments and their shares below some points") {
  const Workplace here;
  constexpr std::size_t kCount = 200'001;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    CAPTURE(to_text(dtype));
    const std::vector<double> values = generated(here, dtype, "randn", kCount);
    double sum = 0, squares = 0, fourths = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
      fourths += value * value * value * value;
    }
    // So many deviations of the estimates: 5, for the seed is fixed.
    const double root = std::sqrt(static_cast<double>(kCount));
    CHECK(std::fabs(sum / kCount) < 5 / root);
    CHECK(std::fabs(squares / kCount - 1) < 5 * std::sqrt(2.0) / root + 0.005);
    CHECK(std::fabs(fourths / kCount - 3) < 5 * std::sqrt(96.0) / root + 0.02);
    for (const double point : {-3.0, -1.0, -0.1, 0.5, 2.0}) {
      std::size_t below = 0;
      for (const double value : values) below += value < point ? 1 : 0;
      const double share = std::erfc(-point / std::sqrt(2.0)) / 2;
      CHECK(std::fabs(static_cast<double>(below) / kCount - share) < 5 * std::sqrt(share * (1 - share)) / root + 0.003);
    }
  }
  const std::vector<double> f32 = generated(here, DType::kF32, "randn", kCount);
  CHECK(std::set<double>(f32.begin(), f32.end()).size() > kCount * 9 / 10);  // or sorts would meet equals
  std::size_t trues = 0;
  for (const double value : generated(here, DType::kBool, "randn", kCount)) trues += value == 1 ? 1 : 0;
  CHECK(std::fabs(static_cast<double>(trues) / kCount - 0.5) < 0.01);
  for (const double value : generated(here, DType::kI8, "randn", 1000)) CHECK(std::fabs(value) <= 6);
}

TEST_CASE("a file's elements are read in place, whatever its order and alignment") {
  const Workplace here;
  here.write("same.mr", "graph same(%x: f32[2, 3]) {\n  %s = add(%x, %x)\n  return y = %s\n}\n");
  const auto npy = [&](const std::string& name, const std::string& order, std::size_t padding) {
    std::string header = "{'descr': '<f4', 'fortran_order': " + order + ", 'shape': (2, 3), }";
    header += std::string(padding, ' ') + "\n";
    std::string file = "\x93NUMPY\x01";
    file += '\0';
    file += static_cast<char>(header.size());
    file += '\0';
    file += header;
    const float elements[] = {0, 1, 2, 3, 4, 5};
    file.append(reinterpret_cast<const char*>(elements), sizeof(elements));
    here.write(name, file);
  };
  const std::string doubled = "y: f32[2x3]\n  [[0, 2, 4],\n   [6, 8, 10]]\n";
  for (std::size_t padding = 0; padding < 4; ++padding) {  // one of them is aligned
    npy("c.npy", "False", padding);
    CHECK(here.output_of("run same.mr --input x=@c.npy") == doubled);
  }
  npy("f.npy", "True", 0);
  CHECK(here.output_of("run same.mr --input x=@f.npy") == "y: f32[2x3]\n  [[0, 4, 8],\n   [2, 6, 10]]\n");
  CHECK(here.output_of("run same.mr --input x=@/dev/stdin < c.npy") == doubled);
  CHECK(here.output_of("run same.mr --input x=@/dev/fd/3 3<c.npy") == doubled);
}

TEST_CASE("an endless file is refused as a graph or an input, and a pipe without a writer does not hang") {
  const Workplace here;
  const std::string refused = ": found a character device, expected a file or a pipe; check the path\n";
  CHECK(here.error_of("run /dev/zero") == "millrace: graph '/dev/zero'" + refused);
  CHECK(here.error_of("run top.mr --input x=@/dev/zero") == "millrace: npy '/dev/zero'" + refused);
  here.write("file.mr", "graph g() { %c = constant(file(\"/dev/zero\")) return c = %c }");
  CHECK(test::contains(here.error_of("check file.mr"), "npy '/dev/zero'" + refused.substr(0, refused.size() - 1)));
  CHECK(here.error_of("run - < /dev/zero") ==
        "millrace: standard input: found more than 268435456 bytes, expected at most that many when the size is "
        "unknown; write them to a file first\n");
  REQUIRE(mkfifo(here.path("pipe").c_str(), 0600) == 0);
  const std::string unwritten = ": nobody wrote to this pipe within 2 s; start the writer first\n";
  CHECK(here.error_of("check pipe") == "millrace: graph 'pipe'" + unwritten);
  CHECK(here.error_of("run top.mr --input x=@pipe") == "millrace: npy 'pipe'" + unwritten);
  CHECK(here.run_command("cat top.mr > pipe & '" MILLRACE_TOOL "' check pipe").out ==
        "pipe: graph 'top' is valid: inputs 1, outputs 2, nodes 3\n");
  CHECK(here.error_of("check top.mr --device hip:library=./pipe") ==
        "millrace: device 'hip:library=./pipe': hip: ./pipe cannot be opened (not a regular file); give the path of a "
        "HIP runtime\n");
}

}  // namespace
}  // namespace millrace
