// SPDX-License-Identifier: Apache-2.0
// Stores that bypass the caches: which instructions they become, and that both ways store the same bytes.
#include <algorithm>
#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/emit_support.h"

namespace millrace {
namespace {

constexpr std::uint32_t kVectors = 4;

struct Streamed {
  DType dtype;
  std::uint32_t lanes;
};
constexpr Streamed kStreamed[] = {{DType::kF32, 4},  {DType::kF32, 8}, {DType::kF32, 16}, {DType::kF64, 4},
                                  {DType::kF64, 16}, {DType::kI64, 2}, {DType::kF16, 8},  {DType::kBF16, 16},
                                  {DType::kU8, 16},  {DType::kU8, 32}, {DType::kI32, 4}};

/// y[i] = x[i] for n elements, a multiple of four vectors. Bools are x[i] != 0.
MachineKernel copy(const Streamed& streamed, bool to_bool) {
  MachineBuilder b("copy");
  const MemoryHandle x = b.buffer("x", streamed.dtype, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", to_bool ? DType::kBool : streamed.dtype, BufferAccess::kWrite);
  const std::uint32_t step = kVectors * streamed.lanes;
  b.for_loop(b.i64(0), b.size(Dim("n")), b.i64(step), {}, [&](MachineValue i, const MachineBuilder::Values&) {
    std::array<MachineValue, kVectors> offsets{}, values{};
    for (std::uint32_t v = 0; v < kVectors; ++v) {
      offsets[v] = b.add(i, b.i64(std::int64_t{v} * streamed.lanes));
      values[v] = b.load(x, offsets[v], streamed.lanes);
      if (to_bool) values[v] = b.convert(DType::kBool, values[v]);
    }
    for (std::uint32_t v = 0; v < kVectors; ++v) b.store_streaming(y, offsets[v], values[v]);
    return MachineBuilder::Values{};
  });
  return b.finish();
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("streaming stores bypass the caches if the call says so, and store the same bytes otherwise") {
  alignas(64) std::array<std::uint8_t, 2048> x{}, y{};
  std::iota(x.begin(), x.end(), std::uint8_t{1});
  for (const IsaLevel isa : host_isa_levels()) {
    for (const Streamed& streamed : kStreamed) {
      CAPTURE(to_text(isa));
      CAPTURE(to_text(streamed.dtype));
      CAPTURE(streamed.lanes);
      const EmittedKernel kernel(copy(streamed, false), isa, {}, {.want_ir = true, .want_asm = true});
      INFO(kernel.assembly());
      const std::size_t vector_bytes = streamed.lanes * size_bytes(streamed.dtype);
      const std::size_t register_bytes = TargetSpec{.isa = isa}.vector_bytes();
      CHECK(count(kernel.assembly(), "movnt") == kVectors * std::max<std::size_t>(vector_bytes / register_bytes, 1));
      CHECK(count(kernel.output().ir, "\nstreaming") == 1);
      const auto n = static_cast<std::int64_t>(3 * kVectors * streamed.lanes);
      for (const bool streams : {false, true}) {
        y.fill(0);
        CHECK(kernel.run({x.data(), y.data()}, {n}, 1, nullptr, streams) == 0);
        const auto end = y.begin() + n * static_cast<std::ptrdiff_t>(size_bytes(streamed.dtype));
        CHECK(std::equal(y.begin(), end, x.begin()));
        CHECK(std::all_of(end, y.end(), [](std::uint8_t byte) { return byte == 0; }));
      }
    }
  }
}

TEST_CASE("streaming stores write bools as bytes 0 and 1") {
  alignas(64) std::array<std::uint8_t, 64> x{}, y{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i % 3);
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel kernel(copy({DType::kU8, 16}, true), isa, {}, {.want_asm = true});
    INFO(kernel.assembly());
    CHECK(count(kernel.assembly(), "movnt") == kVectors);
    for (const bool streams : {false, true}) {
      y.fill(99);
      CHECK(kernel.run({x.data(), y.data()}, {64}, 1, nullptr, streams) == 0);
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == (x[i] != 0 ? 1 : 0));
    }
  }
}

}  // namespace
}  // namespace millrace
