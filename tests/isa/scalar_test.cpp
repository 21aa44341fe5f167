// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic, against formulas in 128 bits.
#include <algorithm>
#include <bit>
#include <optional>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/isa/bare_wave.h"

namespace millrace::isa::test {
namespace {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;
using i64 = std::int64_t;
using u64 = std::uint64_t;

/// The sources, as signed and unsigned numbers of their width, and the old condition code.
struct In {
  u64 a, b;
  i64 sa, sb;
  bool scc;
};
struct Out {
  std::optional<i128> value = std::nullopt;  // its low bits count
  std::optional<bool> scc = std::nullopt;
};

struct ScalarCase {
  const char* name;
  int result_bits, a_bits, b_bits;  // 0: no such operand
  Out (*expected)(In);
};

bool overflows(i128 value) { return value != static_cast<std::int32_t>(value); }
Out sum(i128 value) { return {value, (value >> 32 & 1) != 0}; }
Out nonzero(u64 value, int bits) {
  if (bits == 32) value &= 0xffff'ffff;
  return {value, value != 0};
}
int first_one(u64 value) {
  for (int i = 0; i < 64; ++i) {
    if ((value >> i & 1) != 0) return i;
  }
  return -1;
}
int zeros_in_front(u64 value, int bits) {
  for (int i = 0; i < bits; ++i) {
    if ((value >> (bits - 1 - i) & 1) != 0) return i;
  }
  return -1;
}
int signs_in_front(u64 value, int bits) {
  for (int i = 1; i < bits; ++i) {
    if ((value >> (bits - 1 - i) & 1) != (value >> (bits - 1) & 1)) return i;
  }
  return -1;
}
/// A field of an unsigned value, as s_bfe_u32 and s_bfe_u64 take it.
i128 field(i128 value, u64 packed, int bits) {
  const int offset = static_cast<int>(packed) & (bits - 1), width = static_cast<int>(packed >> 16 & 0x7f);
  if (width == 0) return 0;
  return value >> offset & ((i128{1} << std::min(width, bits)) - 1);
}

const std::vector<ScalarCase>& cases() {
  static const std::vector<ScalarCase> kCases = {
      {"s_mov_b32", 32, 32, 0, [](In x) { return Out{x.a}; }},
      {"s_mov_b64", 64, 64, 0, [](In x) { return Out{x.a}; }},
      {"s_not_b32", 32, 32, 0, [](In x) { return nonzero(~x.a, 32); }},
      {"s_not_b64", 64, 64, 0, [](In x) { return nonzero(~x.a, 64); }},
      {"s_add_u32", 32, 32, 32, [](In x) { return sum(i128{x.a} + x.b); }},
      {"s_add_i32", 32, 32, 32, [](In x) { return Out{i128{x.sa} + x.sb, overflows(i128{x.sa} + x.sb)}; }},
      {"s_addc_u32", 32, 32, 32, [](In x) { return sum(i128{x.a} + x.b + x.scc); }},
      {"s_sub_u32", 32, 32, 32, [](In x) { return Out{i128{x.a} - x.b, x.a < x.b}; }},
      {"s_sub_i32", 32, 32, 32, [](In x) { return Out{i128{x.sa} - x.sb, overflows(i128{x.sa} - x.sb)}; }},
      {"s_subb_u32", 32, 32, 32, [](In x) { return Out{i128{x.a} - x.b - x.scc, i128{x.a} < i128{x.b} + x.scc}; }},
      {"s_add_nc_u64", 64, 64, 64, [](In x) { return Out{i128{x.a} + x.b}; }},
      {"s_sub_nc_u64", 64, 64, 64, [](In x) { return Out{i128{x.a} - x.b}; }},
      {"s_mul_i32", 32, 32, 32, [](In x) { return Out{i128{x.sa} * x.sb}; }},
      {"s_mul_u64", 64, 64, 64, [](In x) { return Out{static_cast<i128>(static_cast<u128>(x.a) * x.b)}; }},
      {"s_mul_hi_u32", 32, 32, 32, [](In x) { return Out{i128{x.a} * x.b >> 32}; }},
      {"s_mul_hi_i32", 32, 32, 32, [](In x) { return Out{i128{x.sa} * x.sb >> 32}; }},
      {"s_min_i32", 32, 32, 32, [](In x) { return Out{std::min(x.sa, x.sb), x.sa < x.sb}; }},
      {"s_max_i32", 32, 32, 32, [](In x) { return Out{std::max(x.sa, x.sb), x.sa >= x.sb}; }},
      {"s_min_u32", 32, 32, 32, [](In x) { return Out{std::min(x.a, x.b), x.a < x.b}; }},
      {"s_max_u32", 32, 32, 32, [](In x) { return Out{std::max(x.a, x.b), x.a >= x.b}; }},
      {"s_lshl2_add_u32", 32, 32, 32, [](In x) { return Out{i128{x.a} * 4 + x.b, (i128{x.a} * 4 + x.b) >> 32 != 0}; }},
      {"s_and_b32", 32, 32, 32, [](In x) { return nonzero(x.a & x.b, 32); }},
      {"s_and_b64", 64, 64, 64, [](In x) { return nonzero(x.a & x.b, 64); }},
      {"s_or_b32", 32, 32, 32, [](In x) { return nonzero(x.a | x.b, 32); }},
      {"s_xor_b64", 64, 64, 64, [](In x) { return nonzero(x.a ^ x.b, 64); }},
      {"s_andn2_b64", 64, 64, 64, [](In x) { return nonzero(x.a & ~x.b, 64); }},
      {"s_and_not1_b32", 32, 32, 32, [](In x) { return nonzero(x.a & ~x.b, 32); }},
      {"s_orn2_b32", 32, 32, 32, [](In x) { return nonzero(x.a | ~x.b, 32); }},
      {"s_nand_b32", 32, 32, 32, [](In x) { return nonzero(~(x.a & x.b), 32); }},
      {"s_nor_b64", 64, 64, 64, [](In x) { return nonzero(~(x.a | x.b), 64); }},
      {"s_xnor_b32", 32, 32, 32, [](In x) { return nonzero(~(x.a ^ x.b), 32); }},
      {"s_lshl_b32", 32, 32, 32, [](In x) { return nonzero(x.a << x.b % 32, 32); }},
      {"s_lshl_b64", 64, 64, 32, [](In x) { return nonzero(x.a << x.b % 64, 64); }},
      {"s_lshr_b32", 32, 32, 32, [](In x) { return nonzero(x.a >> x.b % 32, 32); }},
      {"s_lshr_b64", 64, 64, 32, [](In x) { return nonzero(x.a >> x.b % 64, 64); }},
      {"s_ashr_i32", 32, 32, 32, [](In x) { return nonzero(static_cast<u64>(x.sa >> x.b % 32), 32); }},
      {"s_ashr_i64", 64, 64, 32, [](In x) { return nonzero(static_cast<u64>(x.sa >> x.b % 64), 64); }},
      {"s_bfm_b32", 32, 32, 32, [](In x) { return Out{((i128{1} << x.a % 32) - 1) << x.b % 32}; }},
      {"s_bfe_u32", 32, 32, 32, [](In x) { return nonzero(static_cast<u64>(field(x.a, x.b, 32)), 32); }},
      {"s_bcnt1_i32_b32", 32, 32, 0, [](In x) { return nonzero(static_cast<u64>(__builtin_popcountll(x.a)), 32); }},
      {"s_bcnt1_i32_b64", 32, 64, 0, [](In x) { return nonzero(static_cast<u64>(__builtin_popcountll(x.a)), 32); }},
      {"s_ff1_i32_b32", 32, 32, 0, [](In x) { return Out{first_one(x.a)}; }},
      {"s_ctz_i32_b64", 32, 64, 0, [](In x) { return Out{first_one(x.a)}; }},
      {"s_flbit_i32_b32", 32, 32, 0, [](In x) { return Out{zeros_in_front(x.a, 32)}; }},
      {"s_clz_i32_u64", 32, 64, 0, [](In x) { return Out{zeros_in_front(x.a, 64)}; }},
      {"s_flbit_i32", 32, 32, 0, [](In x) { return Out{signs_in_front(x.a, 32)}; }},
      {"s_cls_i32_i64", 32, 64, 0, [](In x) { return Out{signs_in_front(x.a, 64)}; }},
      {"s_sext_i32_i8", 32, 32, 0, [](In x) { return Out{(x.sa << 56) >> 56}; }},
      {"s_sext_i32_i16", 32, 32, 0, [](In x) { return Out{(x.sa << 48) >> 48}; }},
      {"s_abs_i32", 32, 32, 0, [](In x) { return Out{x.sa < 0 ? -x.sa : x.sa, x.sa != 0}; }},
      {"s_cselect_b32", 32, 32, 32, [](In x) { return Out{x.scc ? x.a : x.b}; }},
      {"s_cselect_b64", 64, 64, 64, [](In x) { return Out{x.scc ? x.a : x.b}; }},
      {"s_pack_ll_b32_b16", 32, 32, 32, [](In x) { return Out{x.a % 65536 + x.b % 65536 * 65536}; }},
      {"s_pack_lh_b32_b16", 32, 32, 32, [](In x) { return Out{x.a % 65536 + x.b / 65536 * 65536}; }},
      {"s_pack_hh_b32_b16", 32, 32, 32, [](In x) { return Out{x.a / 65536 + x.b / 65536 * 65536}; }},
      {"s_cmp_eq_u32", 0, 32, 32, [](In x) { return Out{{}, x.a == x.b}; }},
      {"s_cmp_lg_i32", 0, 32, 32, [](In x) { return Out{{}, x.sa != x.sb}; }},
      {"s_cmp_gt_u32", 0, 32, 32, [](In x) { return Out{{}, x.a > x.b}; }},
      {"s_cmp_ge_i32", 0, 32, 32, [](In x) { return Out{{}, x.sa >= x.sb}; }},
      {"s_cmp_lt_i32", 0, 32, 32, [](In x) { return Out{{}, x.sa < x.sb}; }},
      {"s_cmp_le_u32", 0, 32, 32, [](In x) { return Out{{}, x.a <= x.b}; }},
      {"s_cmp_eq_u64", 0, 64, 64, [](In x) { return Out{{}, x.a == x.b}; }},
      {"s_cmp_lg_u64", 0, 64, 64, [](In x) { return Out{{}, x.a != x.b}; }},
      {"s_bitcmp1_b32", 0, 32, 32, [](In x) { return Out{{}, (x.a >> x.b % 32) % 2 == 1}; }},
      {"s_bitcmp0_b64", 0, 64, 32, [](In x) { return Out{{}, (x.a >> x.b % 64) % 2 == 0}; }},
  };
  return kCases;
}

std::string source_text(int bits, int first) {
  return bits == 64 ? fmt::format("s[{}:{}]", first, first + 1) : fmt::format("s{}", first);
}

/// The instruction on s[4:5] and s[6:7], with its result in s[2:3].
std::string text_of(const ScalarCase& row) {
  std::string text = std::string(row.name) + " ";
  if (row.result_bits != 0) text += source_text(row.result_bits, 2) + ", ";
  text += source_text(row.a_bits, 4);
  if (row.b_bits != 0) text += ", " + source_text(row.b_bits, 6);
  return text;
}

u64 cut(u64 value, int bits) { return bits == 32 ? value & 0xffff'ffff : value; }
i64 as_signed(u64 value, int bits) { return bits == 32 ? static_cast<std::int32_t>(value) : static_cast<i64>(value); }

/// Edges more often than chance would have them.
u64 sample(std::mt19937_64& random) {
  static constexpr u64 kEdges[] = {0, 1, 31, 32, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff, ~u64{0}, u64{1} << 63, 0x8000};
  const u64 choice = random();
  if (choice % 3 == 0) return kEdges[choice / 3 % std::size(kEdges)];
  return choice % 3 == 1 ? random() >> (random() % 64) : random();
}

TEST_CASE("scalar instructions compute what their formulas say") {
  std::mt19937_64 random(5);
  BareWave bare("gfx1100", 32);
  for (const ScalarCase& row : cases()) {
    const std::string text = text_of(row);
    CAPTURE(text);
    for (int trial = 0; trial < 500; ++trial) {
      const u64 a = cut(sample(random), row.a_bits), b = cut(sample(random), row.b_bits == 0 ? 64 : row.b_bits);
      const bool scc = random() % 2 != 0;
      bare.set_scalar(4, a);
      bare.set_scalar(6, b);
      bare.set_scalar(2, 0);
      bare.wave().scc = scc;
      bare.wave().is_scc_undefined = false;
      REQUIRE(bare.run(text) == "");
      const Out expected = row.expected({a, b, as_signed(a, row.a_bits), as_signed(b, row.b_bits), scc});
      CAPTURE(a);
      CAPTURE(b);
      if (expected.value) CHECK(bare.scalar(2) == cut(static_cast<u64>(*expected.value), row.result_bits));
      CHECK(bare.wave().scc == expected.scc.value_or(scc));
      CHECK(bare.undefined_scalar(2) == 0);
    }
  }
}

TEST_CASE("a bit that a scalar instruction calls defined does not depend on undefined bits") {
  std::mt19937_64 random(6);
  BareWave bare("gfx1100", 32);
  for (const ScalarCase& row : cases()) {
    if (row.result_bits == 0) continue;
    const std::string text = text_of(row);
    CAPTURE(text);
    for (int trial = 0; trial < 300; ++trial) {
      const u64 a = cut(sample(random), row.a_bits), b = cut(sample(random), row.b_bits == 0 ? 64 : row.b_bits);
      const u64 undefined_a = cut(random() & random() & random(), row.a_bits);
      const u64 undefined_b = trial % 2 == 0 || row.b_bits == 0 ? 0 : cut(random() & random() & random(), row.b_bits);
      const auto compute = [&](u64 of_a, u64 of_b) {
        bare.set_scalar(4, of_a, undefined_a);
        bare.set_scalar(6, of_b, undefined_b);
        bare.wave().is_scc_undefined = false;
        REQUIRE(bare.run(text) == "");
        return bare.scalar(2, row.result_bits / 32);
      };
      const u64 result = compute(a, b);
      const u64 undefined = bare.undefined_scalar(2, row.result_bits / 32);
      const u64 other = compute(a ^ (undefined_a & random()), b ^ (undefined_b & random()));
      CHECK(((result ^ other) & ~undefined) == 0);
    }
  }
}

TEST_CASE("instructions with a constant of 16 bits extend it") {
  BareWave bare("gfx1100", 32);
  bare.set_scalar(0, 100, 0, 1);
  CHECK(bare.run("s_addk_i32 s0, 0xff80") == "");
  CHECK(bare.scalar(0, 1) == 0xffff'ffe4);
  CHECK(bare.run("s_movk_i32 s0, 0x8000") == "");
  CHECK(bare.scalar(0, 1) == 0xffff'8000);
  CHECK(bare.run("s_mulk_i32 s0, 0xffff") == "");
  CHECK(bare.scalar(0, 1) == 0x8000);
  CHECK(bare.run("s_cmpk_lt_i32 s0, 0x8000") == "");
  CHECK(!bare.wave().scc);
  CHECK(bare.run("s_cmpk_le_u32 s0, 0x8000") == "");
  CHECK(bare.wave().scc);
  CHECK(bare.run("s_bitset1_b32 s0, 31") == "");
  CHECK(bare.run("s_bitset0_b32 s0, 15") == "");
  CHECK(bare.scalar(0, 1) == 0x8000'0000);
}

TEST_CASE("a conditional move of a constant is as defined as the operand that it takes") {
  BareWave bare("gfx1100", 32);
  bare.wave().is_scc_undefined = false;
  for (const bool scc : {false, true}) {
    bare.set_scalar(0, 100, 0xff, 1);
    bare.wave().scc = scc;
    CHECK(bare.run("s_cmovk_i32 s0, 0x8000") == "");
    CHECK(bare.scalar(0, 1) == (scc ? 0xffff'8000 : 100));
    CHECK(bare.undefined_scalar(0, 1) == (scc ? 0 : 0xff));
  }
}

TEST_CASE("a scalar instruction whose result is null does nothing") {
  BareWave bare("gfx1100", 32);
  bare.wave().is_scc_undefined = false;
  bare.wave().scc = true;
  bare.set_scalar(0, 0, 0, 1);
  CHECK(bare.run("s_and_b32 null, s0, s0") == "");
  CHECK(bare.run("s_and_saveexec_b32 null, s0") == "");
  CHECK(bare.wave().scc);
  CHECK(bare.scalar(kExec, 1) == 0xffff'ffff);
}

TEST_CASE("bytes after a kernel's end are not executed") {
  BareWave bare("gfx1100", 32);
  CHECK(bare.run("s_code_end") == "runs past the kernel's end");
}

TEST_CASE("saving EXEC narrows it, and undefined lanes may not reach it") {
  BareWave bare("gfx90a", 64);
  bare.set_scalar(kExec, 0xff00'ff00'ff00'ff00);
  bare.set_scalar(2, 0x0ff0'0ff0'0ff0'0ff0, 0x00f0'0000'0000'0000);
  CHECK(bare.run("s_and_saveexec_b64 s[4:5], s[2:3]") == "");
  CHECK(bare.scalar(4) == 0xff00'ff00'ff00'ff00);
  CHECK(bare.scalar(kExec) == 0x0f00'0f00'0f00'0f00);
  CHECK(bare.wave().scc);
  CHECK(bare.run("s_or_saveexec_b64 s[6:7], s[2:3]") == "undefined data reaches EXEC");
  CHECK(bare.run("s_mov_b64 exec, s[2:3]") == "undefined data reaches EXEC");
}

}  // namespace
}  // namespace millrace::isa::test
