// SPDX-License-Identifier: Apache-2.0
// Scans for GPUs, interpreted before the simulator's eyes.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/observed_sequence.h"
#include "tests/jit/run_sequence.h"

namespace millrace {
namespace {

constexpr const char* kGpus[] = {"gfx1100", "gfx90a"};  // subgroups of 32 and of 64

struct ScanCase {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> extents;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;
  bool reverse = false;
};

ScanDescriptor descriptor_of(const ScanCase& test, const Shape& shape) {
  ScanDescriptor scan;
  scan.name = "scan";
  scan.input = {"x", {test.dtype, shape}, Layout::row_major(shape)};
  scan.result = {"y", {test.dtype, shape}, Layout::row_major(shape)};
  scan.axis = test.axis;
  scan.kind = test.kind;
  scan.exclusive = test.exclusive;
  scan.reverse = test.reverse;
  return scan;
}
ScanDescriptor descriptor_of(const ScanCase& test) {
  return descriptor_of(test, Shape(std::vector<SizeExpr>(test.extents.begin(), test.extents.end())));
}

KernelSequence lowered(const ScanDescriptor& scan, std::string_view gfx, const std::string& algorithm = "") {
  Result<KernelSequence> sequence = lower_request(scan, test::gpu_target(gfx), test::forced(algorithm));
  REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
  return *std::move(sequence);
}

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 8, long double, double>>;

/// Integers of any bits; floats of either sign, near 1 for products.
template <class T>
std::vector<T> make_input(const ScanCase& test, std::size_t count) {
  std::mt19937_64 random(5);
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t draw = random();
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(test.kind == ReductionKind::kProd ? draw | 1 : draw);
    } else {
      const float number = static_cast<float>(static_cast<std::int64_t>(draw % 2001) - 1000) / 1000;
      const float factor = draw % 2 == 0 ? 1.0009765625f : 0.9990234375f;
      value = static_cast<T>(test.kind == ReductionKind::kProd ? factor : number);
    }
  }
  return values;
}

template <class W>
W combined(ReductionKind kind, W a, W b) {
  using Unsigned = std::conditional_t<std::is_integral_v<W>, std::make_unsigned<W>, std::type_identity<W>>::type;
  switch (kind) {
    case ReductionKind::kProd:
      if constexpr (sizeof(W) < 4) return static_cast<W>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
      return static_cast<W>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    case ReductionKind::kMin:
      return std::min(a, b);
    case ReductionKind::kMax:
      return std::max(a, b);
    default:
      return static_cast<W>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

template <class W>
W nothing(ReductionKind kind) {
  using Limits = std::numeric_limits<W>;
  const W most = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const W least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return kind == ReductionKind::kMin ? most : kind == ReductionKind::kMax ? least : W(kind == ReductionKind::kProd);
}

/// The unit of an accumulator's rounding, and of the stored dtype's.
template <class T>
double unit_of_sum() {
  return sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
}
template <class T>
double unit_of_store() {
  if (std::is_same_v<T, Half>) return 0x1p-11;
  return std::is_same_v<T, BFloat16> ? 0x1p-8 : 0;
}

/// Exact for integers, minima and maxima; floats' sums within n * eps * sum |x|, products likewise of their size.
template <class T>
std::size_t count_wrong(const ScanCase& test, const std::vector<T>& input, const std::vector<T>& results) {
  const std::int64_t n = test.extents[test.axis];
  std::int64_t inner = 1;
  for (std::size_t d = test.axis + 1; d < test.extents.size(); ++d) inner *= test.extents[d];
  const std::int64_t num_rows = n == 0 ? 0 : static_cast<std::int64_t>(input.size()) / n;
  std::size_t num_wrong = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t start = row / inner * n * inner + row % inner;
    Wide<T> so_far = nothing<Wide<T>>(test.kind);
    double size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(start + (test.reverse ? n - 1 - i : i) * inner);
      Wide<T> x;
      if constexpr (std::is_integral_v<T> || sizeof(T) >= 4) {
        x = input[at];
      } else {
        x = static_cast<float>(input[at]);
      }
      const Wide<T> next = combined(test.kind, so_far, x);
      const Wide<T> expected = test.exclusive ? so_far : next;
      so_far = next;
      if constexpr (std::is_integral_v<T>) {
        num_wrong += results[at] != expected;
      } else {
        const auto found = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(results[at]));
        const auto wanted = static_cast<double>(expected);
        size = test.kind == ReductionKind::kSum ? size + std::fabs(static_cast<double>(x)) : std::fabs(wanted);
        const bool is_exact = test.kind == ReductionKind::kMin || test.kind == ReductionKind::kMax;
        const double bound = (is_exact ? 0 : static_cast<double>(n) * unit_of_sum<T>() * size) +
                             (is_exact ? 0 : unit_of_store<T>() * (std::fabs(wanted) + 1e-6));
        num_wrong += !(found == wanted || std::fabs(found - wanted) <= bound);
      }
    }
  }
  return num_wrong;
}

template <class T>
std::string complaint_of(const KernelSequence& sequence, const ScanCase& test, const SymbolValues& symbols = {},
                         std::uint64_t order_seed = 0) {
  std::size_t count = 1;
  for (const std::int64_t extent : test.extents) count *= static_cast<std::size_t>(extent);
  std::vector<T> input = make_input<T>(test, count), results(count);
  const test::SequenceRun run{.operands = {{input.data(), count * sizeof(T)}},
                              .results = {{results.data(), count * sizeof(T)}},
                              .symbols = symbols,
                              .order_seed = order_seed};
  const std::string finding = test::finding_in(sequence, run);
  if (!finding.empty()) return finding;
  const std::size_t num_wrong = count_wrong(test, input, results);
  return num_wrong == 0 ? "" : std::to_string(num_wrong) + " results are wrong";
}

void check_scan(const ScanCase& test, std::string_view gfx, const std::string& algorithm) {
  CAPTURE(to_text(test.dtype));
  CAPTURE(test.extents);
  CAPTURE(to_text(test.kind));
  CAPTURE(algorithm);
  const KernelSequence sequence = lowered(descriptor_of(test), gfx, algorithm);
  visit_dtype(test.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) CHECK(complaint_of<T>(sequence, test) == "");
  });
}

constexpr std::int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4096, 8000, 32000};
constexpr const char* kAlgorithms[] = {"gpu_scan_rows", "gpu_scan_pieces"};
constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin,
                                    ReductionKind::kMax};

TEST_CASE("rows of every size scan, in both directions, with and without their own element") {
  std::uint32_t turn = 0;
  for (const char* gfx : kGpus) {
    for (const std::int64_t n : kSizes) {
      for (const char* algorithm : kAlgorithms) {
        ++turn;
        check_scan({.extents = {n < 300 ? 5 : 2, n},
                    .axis = 1,
                    .kind = kKinds[turn / 2 % 4],
                    .exclusive = turn % 3 == 0,
                    .reverse = turn % 5 == 0},
                   gfx, algorithm);
      }
    }
  }
  check_scan({.extents = {100003}}, "gfx1100", "");
}

TEST_CASE("rows of every dtype scan by every reduction") {
  std::uint32_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const ReductionKind kind : kKinds) {
      ++turn;
      check_scan({.dtype = dtype,
                  .extents = {3, kSizes[2 + turn % 14]},
                  .axis = 1,
                  .kind = kind,
                  .exclusive = turn % 2 == 0,
                  .reverse = turn % 4 == 1},
                 kGpus[turn % 2], kAlgorithms[turn / 2 % 2]);
    }
  }
}

TEST_CASE("a scan takes any axis, and no rows at all") {
  for (const char* gfx : kGpus) {
    for (const char* algorithm : kAlgorithms) {
      for (std::uint32_t axis = 0; axis < 3; ++axis) {
        check_scan({.dtype = DType::kI32, .extents = {5, 70, 4}, .axis = axis}, gfx, algorithm);
        check_scan({.dtype = DType::kI32, .extents = {5, 3, 4}, .axis = axis, .reverse = true}, gfx, algorithm);
      }
      check_scan({.extents = {0, 40}, .axis = 1}, gfx, algorithm);
    }
  }
}

TEST_CASE("rows of sizes that a run binds are cut into pieces") {
  const Dim n("n");
  const ScanCase test{.dtype = DType::kI32, .extents = {2, 0}, .axis = 1};
  const KernelSequence sequence = lowered(descriptor_of(test, {2, n}), "gfx1100");
  CHECK(sequence.algorithm == "gpu_scan_pieces");
  CHECK(sequence.refusals ==
        std::vector<Refusal>{{"gpu_scan_columns",
                              "2 lines whose elements are 1 apart; threads walk a line each where there are 1024 lines "
                              "that lie side by side"},
                             {"gpu_scan_rows",
                              "2 rows of n elements; a workgroup walks a row of up to 8192, or of any size where there "
                              "are 256 rows"}});
  CHECK(lowered(descriptor_of(test, {20, 2000}), "gfx1100").algorithm == "gpu_scan_rows");
  ScanDescriptor columns = descriptor_of(test, {20, 2000});
  columns.axis = 0;
  CHECK(lowered(columns, "gfx1100").algorithm == "gpu_scan_columns");
  for (const std::int64_t size : {0, 1, 8192, 8193, 20000}) {
    CHECK(complaint_of<std::int32_t>(sequence, {.dtype = DType::kI32, .extents = {2, size}, .axis = 1},
                                     {{"n", size}}) == "");
  }
}

TEST_CASE("as many rows scan as a run binds") {
  for (const std::int64_t n : {9, 3000}) {
    const ScanCase any{.dtype = DType::kI32, .extents = {0, n}, .axis = 1};
    for (const char* algorithm : kAlgorithms) {
      const KernelSequence sequence = lowered(descriptor_of(any, {Dim("rows"), n}), "gfx90a", algorithm);
      for (const std::int64_t rows : {0, 1, 70}) {
        const ScanCase test{.dtype = DType::kI32, .extents = {rows, n}, .axis = 1};
        CHECK(complaint_of<std::int32_t>(sequence, test, {{"rows", rows}}) == "");
      }
    }
  }
}

TEST_CASE("a scan reads at most twice and writes once") {
  for (const char* algorithm : kAlgorithms) {
    const std::size_t n = 50000;
    const ScanCase test{.extents = {static_cast<std::int64_t>(n)}};
    std::vector<float> input(n), results(n);
    const test::SequenceRun run{.operands = {{input.data(), n * 4}}, .results = {{results.data(), n * 4}}};
    const test::TrafficBytes traffic = test::traffic_of(lowered(descriptor_of(test), "gfx1100", algorithm), run);
    CHECK(traffic.operands_loaded == (algorithm == kAlgorithms[1] ? 2 : 1) * n * 4);
    CHECK(traffic.results_stored == n * 4);
    CHECK(traffic.scratch_loaded + traffic.scratch_stored < 8000);  // all threads of a piece load where it starts
  }
}

TEST_CASE("a scan gives the same bits whatever the order of threads and groups") {
  const ScanCase test{.extents = {3, 1000}, .axis = 1};
  for (const char* algorithm : kAlgorithms) {
    const KernelSequence sequence = lowered(descriptor_of(test), "gfx1100", algorithm);
    std::vector<float> input = make_input<float>(test, 3000), first;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      std::vector<float> results(3000);
      const test::SequenceRun run{
          .operands = {{input.data(), 12000}}, .results = {{results.data(), 12000}}, .symbols = {}, .order_seed = seed};
      CHECK(test::finding_in(sequence, run) == "");
      if (seed == 1) first = results;
      CHECK(results == first);
    }
  }
}

TEST_CASE("each mistake in a scan is found") {
  std::size_t num_found = 0;
  for (const char* algorithm : kAlgorithms) {
    const ScanCase test{.dtype = DType::kI32, .extents = {2, 17000}, .axis = 1};
    const KernelSequence sequence = lowered(descriptor_of(test), "gfx1100", algorithm);
    const test::Mistakes mistakes = test::find_mistakes(
        sequence, [&](const KernelSequence& wrong) { return complaint_of<std::int32_t>(wrong, test); });
    num_found += mistakes.num_found;
    CHECK(mistakes.num_harmless == 0);
  }
  CHECK(num_found == 12);
}

TEST_CASE("threads walk lines that lie side by side") {
  std::uint32_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const std::int64_t n : {0, 1, 2, 33, 300}) {
      ++turn;
      check_scan({.dtype = dtype,
                  .extents = {2, n, 200},
                  .axis = 1,
                  .kind = kKinds[turn % 4],
                  .exclusive = turn % 2 == 0,
                  .reverse = turn % 3 == 0},
                 kGpus[turn % 2], "gpu_scan_columns");
    }
  }
  const ScanCase any{.dtype = DType::kI32, .extents = {50, 0}};
  const KernelSequence sequence = lowered(descriptor_of(any, {50, Dim("columns")}), "gfx90a", "gpu_scan_columns");
  for (const std::int64_t columns : {0, 1, 257}) {
    const ScanCase test{.dtype = DType::kI32, .extents = {50, columns}};
    CHECK(complaint_of<std::int32_t>(sequence, test, {{"columns", columns}}) == "");
    const test::Mistakes mistakes = test::find_mistakes(sequence, [&](const KernelSequence& wrong) {
      return complaint_of<std::int32_t>(wrong, test, {{"columns", columns}});
    });
    CHECK(mistakes.num_found == (columns == 0 ? 0 : 2));
  }
}

}  // namespace
}  // namespace millrace
