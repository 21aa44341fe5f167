// SPDX-License-Identifier: Apache-2.0
// The cases of sorts by lanes whose sizes a run binds: which routine and which lanes each has, and for which sizes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "jit/algorithms/request_cases.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {
namespace {

/// Along axis 0 of two dims, values and indices.
SortDescriptor sort_of(DType dtype, const Shape& shape, const SizeExpr& k) {
  const auto tensor = [](DType of, const Shape& extents) {
    return KernelTensor{"t", {of, extents}, Layout::row_major(extents)};
  };
  const Shape results = {k, shape[1]};
  SortDescriptor sort;
  sort.name = "sort";
  sort.input = tensor(dtype, shape);
  sort.k = k;
  sort.values = tensor(dtype, results);
  sort.indices = tensor(DType::kI64, results);
  return sort;
}

/// One line per case: "name: select, lanes of 32, n 4 100" for those of the lengths that it takes.
std::string cases_text(const SortDescriptor& sort, std::initializer_list<std::int64_t> lengths) {
  std::string text;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name != "lane_sort") continue;
    for (const RequestCase& one : cases_of(algorithm, sort, {.family = "cpu"})) {
      const auto& request = std::get<SortDescriptor>(one.request);
      text += fmt::format("{}: {}, lanes of {}, n", request.name, selects_first(request) ? "select" : "sort",
                          lane_keys_of(request).lane_bits());
      for (const std::int64_t n : lengths) {
        if (one.margin.evaluate({{"n", n}}).value() > 0) text += fmt::format(" {}", n);
      }
      text += "\n";
    }
  }
  return text;
}

TEST_CASE("a selection takes rows of any length along another axis while one fits, and a heap takes longer ones") {
  const SizeExpr n = Dim("n").at_most(1 << 30);
  CHECK(cases_text(sort_of(DType::kF32, {n, 1000}, 8), {100, 65'519, 65'520}) ==
        "sort_first: select, lanes of 64, n 100 65519\n");
  CHECK(cases_text(sort_of(DType::kF32, {n, 1000}, 65), {100, 65'519, 65'520}) ==
        "sort_first: select, lanes of 64, n 100 65519\n"
        "sort: sort, lanes of 64, n 100 65519 65520\n");
  CHECK(cases_text(sort_of(DType::kF32, {n, 1}, 8), {100, 65'520}) == "sort: select, lanes of 64, n 100 65520\n");
}

TEST_CASE("rows of any length of narrow elements have short indices while these fit") {
  const SizeExpr n = Dim("n").at_most(1 << 30);
  for (const DType dtype : {DType::kF16, DType::kU16, DType::kI8, DType::kBool}) {
    CHECK(cases_text(sort_of(dtype, {n, 1}, n), {100, 65'536, 65'537}) ==
          "sort_short: sort, lanes of 32, n 100 65536\n"
          "sort: sort, lanes of 64, n 100 65536 65537\n");
    CHECK(cases_text(sort_of(dtype, {65'536, 1}, 65'536), {65'536}) == "sort: sort, lanes of 32, n 65536\n");
    CHECK(cases_text(sort_of(dtype, {65'537, 1}, 65'537), {65'537}) == "sort: sort, lanes of 64, n 65537\n");
    // A selection sorts the few elements that it finds in lanes of 64 bits, whatever the length is.
    CHECK(cases_text(sort_of(dtype, {n, 1}, 8), {100, 65'537}) == "sort: select, lanes of 64, n 100 65537\n");
  }
  CHECK(cases_text(sort_of(DType::kF32, {n, 1}, n), {100, 65'537}) == "sort: sort, lanes of 64, n 100 65537\n");
}

}  // namespace
}  // namespace millrace
