// SPDX-License-Identifier: Apache-2.0
// The code of conversions between f16 and f32: the same bits on every level as Half, whose own test compares it with a
// plain reference, and instructions where the level has them.
#include <bit>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "millrace/base/float16.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/support/kernels/machine_kernels.h"

namespace millrace {
namespace {

using Convert = MachineValue (MachineBuilder::*)(MachineValue);

/// y[i] = convert(x[i]) for n elements.
MachineKernel conversion(DType from, DType to, Convert convert, std::uint32_t lanes) {
  MachineBuilder b("convert");
  const MemoryHandle x = b.buffer("x", from, BufferAccess::kRead), y = b.buffer("y", to, BufferAccess::kWrite);
  b.for_loop(b.i64(0), b.size(Dim("n")), b.i64(lanes), {}, [&](MachineValue i, const MachineBuilder::Values&) {
    b.store(y, i, (b.*convert)(b.load(x, i, lanes)));
    return MachineBuilder::Values{};
  });
  return b.finish();
}

template <class From, class To>
std::size_t num_wrong(const MachineKernel& kernel, std::vector<From> from, const std::vector<To>& expected) {
  const auto n = static_cast<std::int64_t>(from.size());
  std::size_t wrong = 0;
  const auto count = [&](const std::vector<To>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) wrong += std::memcmp(&found[i], &expected[i], sizeof(To)) != 0;
  };
  std::vector<To> found(from.size());
  test::run_interpreted(kernel, {from.data(), found.data()}, {n}, 1);
  count(found);
  for (const IsaLevel isa : host_isa_levels()) {
    found.assign(from.size(), To{});
    EmittedKernel(kernel, isa).run({from.data(), found.data()}, {n});
    count(found);
  }
  return wrong;
}

TEST_CASE("code widens every f16 to the bits of its value, and narrows f32 to the nearest, ties to even") {
  std::vector<std::uint16_t> halves(65536), narrowed;
  std::vector<float> widened, floats;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
    const auto value = static_cast<float>(Half::from_bits(halves[i]));
    widened.push_back(value);
    // The value, the middle to the next one, its neighbours, and anything.
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (const std::uint32_t f :
         {bits, bits + 0x1000, bits + 0xfff, bits + 0x1001, static_cast<std::uint32_t>(random())}) {
      floats.push_back(std::bit_cast<float>(f));
    }
  }
  floats.resize(floats.size() / 16 * 16);
  for (const float f : floats) narrowed.push_back(Half(f).bits);
  for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u}) {
    CAPTURE(lanes);
    CHECK(num_wrong(conversion(DType::kU16, DType::kF32, &MachineBuilder::widen_f16, lanes), halves, widened) == 0);
    CHECK(num_wrong(conversion(DType::kF32, DType::kU16, &MachineBuilder::narrow_f16, lanes), floats, narrowed) == 0);
  }
}

TEST_CASE("a level with F16C computes on f16 in whole vectors of f32") {
  MachineBuilder b("relu");
  const MemoryHandle x = b.buffer("x", DType::kF16, BufferAccess::kReadWrite);
  const MachineValue wide = b.widen_f16(b.load(x, b.i64(0), 8));
  const MachineValue zero = b.constant_like(wide, 0);
  const MachineValue two = b.constant_like(wide, 2);
  b.store(x, b.i64(0),
          b.narrow_f16(b.mul(b.add(b.select(b.lt(wide, b.splat(zero, 8)), b.neg(wide), wide), b.splat(two, 8)), wide)));
  const MachineKernel kernel = b.finish();
  for (const IsaLevel isa : host_isa_levels()) {
    if (isa == IsaLevel::kBaseline) continue;
    const EmittedKernel emitted(kernel, isa, {}, {.want_asm = true});
    INFO(emitted.assembly());
    const auto count = [&](std::string_view part) {
      std::size_t found = 0;
      for (std::size_t at = 0; (at = emitted.assembly().find(part, at)) != std::string::npos; ++at) ++found;
      return found;
    };
    CHECK(count("vcvtph2ps") == 1);
    CHECK(count("vcvtps2ph") == 1);
    for (const char* scalar : {"maxss", "cmpss", "addss", "mulss"}) CHECK(count(scalar) == 0);
  }
}

}  // namespace
}  // namespace millrace
