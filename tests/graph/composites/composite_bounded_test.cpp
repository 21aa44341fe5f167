// SPDX-License-Identifier: Apache-2.0
// nonzero and unique, whose number of results depends on the elements, against plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using reference::Extents;
using Numbers = std::vector<std::int64_t>;

enum class Style { kMixed, kZeros, kNoZeros, kFew, kNan };
constexpr Style kStyles[] = {Style::kMixed, Style::kZeros, Style::kNoZeros, Style::kFew, Style::kNan};

double any_number(Style style, DType dtype, std::mt19937_64& random) {
  const auto number = static_cast<double>(random() % 4000) - (is_signed(dtype) ? 2000 : 0);
  switch (style) {
    case Style::kZeros:
      return random() % 2 == 0 ? 0.0 : -0.0;
    case Style::kNoZeros:
      return std::max(1.0, std::abs(number));
    case Style::kFew:
      return static_cast<double>(random() % 3) * (random() % 2 == 0 ? 1 : -1);
    case Style::kNan:
      return random() % 2 == 0 ? std::nan("") : number;
    case Style::kMixed:
      return random() % 3 == 0 ? 0 : number;
  }
  return 0;
}

/// Floats have zeros of both signs and NaNs of two kinds.
reference::Tensor make_input(DType dtype, const Extents& extents, Style style, std::mt19937_64& random) {
  reference::Tensor x(dtype, extents);
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const double number = any_number(style, dtype, random);
    if (is_float(dtype)) {
      reference::write_element(dtype, number, x.element(i));
      if (std::isnan(number) && random() % 2 == 0) *x.element(i) |= std::byte{1};
    } else {
      const auto integer = std::isnan(number) ? 77 : static_cast<reference::Int128>(number);
      // A multiple of 256 is 0 in 8 bits.
      reference::write_element(dtype, style == Style::kNoZeros ? integer % 127 + 1 : integer, x.element(i));
    }
  }
  return x;
}

template <class Compare>
bool compare(const reference::Tensor& x, std::int64_t i, std::int64_t j, const Compare& compare) {
  return reference::visit_wide(x.type.dtype, [&]<class W>() {
    return compare(reference::read_element<W>(x.type.dtype, x.element(i)),
                   reference::read_element<W>(x.type.dtype, x.element(j)));
  });
}
/// NaN is greatest.
bool comes_before(const reference::Tensor& x, std::int64_t i, std::int64_t j) {
  return compare(x, i, j, [](auto a, auto b) { return a == a && (b != b || a < b); });
}
bool is_nonzero(const reference::Tensor& x, std::int64_t i) {
  return compare(x, i, i, [](auto a, auto) { return a != 0; });
}

constexpr const char* kSimulated = "sim:gfx1100";

CompileOptions on(const std::string& device) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  return options;
}

/// On which devices a graph runs, and with which kernels.
std::vector<CompileOptions> every_way() {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  ways.push_back(on(kSimulated));
  return ways;
}

/// A graph of one input, x, that is compiled for one way and run for many inputs.
class Bounded {
 public:
  Bounded(const CompileOptions& way, DType dtype, const Shape& shape, std::optional<SizeExpr> bound,
          std::vector<Tensor> (*build)(Tensor x, const std::optional<SizeExpr>& bound)) {
    GraphBuilder graph("bounded");
    const std::vector<Tensor> results = build(graph.input("x", dtype, shape), bound);
    for (std::size_t i = 0; i < results.size(); ++i) graph.output("y" + std::to_string(i), results[i]);
    Result<Graph> built = graph.finish();
    REQUIRE(built.status().message() == "");
    Result<Program> program = compile(*std::move(built), way);
    REQUIRE(program.status().message() == "");
    program_ = *std::move(program);
  }
  std::vector<reference::Tensor> run(const reference::Tensor& x, std::span<const DimBinding> dims = {}) const {
    auto results = test::run_guarded(*program_, std::span(&x, 1), dims);
    REQUIRE(results.status().message() == "");
    return *std::move(results);
  }

 private:
  std::optional<Program> program_;
};

Numbers numbers(const reference::Tensor& tensor) {
  REQUIRE(tensor.type.dtype == DType::kI64);
  Numbers found;
  for (const auto number : reference::read_all<reference::Int128>(tensor)) {
    found.push_back(static_cast<std::int64_t>(number));
  }
  return found;
}

std::vector<Tensor> build_nonzero(Tensor x, const std::optional<SizeExpr>& bound) {
  const IndicesAndCount found = bound ? nonzero(x, *bound) : nonzero(x);
  return {found.indices, found.count};
}

void check_nonzero(const Bounded& program, const reference::Tensor& x, std::int64_t bound,
                   std::span<const DimBinding> dims = {}) {
  Numbers indices;
  std::int64_t count = 0, i = 0;
  const Extents extents = x.extents();
  reference::for_each_index(extents, [&](const Extents& index) {
    if (!is_nonzero(x, i++)) return;
    if (count++ < bound) indices.insert(indices.end(), index.begin(), index.end());
  });
  indices.resize(static_cast<std::size_t>(bound) * extents.size(), -1);
  const auto found = program.run(x, dims);
  CHECK(found[0].extents() == Extents{bound, static_cast<std::int64_t>(extents.size())});
  CHECK(found[1].extents() == Extents{});
  CHECK((numbers(found[0]) == indices));
  CHECK((numbers(found[1]) == Numbers{count}));
}

TEST_CASE("nonzero lists the indices in row-major order, then -1, and counts all" * test::Sliced()) {
  std::mt19937_64 random(1);
  for (const CompileOptions& way : every_way()) {
    CAPTURE(test::to_text(way));
    for (const Extents& extents : {Extents{}, {0}, {1}, {33}, {70'000}, {5, 7}, {2, 0, 3}, {3, 4, 5}}) {
      const std::int64_t all = reference::count(extents);
      const Shape shape(std::vector<SizeExpr>(extents.begin(), extents.end()));
      CAPTURE(shape.to_text());
      if (all > 100 && way.device == kSimulated) continue;
      for (const std::int64_t bound : {std::int64_t{-1}, std::int64_t{3}, all + 5}) {
        const Bounded program(way, DType::kF32, shape, bound < 0 ? std::nullopt : std::optional(SizeExpr(bound)),
                              build_nonzero);
        for (const Style style : kStyles) {
          check_nonzero(program, make_input(DType::kF32, extents, style, random), bound < 0 ? all : bound);
        }
      }
    }
  }
}

TEST_CASE("nonzero takes every dtype, sizes that a run binds, and a bound of 0" * test::Sliced()) {
  std::mt19937_64 random(2);
  const SizeExpr rows = Dim("rows"), k = Dim("k").at_most(64);
  for (const CompileOptions& way : {on("cpu"), on(kSimulated)}) {
    for (const DType dtype : kAllDTypes) {
      CAPTURE(to_text(dtype));
      const Bounded whole(way, dtype, {rows, 3}, std::nullopt, build_nonzero);
      const Bounded part(way, dtype, {rows, 3}, k, build_nonzero);
      for (const std::int64_t n : {0, 1, 6, 11}) {
        for (const Style style : kStyles) {
          const reference::Tensor x = make_input(dtype, {n, 3}, style, random);
          check_nonzero(whole, x, 3 * n);
          for (const std::int64_t bound : {0, 5, 64}) check_nonzero(part, x, bound, std::array{DimBinding{"k", bound}});
        }
      }
    }
  }
}

struct Unique {
  std::vector<std::byte> values;
  Numbers inverse, counts, first_indices, count;
};

/// By comparing each element with the values so far.
Unique find_unique(const reference::Tensor& x, std::int64_t bound) {
  Numbers firsts;  // in the order of their values
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const auto at = std::find_if(firsts.begin(), firsts.end(), [&](std::int64_t j) { return !comes_before(x, j, i); });
    if (at == firsts.end() || comes_before(x, i, *at)) firsts.insert(at, i);
  }
  Unique unique;
  Numbers counts(firsts.size(), 0);
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    std::int64_t place = 0;
    while (comes_before(x, firsts[static_cast<std::size_t>(place)], i)) ++place;
    unique.inverse.push_back(place);
    ++counts[static_cast<std::size_t>(place)];
  }
  unique.count = {static_cast<std::int64_t>(firsts.size())};
  const std::size_t size = size_bytes(x.type.dtype);
  const std::vector<std::byte> zero(size);
  const std::byte* last = zero.data();  // the last of the greatest elements
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    if (!comes_before(x, i, firsts.back())) last = x.element(i);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(bound); ++i) {
    const bool is_value = i < firsts.size();
    unique.counts.push_back(is_value ? counts[i] : 0);
    unique.first_indices.push_back(is_value ? firsts[i] : -1);
    const std::byte* const value = is_value ? x.element(firsts[i]) : last;
    unique.values.insert(unique.values.end(), value, value + size);
  }
  return unique;
}

std::vector<Tensor> build_unique(Tensor x, const std::optional<SizeExpr>& bound) {
  const UniqueResults found = bound ? unique(x, *bound) : unique(x);
  return {found.values, found.inverse, found.counts, found.first_indices, found.count};
}

void check_unique(const Bounded& program, const reference::Tensor& x, std::int64_t bound,
                  std::span<const DimBinding> dims = {}) {
  const Unique expected = find_unique(x, bound);
  const auto found = program.run(x, dims);
  CHECK(found[0].extents() == Extents{bound});
  CHECK((found[0].bytes == expected.values));
  CHECK((numbers(found[1]) == expected.inverse));
  CHECK((numbers(found[2]) == expected.counts));
  CHECK((numbers(found[3]) == expected.first_indices));
  CHECK((numbers(found[4]) == expected.count));
}

TEST_CASE("unique has each value once, bitwise the first of its equals, with all results of NumPy" * test::Sliced()) {
  std::mt19937_64 random(3);
  for (const CompileOptions& way : every_way()) {
    CAPTURE(test::to_text(way));
    for (const std::int64_t n : {0, 1, 2, 33, 5000}) {
      CAPTURE(n);
      if (n > 1000 && (way.device == kSimulated || !way.lowering.compile.force_generator.empty())) continue;
      for (const std::int64_t bound : {std::int64_t{-1}, std::int64_t{3}, n + 5}) {
        const Bounded program(way, DType::kF32, {n}, bound < 0 ? std::nullopt : std::optional(SizeExpr(bound)),
                              build_unique);
        for (const Style style : kStyles) {
          check_unique(program, make_input(DType::kF32, {n}, style, random), bound < 0 ? n : bound);
        }
      }
    }
  }
}

TEST_CASE("unique takes every dtype, sizes that a run binds, and a bound of 0" * test::Sliced()) {
  std::mt19937_64 random(4);
  const SizeExpr n = Dim("n"), k = Dim("k").at_most(64);
  for (const CompileOptions& way : {on("cpu"), on(kSimulated)}) {
    for (const DType dtype : kAllDTypes) {
      CAPTURE(to_text(dtype));
      const Bounded whole(way, dtype, {n}, std::nullopt, build_unique), part(way, dtype, {n}, k, build_unique);
      for (const std::int64_t extent : {0, 1, 40}) {
        for (const Style style : kStyles) {
          const reference::Tensor x = make_input(dtype, {extent}, style, random);
          check_unique(whole, x, extent);
          for (const std::int64_t bound : {0, 5, 64}) check_unique(part, x, bound, std::array{DimBinding{"k", bound}});
        }
      }
    }
  }
}

TEST_CASE("the work for unused results is left out") {
  const auto regions = [](bool is_nonzero) {
    GraphBuilder graph;
    const Tensor x = graph.input("x", DType::kF32, {100});
    graph.output("count", is_nonzero ? nonzero(x).count : unique(x).count);
    return shape_of(formed(graph));
  };
  CHECK(regions(true) == "broadcast not_equal cast reduce_sum cast -> 1\n");
  CHECK(regions(false) ==
        "sort -> 1\n"
        "slice slice not_equal equal logical_and -> 1\n"
        "pad -> 1\n"
        "cast reduce_sum cast -> 1\n");
}

}  // namespace
}  // namespace millrace
