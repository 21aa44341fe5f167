// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/llvm/edge_values.h"
#include "tests/support/kernels/machine_kernels.h"

namespace millrace {
namespace {

/// Every edge value against every other, and random ones.
std::vector<std::vector<Scalar>> operand_rows(const std::vector<DType>& dtypes, std::mt19937_64& random) {
  std::vector<std::vector<Scalar>> rows;
  const std::vector<Scalar> last = edge_values(dtypes.back());
  const auto pick = [&](DType dtype) {
    const std::vector<Scalar> values = edge_values(dtype);
    return random() % 2 == 0 ? values[random() % values.size()] : random_value(dtype, random);
  };
  for (const Scalar& a : dtypes.size() == 1 ? std::vector<Scalar>{Scalar{}} : edge_values(dtypes.front())) {
    for (const Scalar& b : last) {
      std::vector<Scalar> row;
      if (dtypes.size() > 1) row.push_back(a);
      if (dtypes.size() > 2) row.push_back(pick(dtypes[1]));
      row.push_back(b);
      rows.push_back(row);
    }
  }
  for (int i = 0; i < 200; ++i) {
    std::vector<Scalar> row;
    for (const DType dtype : dtypes) row.push_back(pick(dtype));
    rows.push_back(row);
  }
  return rows;
}

/// The first row whose lane is wrong, described; empty when all are right.
std::string first_difference(const test::OpSignature& signature, std::mt19937_64& random) {
  const auto rows = operand_rows(signature.operands, random);
  const auto lanes = static_cast<std::uint32_t>(rows.size());
  std::vector<std::vector<std::uint64_t>> buffers(signature.operands.size() + 1, std::vector<std::uint64_t>(lanes));
  std::vector<void*> pointers;
  for (auto& buffer : buffers) pointers.push_back(buffer.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t operand = 0; operand < rows[i].size(); ++operand) {
      test::set_element(pointers[operand], i, rows[i][operand]);
    }
  }
  test::run_interpreted(test::lanewise_kernel(signature, lanes), pointers);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Scalar found = test::element_at(pointers.back(), signature.result, i);
    const Scalar expected = evaluate(signature.op, signature.result, rows[i]);
    if (test::same_value(found, expected)) continue;
    std::string text = signature.to_text() + ":";
    for (const Scalar& operand : rows[i]) text += " " + to_text(operand);
    return text + " gives " + to_text(found) + ", expected " + to_text(expected);
  }
  return {};
}

TEST_CASE("the interpreter computes every lanewise op on every dtype as evaluate does") {
  std::mt19937_64 random(1);
  for (const test::OpSignature& signature : test::lanewise_signatures()) {
    CHECK(first_difference(signature, random) == "");
  }
}

}  // namespace
}  // namespace millrace
