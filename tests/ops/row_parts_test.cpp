// SPDX-License-Identifier: Apache-2.0
// The kernels that share long rows, on short ones: parts of rows, and elements with given indices. long_rows_test.cpp
// tests what is chosen for long rows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/reference/evaluate.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Extents;
using reference::Tensor;

namespace {

std::vector<TargetSpec> lane_targets() {
  std::vector<TargetSpec> targets = host_targets();
  std::erase_if(targets, [](const TargetSpec& target) { return target.isa == IsaLevel::kBaseline; });
  return targets;
}

Shape shape_of(const Extents& extents) { return Shape(std::vector<SizeExpr>(extents.begin(), extents.end())); }

KernelTensor tensor_of(std::string name, DType dtype, const Extents& extents, Strides strides) {
  const Shape shape = shape_of(extents);
  return {std::move(name), {dtype, shape}, make_layout(shape, strides)};
}

/// Runs a request in guarded memory. Fails the test if it writes outside of the results.
std::vector<Tensor> run(const KernelRequest& request, const std::vector<std::pair<KernelTensor, const Tensor*>>& inputs,
                        const std::vector<KernelTensor>& results, const RunOptions& options) {
  constexpr auto kGuard = GuardedBuffer::Guard::kAfter;
  std::vector<GuardedTensor> operands, found;
  std::vector<BufferBinding> operand_bindings, result_bindings;
  for (const auto& [tensor, values] : inputs) operands.emplace_back(tensor, kGuard).fill(*values);
  for (const KernelTensor& result : results) found.emplace_back(result, kGuard);
  for (const GuardedTensor& operand : operands) operand_bindings.push_back(operand.binding());
  for (const GuardedTensor& result : found) result_bindings.push_back(result.binding());
  const Result<RunReport> report = run_request(request, operand_bindings, result_bindings, options);
  REQUIRE(report.status().message() == "");
  std::vector<Tensor> values;
  for (const GuardedTensor& result : found) {
    CHECK(result.is_rest_intact());
    values.push_back(result.read());
  }
  return values;
}

/// Where the parts of a row begin, and where the row ends: multiples of 64 are dealt out, and the last part has the
/// rest.
std::vector<std::int64_t> bounds_of(std::int64_t n, std::int64_t parts) {
  std::vector<std::int64_t> bounds = {0};
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t multiples = n / 64 / parts + (part < n / 64 % parts ? 1 : 0);
    bounds.push_back(bounds.back() + 64 * multiples);
  }
  bounds.back() = n;
  return bounds;
}

/// With ties.
Tensor rows_of_few_values(DType dtype, const Extents& extents, std::mt19937_64& random) {
  Tensor rows(dtype, extents);
  for (std::int64_t i = 0; i < rows.num_elements(); ++i) {
    reference::write_element(dtype, static_cast<double>(random() % 16), rows.element(i));
  }
  return rows;
}

/// Integers of any bits. Floats that are 1 and -1, or 0 too, so that sums and products are exact in any order.
Tensor rows_of_ones(DType dtype, const Extents& extents, bool has_zeros, std::mt19937_64& random) {
  Tensor rows(dtype, extents);
  for (std::int64_t i = 0; i < rows.num_elements(); ++i) {
    const std::uint64_t bits = random();
    if (is_float(dtype)) {
      reference::write_element(dtype, has_zeros && bits % 3 == 0 ? 0. : bits % 2 == 0 ? 1. : -1., rows.element(i));
    } else {
      std::memcpy(rows.element(i), &bits, size_bytes(dtype));
    }
  }
  return rows;
}

Tensor slice(const Tensor& rows, std::int64_t begin, std::int64_t end) {
  const Extents extents = rows.extents();
  const std::size_t bytes = size_bytes(rows.type.dtype);
  Tensor part(rows.type.dtype, {extents[0], end - begin});
  for (std::int64_t row = 0; row < extents[0]; ++row) {
    std::memcpy(part.element(row * (end - begin)), rows.element(row * extents[1] + begin),
                static_cast<std::size_t>(end - begin) * bytes);
  }
  return part;
}

struct TopkCase {
  std::int64_t n, parts, k;
  bool largest;
  Strides strides;
};

/// The first k of each part, with indices in the row.
std::vector<Tensor> first_of_parts(const TopkCase& test, const Tensor& rows) {
  const std::vector<std::int64_t> bounds = bounds_of(test.n, test.parts);
  const std::int64_t num_rows = rows.extents()[0], count = test.parts * test.k;
  std::vector<Tensor> all = {Tensor(rows.type.dtype, {num_rows, count}), Tensor(DType::kI64, {num_rows, count})};
  for (std::size_t part = 0; part + 1 < bounds.size(); ++part) {
    const Tensor elements = slice(rows, bounds[part], bounds[part + 1]);
    const auto first = reference::evaluate(Op::topk, TopKAttrs{.k = test.k, .largest = test.largest}, {&elements, 1});
    for (std::int64_t i = 0; i < num_rows * test.k; ++i) {
      const std::int64_t to = i / test.k * count + static_cast<std::int64_t>(part) * test.k + i % test.k;
      std::memcpy(all[0].element(to), first[0].element(i), size_bytes(rows.type.dtype));
      const auto index = reference::read_element<reference::Int128>(DType::kI64, first[1].element(i));
      reference::write_element(DType::kI64, index + bounds[part], all[1].element(to));
    }
  }
  return all;
}

/// Finds the first k of each part and, with both results or without indices, the first k of those.
void check_topk(const TopkCase& test, const Tensor& rows, const RunOptions& options) {
  const DType dtype = rows.type.dtype;
  const std::int64_t num_rows = rows.extents()[0], count = test.parts * test.k;
  SortDescriptor sort;
  sort.name = "sort";
  sort.input = tensor_of("x", dtype, rows.extents(), test.strides);
  sort.axis = 1;
  sort.k = test.k;
  sort.largest = test.largest;
  sort.parts = test.parts;
  sort.values = tensor_of("values", dtype, {num_rows, count}, test.strides);
  sort.indices = tensor_of("indices", DType::kI64, {num_rows, count}, test.strides);
  const std::vector<Tensor> found = run(sort, {{sort.input, &rows}}, {*sort.values, *sort.indices}, options);
  const std::vector<Tensor> expected = first_of_parts(test, rows);
  CHECK(found[0].bytes == expected[0].bytes);
  CHECK(found[1].bytes == expected[1].bytes);
  SortDescriptor merge = sort;
  merge.parts = 1;
  merge.input = *sort.values;
  merge.input_indices = *sort.indices;
  merge.values = tensor_of("values", dtype, {num_rows, test.k}, test.strides);
  merge.indices = tensor_of("indices", DType::kI64, {num_rows, test.k}, test.strides);
  const std::vector<Tensor> merged = run(merge, {{merge.input, &expected[0]}, {*merge.input_indices, &expected[1]}},
                                         {*merge.values, *merge.indices}, options);
  const auto first = reference::evaluate(Op::topk, TopKAttrs{.k = test.k, .largest = test.largest}, {&rows, 1});
  CHECK(merged[0].bytes == first[0].bytes);
  CHECK(merged[1].bytes == first[1].bytes);
  merge.values.reset();
  CHECK(run(merge, {{merge.input, &expected[0]}, {*merge.input_indices, &expected[1]}}, {*merge.indices}, options)[0]
            .bytes == first[1].bytes);
}

}  // namespace

TEST_CASE("each part of a row gives its first k, and these with their indices give the first k of the row" *
          test::Sliced()) {
  std::mt19937_64 random(51);
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const auto& [n, parts] : {std::pair{192, 3}, {1000, 4}, {4097, 2}, {30'001, 7}}) {
        constexpr std::int64_t kFew[] = {1, 2, 17, 32, 50, 64};
        ++iteration;
        // More than 32 are selected of 1024 elements.
        const std::int64_t k = kFew[iteration % (n < 1024 ? 4 : 6)];
        const TopkCase test = {n, parts, k, iteration % 2 == 0,
                               iteration % 3 == 0 ? Strides::kPadded : Strides::kDense};
        const Tensor rows = make_hard_rows(hard, dtype, {3, n}, 1, k, random);
        const std::vector<TargetSpec> targets = lane_targets();
        RunOptions options{.target = targets[iteration % targets.size()], .force_algorithm = "lane_sort"};
        if (iteration % 5 == 0) options.max_groups_per_call = 1;
        CAPTURE(rows.type.to_text());
        CAPTURE(hard.name);
        CAPTURE(k);
        CAPTURE(options.target.to_text());
        check_topk(test, rows, options);
      }
    }
  }
}

TEST_CASE("sorts of any length keep the given indices of elements") {
  std::mt19937_64 random(52);
  for (const DType dtype : {DType::kF32, DType::kU8, DType::kI64, DType::kF64}) {
    for (const std::int64_t n : {1, 2, 5, 16, 33, 300, 1025, 40'000}) {
      const Tensor rows = rows_of_few_values(dtype, {2, n}, random);
      Tensor given(DType::kI64, {2, n});
      for (std::byte& byte : given.bytes) byte = static_cast<std::byte>(random());
      for (const std::int64_t k : {n, (n + 2) / 3, std::int64_t{1}}) {
        const std::vector<Tensor> first = reference::evaluate(Op::topk, TopKAttrs{.k = k}, {&rows, 1});
        Tensor expected(DType::kI64, {2, k});
        for (std::int64_t i = 0; i < 2 * k; ++i) {
          const auto position =
              static_cast<std::int64_t>(reference::read_element<reference::Int128>(DType::kI64, first[1].element(i)));
          std::memcpy(expected.element(i), given.element(i / k * n + position), sizeof(std::int64_t));
        }
        for (const TargetSpec& target : lane_targets()) {
          for (const Strides strides : {Strides::kDense, Strides::kPadded, Strides::kSpread}) {
            SortDescriptor sort{.name = "sort",
                                .input = tensor_of("x", dtype, {2, n}, strides),
                                .axis = 1,
                                .k = k,
                                .largest = true,
                                .values = {},
                                .indices = tensor_of("indices", DType::kI64, {2, k}, strides)};
            sort.input_indices = tensor_of("given", DType::kI64, {2, n}, strides);
            const std::vector<Tensor> found =
                run(sort, {{sort.input, &rows}, {*sort.input_indices, &given}}, {*sort.indices}, {.target = target});
            CHECK(found[0].bytes == expected.bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("scans of any number of parts equal those of whole rows" * test::Sliced()) {
  std::mt19937_64 random(53);
  DriverTally tally;
  std::size_t iteration = 0;
  constexpr Op kOps[] = {Op::cumulative_sum, Op::cumulative_prod, Op::cumulative_max, Op::cumulative_min};
  constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMax,
                                      ReductionKind::kMin};
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (std::size_t op = 0; op < std::size(kOps); ++op) {
      for (const auto& [n, parts] : {std::pair{200, 3}, {130, 9}, {1000, 2}, {4099, 5}, {20'000, 40}}) {
        for (const bool reverse : {false, true}) {
          ++iteration;
          const ScanAttrs attrs{.axis = 1, .exclusive = iteration % 2 == 0, .reverse = reverse};
          const std::vector<HardRow> hard = hard_rows(dtype);
          const bool is_order = op >= 2;
          const Tensor rows = is_order ? make_hard_rows(hard[iteration % hard.size()], dtype, {3, n}, 1, 1, random)
                                       : rows_of_ones(dtype, {3, n}, op == 0, random);
          const Strides strides = iteration % 3 == 0 ? Strides::kPadded : Strides::kDense;
          ScanDescriptor scan;
          scan.name = "scan";
          scan.input = tensor_of("x", dtype, {3, n}, strides);
          scan.result = tensor_of("y", dtype, {3, n}, strides);
          scan.axis = 1;
          scan.kind = kKinds[op];
          scan.exclusive = attrs.exclusive;
          scan.reverse = attrs.reverse;
          scan.parts = parts;
          const std::vector<Tensor> expected = reference::evaluate(kOps[op], attrs, {&rows, 1});
          for (const TargetSpec& target : lane_targets()) {
            const OpTrial trial = {kOps[op], attrs, {&rows, 1}, 0, {}, ""};
            const RunOptions options{.target = target, .max_groups_per_call = iteration % 5 == 0 ? 1 : 0xffff'ffff};
            CAPTURE(rows.type.to_text());
            CAPTURE(to_text(kOps[op]));
            CAPTURE(parts);
            CHECK(compare_results(trial, run(scan, {{scan.input, &rows}}, {scan.result}, options), expected) == "");
          }
        }
      }
    }
  }
}
