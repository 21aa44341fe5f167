// SPDX-License-Identifier: Apache-2.0
// The functions of an argmax, on the host and emitted, and the routine around them.
#include "jit/lanes/arg_microkernels.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <doctest/doctest.h>

#include "hal/host/routines/arg_rows.h"
#include "hal/host/routines/routine.h"
#include "hal/host/routines/row_pair_walk.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/jit/lanes/row_values.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using test::RowValues;

template <class T>
std::int64_t expected_index(const std::vector<T>& row, bool smallest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const long double now = test::number_of(row[i]), then = test::number_of(row[best]);
    const bool is_better = std::isnan(now) ? !std::isnan(then) : smallest ? now < then : now > then;
    if (is_better) best = i;
  }
  return static_cast<std::int64_t>(best);
}

class ArgFunctions {
 public:
  ArgFunctions(IsaLevel isa, const ArgLanes& lanes) : lanes_(lanes) {
    KeptLanes kept;
    ArgRowsParameters p{};
    append_arg(p, kept.sink(isa), lanes);
    chunk_ = p.chunk_elements;
    few_.emplace(kept[p.find_in_few]);
    survey_.emplace(kept[p.survey_chunks]);
    again_.emplace(kept[p.find_in_chunks]);
  }

  std::int64_t chunk() const { return chunk_; }
  std::int64_t few(const std::byte* row, std::int64_t n, bool emitted) const {
    return few_->run({at(row), n}, emitted);
  }
  std::int64_t chunks(const std::byte* row, std::int64_t n, bool emitted) const {
    const std::int64_t last = n - chunk_;
    FoundInLanes found;
    survey_->run({at(row), n, at(row + last * static_cast<std::int64_t>(size_bytes(lanes_.dtype))), last, at(&found)},
                 emitted);
    return again_->run({at(row), at(&found)}, emitted);
  }
  std::size_t code_bytes() const {
    return few_->code.size_bytes() + survey_->code.size_bytes() + again_->code.size_bytes();
  }

 private:
  struct Function {
    explicit Function(const LaneFunction& f) : function(f), code(f) {}
    std::int64_t run(const std::array<std::int64_t, kMaxLaneArguments>& arguments, bool emitted) const {
      return emitted ? code.run(arguments) : evaluate_lanes(function, arguments);
    }
    LaneFunction function;
    LaneCode code;
  };
  static std::int64_t at(const void* memory) { return reinterpret_cast<std::int64_t>(memory); }

  ArgLanes lanes_;
  std::int64_t chunk_;
  std::optional<Function> few_, survey_, again_;
};

template <class T>
void check_row(const ArgFunctions& functions, const std::vector<T>& row, bool smallest) {
  const auto n = static_cast<std::int64_t>(row.size());
  const std::int64_t expected = expected_index(row, smallest);
  for (const auto side : {GuardedMemory::Side::kStart, GuardedMemory::Side::kEnd}) {
    const GuardedMemory memory = test::guarded_row(row, side);
    for (const bool emitted : {false, true}) {
      CAPTURE(emitted);
      CAPTURE(n);
      CHECK(functions.few(memory.data(), n, emitted) == expected);
      if (n >= functions.chunk()) CHECK(functions.chunks(memory.data(), n, emitted) == expected);
    }
  }
}

template <class T>
void check_dtype(IsaLevel isa, DType dtype) {
  std::mt19937_64 random(7);
  for (const bool smallest : {false, true}) {
    CAPTURE(smallest);
    const ArgFunctions functions(isa, {dtype, smallest});
    CHECK(functions.code_bytes() <= 8 << 10);
    const std::int64_t lanes = num_lanes_of(isa, size_bytes(dtype) == 8 ? 64 : 32);
    for (const RowValues values : test::kAllRowValues) {
      CAPTURE(static_cast<int>(values));
      for (const std::int64_t n : test::sizes_around(lanes, functions.chunk())) {
        check_row(functions, test::make_row<T>(values, n, random), smallest);
      }
    }
    // The best one at each place of two chunks and a bit, and again behind it.
    std::vector<T> row(static_cast<std::size_t>(2 * functions.chunk() + 3), static_cast<T>(5));
    for (std::size_t i = 0; i < row.size(); i += 1 + random() % 7) {
      std::vector<T> one = row;
      one[i] = one[row.size() - 1 - random() % (row.size() - i)] = static_cast<T>(smallest ? 3 : 9);
      check_row(functions, one, smallest);
    }
  }
}

TEST_CASE("the first best element is found in every dtype") {
  for (const IsaLevel isa : host_lane_levels()) {
    CAPTURE(to_text(isa));
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool) continue;
      CAPTURE(to_text(dtype));
      visit_dtype(dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, bool>) check_dtype<T>(isa, dtype);
      });
    }
  }
}

TEST_CASE("zeros of both signs are equal, and a NaN of either sign is found first") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  for (const IsaLevel isa : host_lane_levels()) {
    for (const bool smallest : {false, true}) {
      const ArgFunctions functions(isa, {DType::kF32, smallest});
      for (const float other : {smallest ? 1.0f : -1.0f, smallest ? kInf : -kInf}) {
        for (const std::int64_t n : {5, 300, 1000}) {
          std::vector<float> row(static_cast<std::size_t>(n), other);
          for (const auto& [first, second] : {std::pair{0.0f, -0.0f},
                                              {-0.0f, 0.0f},
                                              {kNan, -kNan},
                                              {-kNan, kNan},
                                              {kInf, kNan},
                                              {-kInf, -kNan},
                                              {other, other}}) {
            row[static_cast<std::size_t>(n / 2)] = first;
            row.back() = second;
            check_row(functions, row, smallest);
          }
        }
      }
    }
  }
}

/// Calls the routine with lanes that hold few places.
std::vector<std::int64_t> indices_by_routine(IsaLevel isa, const std::vector<std::int16_t>& data, std::int64_t rows) {
  MappedLanes lanes;
  ArgRowsParameters p{};
  p.element_bytes = 2;
  p.num_other_dims = 1;
  append_arg(p, lanes.sink(isa), {DType::kI16});
  p.max_at_once = 1000;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(rows), -1);
  void* const buffers[] = {const_cast<std::int16_t*>(data.data()), indices.data()};
  const std::int64_t n = static_cast<std::int64_t>(data.size()) / rows, sizes[] = {n, 1, 0, 0, rows, n, 1};
  const KernelArgs args = {nullptr, nullptr, buffers, sizes};
  arg_rows(nullptr, call_of(Routine::arg_rows, p).parameters, &args, 0, static_cast<std::uint32_t>(rows));
  return indices;
}

TEST_CASE("the routine takes any number of rows, and joins parts of rows whose indices do not fit lanes") {
  for (const IsaLevel isa : host_lane_levels()) {
    std::mt19937_64 random(3);
    for (const std::int64_t rows : {1, 3, 4, 5, 9}) {
      for (const std::int64_t n : {1, 999, 1000, 1001, 5000}) {
        const auto data = test::make_row<std::int16_t>(RowValues::kFew, rows * n, random);
        const std::vector<std::int64_t> indices = indices_by_routine(isa, data, rows);
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::vector<std::int16_t> one(data.begin() + row * n, data.begin() + (row + 1) * n);
          CHECK(indices[static_cast<std::size_t>(row)] == expected_index(one, false));
        }
      }
    }
  }
}

/// Rows that interleave: two blocks of `columns`, each cut into parts.
struct Columns {
  std::int64_t columns, n, parts, max_at_once;
};

/// Checks the indices and the elements that the routine finds of each part.
template <class T>
void check_columns(IsaLevel isa, const ArgLanes& arg, const Columns& test, const std::vector<T>& data) {
  MappedLanes lanes;
  ArgRowsParameters p{};
  p.element_bytes = sizeof(T);
  p.num_other_dims = 1;
  p.has_values = 1;
  append_arg(p, lanes.sink(isa), arg);
  p.max_at_once = std::min(p.max_at_once, test.max_at_once);
  const std::int64_t blocks = 2, results = test.columns * test.parts;
  const GuardedMemory from = test::guarded_row(data, GuardedMemory::Side::kEnd);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(blocks * results), -1);
  std::vector<T> values(indices.size());
  void* const buffers[] = {from.data(), indices.data(), values.data()};
  const std::int64_t sizes[] = {test.n, test.parts, 0, 0, blocks, test.n * test.columns, results};
  const KernelArgs args = {nullptr, nullptr, buffers, sizes};
  arg_rows(nullptr, call_of(Routine::arg_rows, p).parameters, &args, 0,
           static_cast<std::uint32_t>(blocks * test.parts));
  const RowParts parts = {test.n, test.parts};
  for (std::int64_t result = 0; result < blocks * results; ++result) {
    const std::int64_t part = result % test.parts, column = result / test.parts % test.columns,
                       start = parts.start(part);
    const std::int64_t first = result / results * test.n * test.columns + column;
    std::vector<T> row;
    for (std::int64_t i = start; i < parts.end(part); ++i) {
      row.push_back(data[static_cast<std::size_t>(first + i * test.columns)]);
    }
    CAPTURE(column);
    const std::int64_t expected = expected_index(row, arg.smallest), found = indices[static_cast<std::size_t>(result)];
    CHECK(found == start + expected);
    CHECK(std::memcmp(&values[static_cast<std::size_t>(result)], &row[static_cast<std::size_t>(expected)], sizeof(T)) ==
          0);
  }
}

template <class T>
void check_columns_of(IsaLevel isa, DType dtype) {
  std::mt19937_64 random(19);
  for (std::int64_t columns = 2; columns <= ArgRowsParameters::kMaxColumns; columns += 1 + random() % 4) {
    const std::int64_t lanes = num_lanes_of(isa, size_bytes(dtype) == 8 ? 64 : 32);
    const std::int64_t chunk = 8 * lanes / std::gcd(lanes, columns);  // elements of a column
    for (const RowValues values : test::kAllRowValues) {
      const ArgLanes arg = {dtype, random() % 2 == 0, columns};
      for (const std::int64_t n : {std::int64_t{1}, chunk - 1, chunk, chunk + 1, 2 * chunk + 5, std::int64_t{523}}) {
        const bool is_cut = n > 4 * 64 && random() % 2 == 0;
        const Columns test = {columns, n, is_cut ? 3 : 1, random() % 2 == 0 ? 2 * chunk : 1 << 30};
        CAPTURE(static_cast<int>(values));
        CAPTURE(columns);
        CAPTURE(n);
        check_columns(isa, arg, test, test::make_row<T>(values, 2 * n * columns, random));
      }
    }
  }
}

TEST_CASE("the first best element of each of several rows that interleave is found, in every dtype") {
  for (const IsaLevel isa : host_lane_levels()) {
    CAPTURE(to_text(isa));
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool) continue;
      CAPTURE(to_text(dtype));
      visit_dtype(dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, bool>) check_columns_of<T>(isa, dtype);
      });
    }
  }
}

TEST_CASE("the survey of rows that interleave is the same on the host and emitted, and short") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64, DType::kU16, DType::kI64}) {
      for (const std::int64_t columns : {2, 3, 5, 8, 12, 31, 32}) {
        KeptLanes kept;
        ArgRowsParameters p{};
        append_arg(p, kept.sink(isa), {dtype, columns % 2 == 0, columns});
        const LaneFunction& function = kept[p.survey_columns];
        CHECK(verify(function).message() == "");
        const LaneCode code(function);
        CHECK(code.size_bytes() <= 25 << 10);
        const std::int64_t n = 3 * p.chunk_elements + 5, last = n - p.chunk_elements;
        visit_dtype(dtype, [&]<class T>() {
          if constexpr (!std::is_same_v<T, bool>) {
            std::mt19937_64 random(2);
            const std::vector<T> data = test::make_row<T>(RowValues::kSpecial, n * columns, random);
            std::array<FoundInLanes, ArgRowsParameters::kMaxColumns> on_host{}, emitted{};
            const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
            std::array<std::int64_t, kMaxLaneArguments> arguments = {
                at(data.data()), n * columns, at(data.data() + last * columns), last, at(&on_host)};
            evaluate_lanes(function, arguments);
            arguments[4] = at(&emitted);
            code.run(arguments);
            CHECK(std::memcmp(&on_host, &emitted, sizeof(emitted)) == 0);
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace millrace
