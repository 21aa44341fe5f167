// SPDX-License-Identifier: Apache-2.0
// The bytes that the analysis says a nest touches, against those that a walk over all of its points finds.
#include "jit/ir/touched_bytes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "jit/ir/affine.h"
#include "tests/jit/map/nests.h"
#include "tests/support/byte_bits.h"

namespace millrace {
namespace {

struct Walked {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  std::set<std::int64_t> bytes = {};
  bool is_empty() const { return begin > end; }
  void add(std::int64_t first, std::int64_t behind) {
    begin = std::min(begin, first);
    end = std::max(end, behind);
    for (std::int64_t byte = first; byte < behind; ++byte) bytes.insert(byte);
  }
};

std::int64_t value(const SizeExpr& size, const SymbolValues& symbols) { return size.evaluate(symbols).value(); }

/// Where the access goes, point by point, in plain loops.
Walked walk(const Access& access, const KernelTensor& tensor, std::span<const LoopDim> domain,
            const SymbolValues& symbols) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(tensor.type.dtype));
  Walked walked;
  std::vector<std::int64_t> point(domain.size());
  const std::function<void(std::size_t)> go = [&](std::size_t d) {
    if (d < domain.size()) {
      for (point[d] = 0; point[d] < value(domain[d].extent, symbols); ++point[d]) go(d + 1);
      return;
    }
    std::int64_t element = value(tensor.layout.offset, symbols);
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      std::int64_t index = value(access.indices[axis].offset, symbols);
      for (std::size_t i = 0; i < domain.size(); ++i) {
        index += value(access.indices[axis].coefficients[i], symbols) * point[i];
      }
      element += index * value(tensor.layout.strides[axis], symbols);
    }
    walked.add(element * bytes, (element + 1) * bytes);
  };
  go(0);
  return walked;
}

/// A nest that copies, with accesses that nobody would write: strides of either sign, steps, and offsets.
class RandomNests {
 public:
  explicit RandomNests(std::uint64_t seed) : random_(seed) {}

  LoopKernel next() {
    LoopKernel kernel;
    const std::int64_t num_dims = pick(1, 3);
    for (std::int64_t d = 0; d < num_dims; ++d) kernel.domain.push_back({"d", extent(), false});
    kernel.operands = {tensor(), tensor()};
    kernel.results = {tensor()};
    kernel.loads = {access(0, kernel), access(1, kernel)};
    if (pick(0, 1) == 1) kernel.loads.push_back(access(1, kernel));
    kernel.stores = {access(0, kernel)};
    return kernel;
  }

  SymbolValues symbols() { return {{"n", pick(0, 4)}, {"m", pick(1, 4)}}; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  SizeExpr extent() {
    const std::int64_t kind = pick(0, 5);
    return kind == 0 ? SizeExpr(Dim("n")) : kind == 1 ? SizeExpr(Dim("m").at_least(1)) : SizeExpr(pick(0, 4));
  }
  SizeExpr step() {
    const std::int64_t kind = pick(0, 6);
    return kind == 0 ? SizeExpr(Dim("n")) : kind == 1 ? SizeExpr(Dim("m").at_least(1)) * 3 : SizeExpr(pick(-4, 12));
  }
  KernelTensor tensor() {
    KernelTensor made{"t", {pick(0, 1) == 0 ? DType::kF32 : DType::kU8, {4, 4}}, {pick(0, 100), {step(), step()}}};
    return made;
  }
  Access access(std::uint32_t number, const LoopKernel& kernel) {
    Access made{.tensor = number, .indices = {}, .dynamic_dim = {}, .fill = {}};
    for (int axis = 0; axis < 2; ++axis) {
      AffineIndex index = constant_index(kernel.domain.size(), pick(0, 3));
      for (SizeExpr& coefficient : index.coefficients) coefficient = pick(0, 2) == 0 ? pick(-2, 2) : 0;
      made.indices.push_back(std::move(index));
    }
    return made;
  }

  std::mt19937_64 random_;
};

TEST_CASE("a nest touches nothing outside of its ranges, and constant ranges are exact") {
  int exact = 0, symbolic = 0, unknown = 0, in_rows = 0, in_rows_of_rows = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    CAPTURE(seed);
    RandomNests random(seed);
    const LoopKernel kernel = random.next();
    const SymbolValues symbols = random.symbols();
    const std::vector<std::optional<ByteRange>> ranges = touched_bytes(kernel);
    REQUIRE(ranges.size() == 3);
    for (std::size_t buffer = 0; buffer < 3; ++buffer) {
      unknown += !ranges[buffer];
      if (!ranges[buffer]) continue;
      const std::int64_t begin = value(ranges[buffer]->offset_bytes, symbols);
      const std::int64_t end = begin + value(ranges[buffer]->length_bytes, symbols);
      const bool is_store = buffer == 2;
      Walked all;
      for (const Access& access : is_store ? kernel.stores : kernel.loads) {
        if (access.tensor != (is_store ? 0 : buffer)) continue;
        const KernelTensor& tensor = is_store ? kernel.results[0] : kernel.operands[buffer];
        const Walked walked = walk(access, tensor, kernel.domain, symbols);
        all.begin = std::min(all.begin, walked.begin);
        all.end = std::max(all.end, walked.end);
        all.bytes.insert(walked.bytes.begin(), walked.bytes.end());
      }
      if (all.is_empty()) continue;
      REQUIRE(begin <= all.begin);
      REQUIRE(all.end <= end);
      const std::size_t num_levels = ranges[buffer]->rows.size();
      std::int64_t count = 0;
      for (std::int64_t i = 0; num_levels > 0 && i < end - begin; ++i) {
        count += test::has_byte(*ranges[buffer], i, symbols);
      }
      REQUIRE(std::ranges::all_of(
          all.bytes, [&](std::int64_t at) { return test::has_byte(*ranges[buffer], at - begin, symbols); }));
      if (num_levels > 0) REQUIRE(static_cast<std::int64_t>(all.bytes.size()) == count);
      in_rows += num_levels == 1;
      in_rows_of_rows += num_levels > 1;
      const bool is_constant = ranges[buffer]->offset_bytes.is_constant() && ranges[buffer]->length_bytes.is_constant();
      (is_constant ? exact : symbolic) += 1;
      if (!is_constant) continue;
      REQUIRE(begin == all.begin);
      REQUIRE(end == all.end);
    }
  }
  CHECK(exact > 1000);
  CHECK(symbolic > 200);
  CHECK(unknown > 200);
  CHECK(in_rows > 200);
  CHECK(in_rows_of_rows > 0);
}

TEST_CASE("a dense tensor of symbolic extents is touched as a whole, though it may be empty") {
  const Dim m("m"), n("n");
  const std::vector<std::optional<ByteRange>> ranges = touched_bytes(test::transpose_nest(DType::kF32, m, n));
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[1] == ByteRange{0, SizeExpr(m) * n * 4});
}

TEST_CASE("columns of a matrix are touched in rows, of symbolic extents too") {
  const Dim n = Dim("n").at_least(1);
  for (const SizeExpr& rows : {SizeExpr(5), SizeExpr(n)}) {
    LoopKernelBuilder nest("columns");
    const AffineIndex i = nest.parallel("i", rows), j = nest.parallel("j", 3);
    const TensorType type{DType::kF32, {rows, 8}};
    nest.store("y", type, {i, j + 2}, nest.load(nest.epilogue(), nest.operand("x", type), {i, j + 5}));
    const std::vector<std::optional<ByteRange>> ranges = touched_bytes(nest.finish().value());
    CHECK(ranges[0] == ByteRange{20, (rows - 1) * 32 + 12, {{32, 12}}});
    CHECK(ranges[1] == ByteRange{8, (rows - 1) * 32 + 12, {{32, 12}}});
  }
}

TEST_CASE("the inside of padded images is touched in rows of rows") {
  const SizeExpr n = Dim("n").at_least(1), h = Dim("h").at_least(2);
  for (const auto& [count, height] : {std::pair<SizeExpr, SizeExpr>{5, 4}, {n, h}}) {
    for (const SizeExpr& channels : {SizeExpr(1), SizeExpr(2)}) {
      LoopKernelBuilder nest("inside");
      const std::vector<AffineIndex> at = nest.parallel_dims({count, channels, height, 3});
      const TensorType type{DType::kF32, {count, channels, height + 2, 8}};
      nest.store("y", type, {at[0], at[1], at[2] + 1, at[3] + 4}, nest.epilogue().constant(DType::kF32, 1));
      const SizeExpr image = (height + 2) * 32, rows = (height - 1) * 32 + 12;
      CHECK(touched_bytes(nest.finish().value())[0] ==
            ByteRange{48, (count * channels - 1) * image + rows, {{image, rows}, {32, 12}}});
    }
  }
}

TEST_CASE("padding and gathers may touch all of a buffer") {
  LoopKernel kernel = test::transpose_nest(DType::kF32, 4, 8);
  CHECK(touched_bytes(kernel)[0] == ByteRange{0, 128});
  kernel.loads[0].dynamic_dim = 0;
  CHECK(touched_bytes(kernel)[0] == std::nullopt);
  kernel.loads[0].dynamic_dim.reset();
  kernel.loads[0].fill = Scalar{};
  CHECK(touched_bytes(kernel)[0] == std::nullopt);
}

}  // namespace
}  // namespace millrace
