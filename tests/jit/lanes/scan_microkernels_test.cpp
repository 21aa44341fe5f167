// SPDX-License-Identifier: Apache-2.0
// The function of a scan, on the host and emitted.
#include "jit/lanes/scan_microkernels.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "hal/host/routines/routine.h"
#include "hal/host/routines/scan/scan_rows.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/jit/lanes/row_values.h"
#include "tests/support/kernels/evaluate_lanes.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using test::RowValues;

constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin,
                                    ReductionKind::kMax};

template <class T>
T combined(ReductionKind kind, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    if (kind == ReductionKind::kSum) return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    if (kind == ReductionKind::kProd) return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  } else {
    if (kind == ReductionKind::kSum) return a + b;
    if (kind == ReductionKind::kProd) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == 0 && b == 0) return std::signbit(a) == (kind == ReductionKind::kMin) ? a : b;
  }
  return kind == ReductionKind::kMin ? std::min(a, b) : std::max(a, b);
}

template <class T>
T identity_of_kind(ReductionKind kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == ReductionKind::kSum) return 0;
  if (kind == ReductionKind::kProd) return 1;
  const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return kind == ReductionKind::kMin ? highest : lowest;
}

/// The scan of stored elements, element by element; 16-bit floats accumulate in f32.
template <class T>
std::vector<T> expected_scan(const ScanLanes& scan, const std::vector<T>& row) {
  using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  std::vector<T> results(row.size());
  auto state = identity_of_kind<Accumulator>(scan.kind);
  for (std::size_t step = 0; step < row.size(); ++step) {
    const std::size_t i = scan.reverse ? row.size() - 1 - step : step;
    const auto next = combined(scan.kind, state, static_cast<Accumulator>(row[i]));
    results[i] = static_cast<T>(scan.exclusive ? state : next);
    state = next;
  }
  return results;
}

/// Equal bits, except that every NaN equals the others.
template <class T>
bool are_same(const std::vector<T>& a, const std::vector<T>& b) {
  const auto is_same = [](T x, T y) {
    if (std::isnan(test::number_of(x)) && std::isnan(test::number_of(y))) return true;
    return std::memcmp(&x, &y, sizeof(T)) == 0;
  };
  return std::ranges::equal(a, b, is_same);
}

/// What a step scans with, or what it totals with.
LaneFunction function_of(IsaLevel isa, const ScanLanes& scan, ScanRowsStep step,
                         Microkernel<ScanElements> ScanRowsParameters::* field) {
  KeptLanes lanes;
  ScanRowsParameters p{};
  p.step = step;
  append_scan(p, lanes.sink(isa), scan);
  return lanes[p.*field];
}
LaneFunction scan_function(IsaLevel isa, const ScanLanes& scan) {
  return function_of(isa, scan, ScanRowsStep::kRows, &ScanRowsParameters::scan);
}

class ScanFunction {
 public:
  ScanFunction(IsaLevel isa, const ScanLanes& scan)
      : scan_(scan), function_(scan_function(isa, scan)), code_(function_) {}

  template <class T>
  std::vector<T> run(const std::vector<T>& row, GuardedMemory::Side side, bool emitted) const {
    const GuardedMemory from = test::guarded_row(row, side), to(row.size() * sizeof(T), side);
    const std::size_t start = scan_.reverse ? row.size() * sizeof(T) : 0;
    const auto at = [](const std::byte* memory) { return reinterpret_cast<std::int64_t>(memory); };
    const std::array<std::int64_t, kMaxLaneArguments> arguments = {
        at(from.data() + start), at(to.data() + start), static_cast<std::int64_t>(row.size()),
        scan_identity(scan_),    at(from.data()),       at(to.data())};
    carry_ = emitted ? code_.run(arguments) : evaluate_lanes(function_, arguments);
    std::vector<T> results(row.size());
    if (!row.empty()) std::memcpy(results.data(), to.data(), row.size() * sizeof(T));
    return results;
  }
  std::int64_t carry() const { return carry_; }
  std::size_t code_bytes() const { return code_.size_bytes(); }

 private:
  ScanLanes scan_;
  LaneFunction function_;
  LaneCode code_;
  mutable std::int64_t carry_ = 0;
};

/// Rows whose sums and products are exact, in any order.
template <class T>
std::vector<T> exact_row(ReductionKind kind, std::int64_t n, std::mt19937_64& random) {
  if constexpr (!std::is_integral_v<T>) {
    std::vector<T> row(static_cast<std::size_t>(n));
    for (T& value : row) {
      const auto small = static_cast<float>(static_cast<int>(random() % 3) - 1);
      value = static_cast<T>(kind == ReductionKind::kSum ? small : small == 0 ? -1.0f : 1.0f);
    }
    return row;
  }
  return test::make_row<T>(RowValues::kRandom, n, random);
}

template <class T>
void check_scan(IsaLevel isa, const ScanLanes& scan) {
  const ScanFunction function(isa, scan);
  CHECK(function.code_bytes() <= 4 << 10);
  std::mt19937_64 random(11);
  const auto check = [&](const std::vector<T>& row) {
    CAPTURE(row.size());
    const std::vector<T> expected = expected_scan(scan, row);
    for (const auto side : {GuardedMemory::Side::kStart, GuardedMemory::Side::kEnd}) {
      for (const bool emitted : {false, true}) {
        CAPTURE(emitted);
        CHECK(are_same(function.run(row, side, emitted), expected));
      }
    }
  };
  const std::int64_t lanes = num_lanes_of(isa, scan.lane_bits());
  for (const std::int64_t n : test::sizes_around(lanes, 4 * lanes)) {
    check(exact_row<T>(scan.kind, n, random));
    if (scan.kind == ReductionKind::kSum || scan.kind == ReductionKind::kProd) continue;
    for (const RowValues values : test::kAllRowValues) check(test::make_row<T>(values, n, random));
  }
}

TEST_CASE("every dtype scans, from either end, with and without the element itself" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) {
    CAPTURE(to_text(isa));
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool) continue;
      CAPTURE(to_text(dtype));
      for (const ReductionKind kind : kKinds) {
        CAPTURE(to_text(kind));
        for (const int form : {0, 1, 2, 3}) {
          const ScanLanes scan = {dtype, kind, (form & 1) != 0, (form & 2) != 0};
          CAPTURE(form);
          visit_dtype(dtype, [&]<class T>() {
            if constexpr (!std::is_same_v<T, bool>) check_scan<T>(isa, scan);
          });
        }
      }
    }
  }
}

TEST_CASE("emitted sums round like those of the host") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      for (const ReductionKind kind : {ReductionKind::kSum, ReductionKind::kProd}) {
        const ScanFunction function(isa, {dtype, kind});
        visit_dtype(dtype, [&]<class T>() {
          if constexpr (!std::is_integral_v<T>) {
            std::mt19937_64 random(5);
            for (const RowValues values : {RowValues::kRandom, RowValues::kSpecial, RowValues::kHighest}) {
              const std::vector<T> row = test::make_row<T>(values, 777, random);
              CHECK(are_same(function.run(row, GuardedMemory::Side::kEnd, false),
                             function.run(row, GuardedMemory::Side::kEnd, true)));
            }
          }
        });
      }
    }
  }
}

TEST_CASE("a scan returns the carry with which the next elements continue it") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const bool emitted : {false, true}) {
      const ScanFunction sum(isa, {DType::kI32, ReductionKind::kSum});
      sum.run(std::vector<std::int32_t>(1003, -2), GuardedMemory::Side::kEnd, emitted);
      CHECK(sum.carry() == -2006);
      const ScanFunction wide(isa, {DType::kF64, ReductionKind::kSum, true, true});
      wide.run(std::vector<double>(37, 0.5), GuardedMemory::Side::kEnd, emitted);
      CHECK(std::bit_cast<double>(wide.carry()) == 18.5);
    }
  }
}

TEST_CASE("the base is added to the results of a block, and not to its total") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const int form : {0, 1, 2, 3}) {
      const ScanLanes scan = {DType::kF32, ReductionKind::kSum, (form & 1) != 0, (form & 2) != 0, true};
      const LaneFunction function = scan_function(isa, scan);
      const LaneCode code(function);
      for (const std::int64_t n : {0, 1, 100, 517}) {
        const std::vector<float> row(static_cast<std::size_t>(n), 1);
        for (const bool emitted : {false, true}) {
          const GuardedMemory from = test::guarded_row(row, GuardedMemory::Side::kEnd);
          const GuardedMemory to(row.size() * sizeof(float), GuardedMemory::Side::kEnd);
          const std::size_t start = scan.reverse ? row.size() * sizeof(float) : 0;
          const auto at = [](const std::byte* memory) { return reinterpret_cast<std::int64_t>(memory); };
          const std::array<std::int64_t, kMaxLaneArguments> arguments = {
              at(from.data() + start), at(to.data() + start), n, std::bit_cast<std::int32_t>(0x1p20f),
              at(from.data()),         at(to.data())};
          const std::int64_t total = emitted ? code.run(arguments) : evaluate_lanes(function, arguments);
          CHECK(std::bit_cast<float>(static_cast<std::int32_t>(total)) == static_cast<float>(n));
          for (std::int64_t step = 0; step < n; ++step) {
            float result;
            std::memcpy(&result, to.data() + (scan.reverse ? n - 1 - step : step) * 4, sizeof(result));
            CHECK(result == 0x1p20f + static_cast<float>(scan.exclusive ? step : step + 1));
          }
        }
      }
    }
  }
}

/// The total of a row: the result that an exclusive scan would give for the next element.
template <class T>
T total_of(IsaLevel isa, const ScanLanes& scan, const std::vector<T>& row, std::size_t first_part, bool emitted) {
  const auto run = [&](const LaneFunction& function, const std::array<std::int64_t, kMaxLaneArguments>& arguments) {
    return emitted ? LaneCode(function).run(arguments) : evaluate_lanes(function, arguments);
  };
  const auto at = [](const std::byte* memory) { return reinterpret_cast<std::int64_t>(memory); };
  const auto bytes = static_cast<std::size_t>(scan.lane_bits() / 8);
  const GuardedMemory totals(3 * bytes, GuardedMemory::Side::kEnd), result(sizeof(T), GuardedMemory::Side::kEnd);
  const auto first = row.begin() + static_cast<std::ptrdiff_t>(first_part);
  std::size_t number = 0;
  for (const std::vector<T>& part : {std::vector<T>(row.begin(), first), std::vector<T>(first, row.end()), {}}) {
    const GuardedMemory from = test::guarded_row(part, GuardedMemory::Side::kEnd);
    const std::int64_t total = run(function_of(isa, scan, ScanRowsStep::kTotals, &ScanRowsParameters::total),
                                   {at(from.data()), 0, static_cast<std::int64_t>(part.size()), scan_identity(scan)});
    std::memcpy(totals.data() + number++ * bytes, &total, bytes);
  }
  const std::int64_t total = run(function_of(isa, scan, ScanRowsStep::kParts, &ScanRowsParameters::total),
                                 {at(totals.data()), 0, 3, scan_identity(scan)});
  const std::vector<T> next(1);
  const GuardedMemory from = test::guarded_row(next, GuardedMemory::Side::kEnd);
  run(scan_function(isa, {scan.dtype, scan.kind, true}), {at(from.data()), at(result.data()), 1, total});
  T value;
  std::memcpy(&value, result.data(), sizeof(T));
  return value;
}

TEST_CASE("the total of totals is the last result of a scan, in every dtype") {
  for (const IsaLevel isa : host_lane_levels()) {
    std::mt19937_64 random(12);
    for (const DType dtype : kAllDTypes) {
      for (const ReductionKind kind : kKinds) {
        const ScanLanes scan = {dtype, kind};
        CAPTURE(to_text(dtype));
        CAPTURE(to_text(kind));
        visit_dtype(dtype, [&]<class T>() {
          if constexpr (!std::is_same_v<T, bool>) {
            for (const std::int64_t n : {1, 7, 16, 64, 127, 129, 1000}) {
              const std::vector<T> row = exact_row<T>(kind, n, random);
              for (const bool emitted : {false, true}) {
                const T total = total_of(isa, scan, row, static_cast<std::size_t>(n / 3), emitted);
                CHECK(are_same<T>({total}, {expected_scan(scan, row).back()}));
              }
            }
          }
        });
      }
    }
  }
}

/// Calls the routine. A block is one vector, and a level takes three blocks.
template <class T>
std::vector<T> scanned_by_routine(IsaLevel isa, const ScanLanes& scan, const std::vector<T>& row,
                                  std::size_t first_result, bool streams) {
  MappedLanes lanes;
  ScanRowsParameters p{};
  p.block_elements = scan.is_block ? num_lanes_of(isa, scan.lane_bits()) : 0;
  p.sums_per_level = 3;
  append_scan(p, lanes.sink(isa), scan);
  CHECK(p.vector_bytes == (isa == IsaLevel::kAvx512 ? 64 : 32));
  CHECK(p.stream.offset != 0);
  const auto n = static_cast<std::int64_t>(row.size());
  const GuardedMemory from = test::guarded_row(row, GuardedMemory::Side::kEnd);
  const GuardedMemory to((row.size() + 64) * sizeof(T), GuardedMemory::Side::kStart);  // at a page's start
  const std::span<T> results(reinterpret_cast<T*>(to.data()), row.size() + 64);
  std::ranges::fill(results, static_cast<T>(99));
  void* const buffers[] = {from.data(), results.data()};
  const std::int64_t sizes[] = {n, 1, 0, static_cast<std::int64_t>(first_result)};
  const KernelArgs args = {
      .status = nullptr, .workgroup_memory = nullptr, .buffers = buffers, .sizes = sizes, .streams = streams ? 1u : 0u};
  scan_rows(nullptr, call_of(Routine::scan_rows, p).parameters, &args, 0, 1);
  const auto first = results.begin() + static_cast<std::ptrdiff_t>(first_result), last = first + n;
  CHECK(std::ranges::count(results, static_cast<T>(99)) >= 64);
  CHECK(std::all_of(results.begin(), first, [](T value) { return value == static_cast<T>(99); }));
  CHECK(std::all_of(last, results.end(), [](T value) { return value == static_cast<T>(99); }));
  return {first, last};
}

template <class T>
void check_blocks(IsaLevel isa, DType dtype) {
  std::mt19937_64 random(2);
  for (const int form : {0, 1, 2, 3}) {
    const ScanLanes scan = {dtype, ReductionKind::kSum, (form & 1) != 0, (form & 2) != 0, true};
    for (const std::int64_t n : {0, 1, 7, 16, 17, 40, 500, 3000}) {
      const std::vector<T> row = exact_row<T>(scan.kind, n, random);
      CAPTURE(n);
      CHECK(are_same(scanned_by_routine(isa, scan, row, 0, true), expected_scan(scan, row)));
      CHECK(are_same(scanned_by_routine(isa, scan, row, 5, false), expected_scan(scan, row)));
    }
  }
}

TEST_CASE("the routine adds blocks level by level") {
  for (const IsaLevel isa : host_lane_levels()) {
    check_blocks<float>(isa, DType::kF32);
    check_blocks<double>(isa, DType::kF64);
  }
}

template <class T>
void check_streams(IsaLevel isa, DType dtype) {
  std::mt19937_64 random(1);
  for (const int form : {0, 1, 2, 3}) {
    const ScanLanes scan = {dtype, ReductionKind::kMax, (form & 1) != 0, (form & 2) != 0};
    for (const std::int64_t n : {1, 3, 15, 16, 17, 40, 500}) {
      const std::vector<T> row = test::make_row<T>(RowValues::kRandom, n, random);
      const std::vector<T> expected = expected_scan(scan, row);
      for (std::size_t first = 0; first < 17; ++first) {
        CAPTURE(n);
        CAPTURE(first);
        CHECK(are_same(scanned_by_routine(isa, scan, row, first, true), expected));
      }
      CHECK(are_same(scanned_by_routine(isa, scan, row, 3, false), expected));
    }
  }
}

TEST_CASE("the routine streams results at any address") {
  for (const IsaLevel isa : host_lane_levels()) {
    check_streams<float>(isa, DType::kF32);
    check_streams<std::int64_t>(isa, DType::kI64);
  }
  for (const DType dtype : {DType::kBF16, DType::kU8}) {
    KeptLanes lanes;
    ScanRowsParameters p{};
    append_scan(p, lanes.sink(IsaLevel::kAvx2), {dtype});
    CHECK(p.stream.offset == 0);
  }
}

}  // namespace
}  // namespace millrace
