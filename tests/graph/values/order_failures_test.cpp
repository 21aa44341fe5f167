// SPDX-License-Identifier: Apache-2.0
// Sorts and selections that have failed in other libraries, on the CPU, on simulated GPUs and through HIP.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"
#include "tests/reference/evaluate.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;
using Integers = std::vector<std::int64_t>;

const std::string kHipDevices[] = {HipStandin::spec(",arch=gfx1100"), HipStandin::spec(",arch=gfx90a")};

/// Calls `test` with the spec of each device.
void on_each_device(const std::function<void(const std::string&)>& test) {
  const HipStandin standin(two_architectures(3));
  for (const std::string device : {"cpu", "sim:gfx1100", "sim:gfx90a"}) {
    CAPTURE(device);
    test(device);
  }
  for (const std::string& device : kHipDevices) {
    CAPTURE(device);
    test(device);
  }
}

template <class Number>
ReferenceTensor row_of(DType dtype, const std::vector<Number>& elements) {
  using Wide = std::conditional_t<std::is_integral_v<Number>, reference::Int128, Number>;
  return reference::make_tensor<Wide>(dtype, {static_cast<std::int64_t>(elements.size())},
                                      {elements.begin(), elements.end()});
}

Integers integers_of(const ReferenceTensor& tensor) {
  Integers integers;
  for (const reference::Int128 element : reference::read_all<reference::Int128>(tensor)) {
    integers.push_back(static_cast<std::int64_t>(element));
  }
  return integers;
}

Program compile_for(GraphBuilder& builder, const std::string& device, std::shared_ptr<Device> on_device = {}) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  options.on_device = std::move(on_device);
  return compile(builder.finish().value(), options).value();
}

/// Where the elements of a sorted row, or the first k of it, come from.
Integers sorted_at(const ReferenceTensor& row, bool descending, const std::string& device) {
  GraphBuilder builder("sorted");
  builder.output("at", sort(builder.input("x", row.type.dtype, row.type.shape), -1, descending).indices);
  return integers_of(test::run_guarded(compile_for(builder, device), {&row, 1}).value()[0]);
}
Integers selected_at(const ReferenceTensor& row, std::int64_t k, bool largest, const std::string& device) {
  GraphBuilder builder("selected");
  builder.output("at", topk(builder.input("x", row.type.dtype, row.type.shape), k, {.largest = largest}).indices);
  return integers_of(test::run_guarded(compile_for(builder, device), {&row, 1}).value()[0]);
}

TEST_CASE("equal keys keep their order") {
  on_each_device([](const std::string& device) {
    for (const DType dtype : kAllDTypes) {
      CAPTURE(std::string(to_text(dtype)));
      const ReferenceTensor row = row_of<int>(dtype, {2, 2, 0});
      CHECK(sorted_at(row, false, device) == Integers{2, 0, 1});
      CHECK(sorted_at(row, true, device) == Integers{0, 1, 2});
      CHECK(selected_at(row, 2, true, device) == Integers{0, 1});
      CHECK(selected_at(row, 2, false, device) == Integers{2, 0});
    }
  });
}

TEST_CASE("NaN is greatest, and its index belongs to it") {
  on_each_device([](const std::string& device) {
    for (const bool largest : {true, false}) {
      GraphBuilder builder("pair");
      const auto [value, index] = topk(builder.input("x", DType::kF32, {2}), 1, {.largest = largest});
      builder.output("value", value);
      builder.output("id", gather(builder.input("ids", DType::kI64, {2}), index, 0));
      const ReferenceTensor inputs[] = {row_of<double>(DType::kF32, {5, std::nan("")}),
                                        row_of<int>(DType::kI64, {9, 3})};
      const std::vector<ReferenceTensor> pair = test::run_guarded(compile_for(builder, device), inputs).value();
      const double found = reference::read_all<double>(pair[0])[0];
      CHECK((largest ? std::isnan(found) : found == 5));
      CHECK(integers_of(pair[1]) == Integers{largest ? 3 : 9});
    }
  });
}

TEST_CASE("the highest bit is a sign only in signed integers") {
  on_each_device([](const std::string& device) {
    for (const DType dtype : kAllDTypes) {
      if (is_float(dtype) || dtype == DType::kBool) continue;
      CAPTURE(std::string(to_text(dtype)));
      const std::int64_t high_bit = INT64_MIN >> (64 - 8 * size_bytes(dtype));
      const ReferenceTensor row = row_of<std::int64_t>(dtype, {high_bit, 1, -1, ~high_bit});
      CHECK(sorted_at(row, false, device) == (is_signed(dtype) ? Integers{0, 2, 1, 3} : Integers{1, 3, 0, 2}));
      CHECK(selected_at(row, 1, true, device) == Integers{is_signed(dtype) ? 3 : 2});
    }
  });
}

/// A selection that is repeated on each of two devices.
struct Repeated {
  const char* algorithm;
  std::int64_t rows, n, k;
  int num_runs;
};
constexpr Repeated kRepeated[] = {
    {"gpu_topk_lanes", 9, 300, 8, 500}, {"gpu_tile_sort", 1, 500, 33, 500}, {"gpu_topk_parts", 1, 4100, 10, 50}};

void check_repeats(const Repeated& row, int num_runs, std::shared_ptr<Device> device) {
  CAPTURE(row.algorithm);
  GraphBuilder builder("selected");
  builder.output("at", topk(builder.input("x", DType::kF32, {row.rows, row.n}), row.k).indices);
  const Program program = compile_for(builder, "", std::move(device));
  CHECK(program.lowered().sequences[0][0].algorithm == row.algorithm);
  ReferenceTensor keys(DType::kF32, {row.rows, row.n});
  for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
    reference::write_element(DType::kF32, static_cast<double>(i * 7919 % 23), keys.element(i));  // many ties
  }
  const auto found = test::run_guarded(program, {&keys, 1}, {}, num_runs);
  REQUIRE(found.status().message() == "");
  const Integers at = integers_of((*found)[0]);
  for (std::int64_t first = 0; first < row.rows * row.k; first += row.k) {
    const std::set<std::int64_t> of_row(at.begin() + first, at.begin() + first + row.k);
    CHECK(static_cast<std::int64_t>(of_row.size()) == row.k);
    CHECK(*of_row.begin() >= 0);
    CHECK(*of_row.rbegin() < row.n);
  }
  CHECK((*found)[0].bytes == reference::evaluate(Op::topk, TopKAttrs{.k = row.k}, {&keys, 1})[1].bytes);
}

TEST_CASE("a thousand repeats of a selection are equal bit for bit, in whatever order threads and groups run" *
          test::Sliced()) {
  for (const Repeated& row : kRepeated) {
    for (const char* spec : {"sim:gfx1100", "sim:gfx90a"}) {
      check_repeats(row, row.num_runs, create_sim_device(TargetSpec::parse(spec).value(), {.order_seed = 1}).value());
    }
  }
}

TEST_CASE("repeats of a selection through HIP are equal bit for bit, in whatever order its commands run") {
  for (const Repeated& row : kRepeated) {
    for (std::uint32_t ordinal = 0; ordinal < 2; ++ordinal) {
      const HipStandin standin(two_architectures(11));
      check_repeats(row, row.num_runs / 10, standin.open({.ordinal = ordinal}).value());
    }
  }
}

TEST_CASE(
    "an argsort of a size that a run binds has its scratch from the schedule, a fixed number of bytes per element") {
  on_each_device([](const std::string& device) {
    GraphBuilder builder("argsort");
    builder.output("at", sort(builder.input("x", DType::kF32, {Dim("n")})).indices);
    const Program program = compile_for(builder, device);
    const auto scratch_bytes = [&](std::int64_t n) {
      return program.report().slab_bytes.evaluate(SymbolValues{{"n", n}}).value();
    };
    CHECK(scratch_bytes(1 << 20) > 0);
    CHECK(scratch_bytes(1 << 20) <= 64 << 20);
    CHECK(scratch_bytes(1 << 24) <= 17 * scratch_bytes(1 << 20));
    const MemoryLimits limits = memory_limits(program.variants()[0].target);
    for (const PlannedKernel& kernel : program.lowered().schedule.kernels) {
      CHECK(kernel.memory.private_bytes <= limits.private_bytes);
    }
    for (const std::int64_t n : {0, 1, 5000}) {
      ReferenceTensor keys(DType::kF32, {n});
      for (std::int64_t i = 0; i < n; ++i) {
        reference::write_element(DType::kF32, static_cast<double>(i * 7919 % 997), keys.element(i));
      }
      const auto found = test::run_guarded(program, {&keys, 1}, {}, 1);
      REQUIRE(found.status().message() == "");
      CHECK((*found)[0].bytes == reference::evaluate(Op::sort, SortAttrs{}, {&keys, 1})[1].bytes);
    }
  });
}

}  // namespace
}  // namespace millrace
