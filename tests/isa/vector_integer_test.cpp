// SPDX-License-Identifier: Apache-2.0
// Vector integer instructions, against arithmetic on 128-bit numbers, bit loops and sorting, none of it from the table.
#include <algorithm>
#include <bitset>

#include <doctest/doctest.h>

#include "tests/isa/vector_operands.h"

namespace millrace::isa::test {
namespace {

__extension__ typedef __int128 Wide;
using U = std::uint64_t;

/// A source as a number of `bits` bits.
Wide u(U x, int bits) { return static_cast<Wide>(bits == 64 ? x : x & ((U{1} << bits) - 1)); }
Wide s(U x, int bits) {
  const Wide value = u(x, bits);
  return (value >> (bits - 1) & 1) != 0 ? value - (Wide{1} << bits) : value;
}
U low(Wide x) { return static_cast<U>(x); }
Wide middle_of(Wide a, Wide b, Wide c) {
  Wide all[] = {a, b, c};
  std::sort(all, all + 3);
  return all[1];
}
/// The bits of a word, lowest first.
U bits_of(int count, auto bit) {
  U word = 0;
  for (int i = 0; i < count; ++i) word |= U{bit(i)} << i;
  return word;
}
bool bit(U x, U i) { return (x >> i & 1) != 0; }
U byte(U x, U i) { return x >> (8 * i) & 0xff; }

struct Case {
  const char* name;
  int bits;  // of the result
  U (*expected)(U a, U b, U c);
};

const Case kCases[] = {
    {"v_add_u32", 32, [](U a, U b, U) { return low(u(a, 32) + u(b, 32)); }},
    {"v_add_nc_u32", 32, [](U a, U b, U) { return low(u(a, 32) + u(b, 32)); }},
    {"v_sub_u32", 32, [](U a, U b, U) { return low(u(a, 32) - u(b, 32)); }},
    {"v_sub_nc_u32", 32, [](U a, U b, U) { return low(u(a, 32) - u(b, 32)); }},
    {"v_subrev_u32", 32, [](U a, U b, U) { return low(u(b, 32) - u(a, 32)); }},
    {"v_subrev_nc_u32", 32, [](U a, U b, U) { return low(u(b, 32) - u(a, 32)); }},
    {"v_add3_u32", 32, [](U a, U b, U c) { return low(u(a, 32) + u(b, 32) + u(c, 32)); }},
    {"v_add_lshl_u32", 32, [](U a, U b, U c) { return low(u(a, 32) + u(b, 32)) << (c % 32); }},
    {"v_lshl_add_u32", 32, [](U a, U b, U c) { return low((u(a, 32) << (b % 32)) + u(c, 32)); }},
    {"v_lshl_add_u64", 64, [](U a, U b, U c) { return low((u(a, 64) << (b % 8)) + u(c, 64)); }},
    {"v_xad_u32", 32, [](U a, U b, U c) { return (a ^ b) + c; }},
    {"v_mul_lo_u32", 32, [](U a, U b, U) { return low(u(a, 32) * u(b, 32)); }},
    {"v_mul_hi_u32", 32, [](U a, U b, U) { return low(u(a, 32) * u(b, 32) >> 32); }},
    {"v_mul_hi_i32", 32, [](U a, U b, U) { return low(s(a, 32) * s(b, 32) >> 32); }},
    {"v_mul_u32_u24", 32, [](U a, U b, U) { return low(u(a, 24) * u(b, 24)); }},
    {"v_mul_hi_u32_u24", 32, [](U a, U b, U) { return low(u(a, 24) * u(b, 24) >> 32); }},
    {"v_mul_i32_i24", 32, [](U a, U b, U) { return low(s(a, 24) * s(b, 24)); }},
    {"v_mul_hi_i32_i24", 32, [](U a, U b, U) { return low(s(a, 24) * s(b, 24) >> 32); }},
    {"v_mad_u32_u24", 32, [](U a, U b, U c) { return low(u(a, 24) * u(b, 24) + u(c, 32)); }},
    {"v_mad_i32_i24", 32, [](U a, U b, U c) { return low(s(a, 24) * s(b, 24) + u(c, 32)); }},
    {"v_mad_u32_u16", 32, [](U a, U b, U c) { return low(u(a, 16) * u(b, 16) + u(c, 32)); }},
    {"v_mad_i32_i16", 32, [](U a, U b, U c) { return low(s(a, 16) * s(b, 16) + u(c, 32)); }},
    {"v_dot4_u32_u8", 32, [](U a, U b, U c) {
       for (U i = 0; i < 4; ++i) c += byte(a, i) * byte(b, i);
       return c;
     }},
    {"v_dot4_i32_i8", 32, [](U a, U b, U c) {
       for (U i = 0; i < 4; ++i) c += low(s(byte(a, i), 8) * s(byte(b, i), 8));
       return c;
     }},
    {"v_sad_u8", 32, [](U a, U b, U c) {
       for (U i = 0; i < 4; ++i) c += std::max(byte(a, i), byte(b, i)) - std::min(byte(a, i), byte(b, i));
       return c;
     }},
    {"v_sad_u32", 32, [](U a, U b, U c) { return low(std::max(u(a, 32), u(b, 32)) - std::min(u(a, 32), u(b, 32))) + c; }},
    {"v_min_u32", 32, [](U a, U b, U) { return low(std::min(u(a, 32), u(b, 32))); }},
    {"v_max_u32", 32, [](U a, U b, U) { return low(std::max(u(a, 32), u(b, 32))); }},
    {"v_min_i32", 32, [](U a, U b, U) { return low(std::min(s(a, 32), s(b, 32))); }},
    {"v_max_i32", 32, [](U a, U b, U) { return low(std::max(s(a, 32), s(b, 32))); }},
    {"v_min3_u32", 32, [](U a, U b, U c) { return low(std::min({u(a, 32), u(b, 32), u(c, 32)})); }},
    {"v_max3_u32", 32, [](U a, U b, U c) { return low(std::max({u(a, 32), u(b, 32), u(c, 32)})); }},
    {"v_min3_i32", 32, [](U a, U b, U c) { return low(std::min({s(a, 32), s(b, 32), s(c, 32)})); }},
    {"v_max3_i32", 32, [](U a, U b, U c) { return low(std::max({s(a, 32), s(b, 32), s(c, 32)})); }},
    {"v_med3_u32", 32, [](U a, U b, U c) { return low(middle_of(u(a, 32), u(b, 32), u(c, 32))); }},
    {"v_med3_i32", 32, [](U a, U b, U c) { return low(middle_of(s(a, 32), s(b, 32), s(c, 32))); }},
    {"v_maxmin_u32", 32, [](U a, U b, U c) { return low(std::min(std::max(u(a, 32), u(b, 32)), u(c, 32))); }},
    {"v_minmax_i32", 32, [](U a, U b, U c) { return low(std::max(std::min(s(a, 32), s(b, 32)), s(c, 32))); }},
    {"v_mov_b32", 32, [](U a, U, U) { return a; }},
    {"v_mov_b64", 64, [](U a, U, U) { return a; }},
    {"v_cndmask_b32", 32, [](U a, U b, U c) { return bit(c, 0) ? b : a; }},
    {"v_not_b32", 32, [](U a, U, U) { return ~a; }},
    {"v_and_b32", 32, [](U a, U b, U) { return a & b; }},
    {"v_or_b32", 32, [](U a, U b, U) { return a | b; }},
    {"v_xor_b32", 32, [](U a, U b, U) { return a ^ b; }},
    {"v_xnor_b32", 32, [](U a, U b, U) { return ~(a ^ b); }},
    {"v_and_or_b32", 32, [](U a, U b, U c) { return (a & b) | c; }},
    {"v_or3_b32", 32, [](U a, U b, U c) { return a | b | c; }},
    {"v_xor3_b32", 32, [](U a, U b, U c) { return a ^ b ^ c; }},
    {"v_lshl_or_b32", 32, [](U a, U b, U c) { return low(u(a, 32) << (b % 32)) | c; }},
    {"v_lshlrev_b32", 32, [](U a, U b, U) { return low(u(b, 32) << (a % 32)); }},
    {"v_lshrrev_b32", 32, [](U a, U b, U) { return low(u(b, 32) >> (a % 32)); }},
    {"v_ashrrev_i32", 32, [](U a, U b, U) { return low(s(b, 32) >> (a % 32)); }},
    {"v_lshlrev_b64", 64, [](U a, U b, U) { return low(u(b, 64) << (a % 64)); }},
    {"v_lshrrev_b64", 64, [](U a, U b, U) { return low(u(b, 64) >> (a % 64)); }},
    {"v_ashrrev_i64", 64, [](U a, U b, U) { return low(s(b, 64) >> (a % 64)); }},
    {"v_bfe_u32", 32, [](U a, U b, U c) { return c % 32 == 0 ? 0 : low(u(low(u(a, 32) >> (b % 32)), static_cast<int>(c % 32))); }},
    {"v_bfe_i32", 32, [](U a, U b, U c) { return c % 32 == 0 ? 0 : low(s(low(s(a, 32) >> (b % 32)), static_cast<int>(c % 32))); }},
    {"v_bfi_b32", 32, [](U a, U b, U c) { return bits_of(32, [&](int i) { return bit(a, U(i)) ? bit(b, U(i)) : bit(c, U(i)); }); }},
    {"v_bfm_b32", 32, [](U a, U b, U) { return bits_of(32, [&](int i) { return U(i) >= b % 32 && U(i) < b % 32 + a % 32; }); }},
    {"v_bfrev_b32", 32, [](U a, U, U) { return bits_of(32, [&](int i) { return bit(a, U(31 - i)); }); }},
    {"v_perm_b32", 32, [](U a, U b, U c) {
       U result = 0;
       for (U i = 0; i < 4; ++i) {
         const U selector = byte(c, i), data = a << 32 | (b & 0xffff'ffff);
         U chosen = 0xff;
         if (selector < 8) chosen = byte(data, selector);
         else if (selector < 12) chosen = bit(data, 16 * (selector - 8) + 15) ? 0xff : 0;
         else if (selector == 12) chosen = 0;
         result |= chosen << (8 * i);
       }
       return result;
     }},
    {"v_alignbit_b32", 32, [](U a, U b, U c) { return low((u(a, 32) << 32 | u(b, 32)) >> (c % 32)); }},
    {"v_alignbyte_b32", 32, [](U a, U b, U c) { return low((u(a, 32) << 32 | u(b, 32)) >> (c % 4 * 8)); }},
    {"v_bcnt_u32_b32", 32, [](U a, U b, U) { return std::bitset<32>(a).count() + b; }},
    {"v_ffbh_u32", 32, [](U a, U, U) {
       for (U i = 0; i < 32; ++i) if (bit(a, 31 - i)) return i;
       return ~U{0};
     }},
    {"v_cls_i32", 32, [](U a, U, U) {
       for (U i = 1; i < 32; ++i) if (bit(a, 31 - i) != bit(a, 31)) return i;
       return ~U{0};
     }},
    {"v_ffbl_b32", 32, [](U a, U, U) {
       for (U i = 0; i < 32; ++i) if (bit(a, i)) return i;
       return ~U{0};
     }},
    // Operands of 16 bits.
    {"v_add_u16", 16, [](U a, U b, U) { return a + b; }},
    {"v_sub_nc_u16", 16, [](U a, U b, U) { return a - b; }},
    {"v_subrev_u16", 16, [](U a, U b, U) { return b - a; }},
    {"v_mul_lo_u16", 16, [](U a, U b, U) { return a * b; }},
    {"v_mad_u16", 16, [](U a, U b, U c) { return a * b + c; }},
    {"v_mad_legacy_u16", 16, [](U a, U b, U c) { return a * b + c; }},
    {"v_lshlrev_b16", 16, [](U a, U b, U) { return low(u(b, 16) << (a % 16)); }},
    {"v_lshrrev_b16", 16, [](U a, U b, U) { return low(u(b, 16) >> (a % 16)); }},
    {"v_ashrrev_i16", 16, [](U a, U b, U) { return low(s(b, 16) >> (a % 16)); }},
    {"v_min_u16", 16, [](U a, U b, U) { return low(std::min(u(a, 16), u(b, 16))); }},
    {"v_max_u16", 16, [](U a, U b, U) { return low(std::max(u(a, 16), u(b, 16))); }},
    {"v_min_i16", 16, [](U a, U b, U) { return low(std::min(s(a, 16), s(b, 16))); }},
    {"v_max_i16", 16, [](U a, U b, U) { return low(std::max(s(a, 16), s(b, 16))); }},
    {"v_min3_u16", 16, [](U a, U b, U c) { return low(std::min({u(a, 16), u(b, 16), u(c, 16)})); }},
    {"v_max3_i16", 16, [](U a, U b, U c) { return low(std::max({s(a, 16), s(b, 16), s(c, 16)})); }},
    {"v_med3_i16", 16, [](U a, U b, U c) { return low(middle_of(s(a, 16), s(b, 16), s(c, 16))); }},
    {"v_med3_u16", 16, [](U a, U b, U c) { return low(middle_of(u(a, 16), u(b, 16), u(c, 16))); }},
};

/// Each operand has two halves.
const Case kPackedCases[] = {
    {"v_pk_add_u16", 16, [](U a, U b, U) { return a + b; }},
    {"v_pk_sub_i16", 16, [](U a, U b, U) { return a - b; }},
    {"v_pk_mul_lo_u16", 16, [](U a, U b, U) { return a * b; }},
    {"v_pk_mad_u16", 16, [](U a, U b, U c) { return a * b + c; }},
    {"v_pk_min_u16", 16, [](U a, U b, U) { return low(std::min(u(a, 16), u(b, 16))); }},
    {"v_pk_max_u16", 16, [](U a, U b, U) { return low(std::max(u(a, 16), u(b, 16))); }},
    {"v_pk_min_i16", 16, [](U a, U b, U) { return low(std::min(s(a, 16), s(b, 16))); }},
    {"v_pk_max_i16", 16, [](U a, U b, U) { return low(std::max(s(a, 16), s(b, 16))); }},
    {"v_pk_lshlrev_b16", 16, [](U a, U b, U) { return low(u(b, 16) << (a % 16)); }},
    {"v_pk_ashrrev_i16", 16, [](U a, U b, U) { return low(s(b, 16) >> (a % 16)); }},
};

/// A result that has more bits than it can hold: a carry, or the sign of a difference.
struct CarryCase {
  const char* name;
  int bits;
  Wide (*expected)(U a, U b, U c);
};
const CarryCase kCarryCases[] = {
    {"v_add_co_u32", 32, [](U a, U b, U) { return u(a, 32) + u(b, 32); }},
    {"v_sub_co_u32", 32, [](U a, U b, U) { return u(a, 32) - u(b, 32); }},
    {"v_subrev_co_u32", 32, [](U a, U b, U) { return u(b, 32) - u(a, 32); }},
    {"v_addc_co_u32", 32, [](U a, U b, U c) { return u(a, 32) + u(b, 32) + u(c, 1); }},
    {"v_add_co_ci_u32", 32, [](U a, U b, U c) { return u(a, 32) + u(b, 32) + u(c, 1); }},
    {"v_subb_co_u32", 32, [](U a, U b, U c) { return u(a, 32) - u(b, 32) - u(c, 1); }},
    {"v_sub_co_ci_u32", 32, [](U a, U b, U c) { return u(a, 32) - u(b, 32) - u(c, 1); }},
    {"v_subbrev_co_u32", 32, [](U a, U b, U c) { return u(b, 32) - u(a, 32) - u(c, 1); }},
    {"v_subrev_co_ci_u32", 32, [](U a, U b, U c) { return u(b, 32) - u(a, 32) - u(c, 1); }},
    {"v_mad_u64_u32", 64, [](U a, U b, U c) { return u(a, 32) * u(b, 32) + u(c, 64); }},
    {"v_mad_co_u64_u32", 64, [](U a, U b, U c) { return u(a, 32) * u(b, 32) + u(c, 64); }},
    {"v_mad_i64_i32", 64, [](U a, U b, U c) { return s(a, 32) * s(b, 32) + s(c, 64); }},
    {"v_mad_co_i64_i32", 64, [](U a, U b, U c) { return s(a, 32) * s(b, 32) + s(c, 64); }},
};

/// Runs a row on awkward values, and calls check(lane's sources, lane) for each lane.
void run_on_awkward(const char* name, const char* gfx, std::uint32_t num_lanes, auto check) {
  CAPTURE(name);
  const Row* row = find_row(name);
  REQUIRE(row != nullptr);
  std::mt19937_64 random(7);
  RowRunner runner(*row, gfx, num_lanes);
  for (int repeat = 0; repeat < 40; ++repeat) {
    LaneValues sources[3];
    for (std::size_t i = 0; row->num_results + i < runner.num_operands(); ++i) {
      for (U& value : sources[i].value) value = awkward_value(random);
      runner.set(row->num_results + i, sources[i]);
    }
    for (std::size_t i = 0; i < row->num_results; ++i) runner.set(i, {});
    REQUIRE(runner.run() == "");
    for (std::uint32_t lane = 0; lane < num_lanes; ++lane) {
      check(runner, sources[0].value[lane], sources[1].value[lane], sources[2].value[lane], lane);
    }
  }
}

TEST_CASE("integer instructions compute what their formulas say") {
  for (const auto& [gfx, num_lanes] : {std::pair("gfx942", 64u), std::pair("gfx1100", 32u)}) {
    for (const Case& one : kCases) {
      run_on_awkward(one.name, gfx, num_lanes, [&](RowRunner& runner, U a, U b, U c, std::uint32_t lane) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(c);
        REQUIRE(runner.get(0).value[lane] == low(u(one.expected(a, b, c), one.bits)));
      });
    }
    for (const Case& one : kPackedCases) {
      run_on_awkward(one.name, gfx, num_lanes, [&](RowRunner& runner, U a, U b, U c, std::uint32_t lane) {
        const U first = one.expected(a, b, c) & 0xffff, second = one.expected(a >> 16, b >> 16, c >> 16) & 0xffff;
        REQUIRE(runner.get(0).value[lane] == (first | second << 16));
      });
    }
  }
}

TEST_CASE("a carry is the bit that does not fit") {
  for (const CarryCase& one : kCarryCases) {
    run_on_awkward(one.name, "gfx90a", 64, [&](RowRunner& runner, U a, U b, U c, std::uint32_t lane) {
      const Wide expected = one.expected(a, b, c);
      REQUIRE(runner.get(0).value[lane] == low(u(low(expected), one.bits)));
      REQUIRE(runner.get(1).value[lane] == low(expected >> one.bits & 1));
    });
  }
}

TEST_CASE("a clamped integer stays at the end of its range") {
  const struct {
    const char* name;
    U a, b, expected;
  } cases[] = {{"v_add_u32", 0xffff'fff0, 0x20, 0xffff'ffff},
               {"v_sub_u32", 1, 2, 0},
               {"v_subrev_u32", 2, 1, 0},
               {"v_add_i32", 0x7fff'ffff, 1, 0x7fff'ffff},
               {"v_sub_i32", 0x8000'0000, 1, 0x8000'0000},
               {"v_add_u16", 0xffff, 1, 0xffff},
               {"v_sub_i16", 0x8000, 1, 0x8000},
               {"v_pk_add_u16", 0xffff'0001, 0x1'0001, 0xffff'0002},
               {"v_pk_sub_i16", 0x8000'7fff, 0x1'ffff, 0x8000'7fff}};
  for (const auto& one : cases) {
    CAPTURE(one.name);
    RowRunner runner(*find_row(one.name), "gfx90a", 64);
    LaneValues a, b;
    a.value.fill(one.a);
    b.value.fill(one.b);
    runner.set(0, {});
    runner.set(1, a);
    runner.set(2, b);
    REQUIRE(runner.run("clamp") == "");
    CHECK(runner.get(0).value[5] == one.expected);
  }
  RowRunner runner(*find_row("v_and_b32"), "gfx90a", 64);
  CHECK(runner.run("clamp").find("modifier 'clamp' is not modelled") != std::string::npos);
}

TEST_CASE("a result of 16 bits keeps the other half from GFX10 on, and for instructions that are new in GFX9") {
  const struct {
    const char *name, *gfx;
    std::uint32_t num_lanes;
    U other_half;
  } cases[] = {{"v_add_u16", "gfx90a", 64, 0},
               {"v_max_i16", "gfx942", 64, 0},
               {"v_mad_legacy_u16", "gfx942", 64, 0},
               {"v_med3_i16", "gfx942", 64, 0xabcd'0000},
               {"v_mad_u16", "gfx90a", 64, 0xabcd'0000},
               {"v_add_nc_u16", "gfx1030", 32, 0xabcd'0000},
               {"v_lshlrev_b16", "gfx1100", 64, 0xabcd'0000},
               {"v_max_i16", "gfx1201", 32, 0xabcd'0000}};
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CAPTURE(one.gfx);
    RowRunner runner(*find_row(one.name), one.gfx, one.num_lanes);
    LaneValues old;
    old.value.fill(0xabcd'1234);
    old.undefined.fill(0x8000'0000);
    for (std::size_t i = 1; i < runner.num_operands(); ++i) runner.set(i, {});
    runner.set(0, old);
    REQUIRE(runner.run() == "");
    CHECK(runner.get(0).value[3] == one.other_half);
    CHECK(runner.get(0).undefined[3] == (one.other_half == 0 ? 0 : 0x8000'0000));
  }
}

}  // namespace
}  // namespace millrace::isa::test
