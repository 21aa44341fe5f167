// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <doctest/doctest.h>

#include "tests/isa/vector_operands.h"

namespace millrace::isa::test {
namespace {

using Operands = std::vector<LaneValues>;

Operands random_operands(std::size_t count, std::mt19937_64& random) {
  Operands operands(count);
  for (LaneValues& lanes : operands) {
    const bool is_defined = random() % 3 == 0;
    for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
      lanes.value[i] = awkward_value(random);
      lanes.undefined[i] = is_defined ? 0 : awkward_undefined(random);
    }
  }
  return operands;
}

/// Other values in the undefined bits.
void change_undefined(Operands& operands, std::mt19937_64& random) {
  for (LaneValues& lanes : operands) {
    for (std::uint32_t i = 0; i < kMaxLanes; ++i) lanes.value[i] ^= lanes.undefined[i] & random();
  }
}

std::string run_on(RowRunner& runner, const Operands& operands, std::uint64_t exec, std::uint64_t vcc,
                   std::uint64_t undefined_vcc) {
  runner.wave().set_mask(kExec, exec);
  runner.wave().set_mask(kVcc, vcc, undefined_vcc);
  for (std::size_t i = 0; i < operands.size(); ++i) runner.set(i, operands[i]);
  return runner.run();
}

/// Whether a row gives other defined bits when undefined bits of its sources change. Returns the number of cases.
std::uint32_t check_rule(const Row& row, const char* gfx, std::uint32_t num_lanes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RowRunner runner(row, gfx, num_lanes);
  std::uint32_t num_cases = 0;
  for (int i = 0; i < 12; ++i) {
    Operands operands = random_operands(runner.num_operands(), random);
    const std::uint64_t exec = random() | random(), undefined_vcc = random() & random();
    std::uint64_t vcc = random();
    if (!run_on(runner, operands, exec, vcc, undefined_vcc).empty()) continue;
    Operands before;
    for (std::size_t result = 0; result < row.num_results; ++result) before.push_back(runner.get(result));
    for (int change = 0; change < 6; ++change) {
      change_undefined(operands, random);
      vcc ^= undefined_vcc & random();
      REQUIRE(run_on(runner, operands, exec, vcc, undefined_vcc) == "");
      for (std::size_t result = 0; result < row.num_results; ++result) {
        const LaneValues after = runner.get(result);
        for (std::uint32_t lane = 0; lane < num_lanes; ++lane) {
          const std::uint64_t changed =
              (before[result].value[lane] ^ after.value[lane]) & ~before[result].undefined[lane];
          if (changed == 0) continue;
          FAIL(fmt::format("{} on {}, result {}, lane {}: bits {:#x} are called defined and change", runner.text(), gfx,
                           result, lane, changed));
        }
      }
      ++num_cases;
    }
  }
  return num_cases;
}

TEST_CASE("no bit that a vector instruction calls defined depends on an undefined bit") {
  std::set<std::string> tested;
  for (const auto& [gfx, num_lanes] :
       {std::pair("gfx90a", 64u), std::pair("gfx1100", 32u), std::pair("gfx1201", 64u)}) {
    for (const std::span<const Row> family : all_rows()) {
      for (const Row& row : family) {
        if (row.kind != Class::kVector) continue;
        if (check_rule(row, gfx, num_lanes, 13) > 0) tested.insert(row.name);
      }
    }
  }
  // The rest writes EXEC or scalar registers, where undefined bits are mistakes, or is of scalars alone.
  CHECK(tested.size() > 300);
  for (const char* name :
       {"v_and_or_b32", "v_perm_b32", "v_mad_u64_u32", "v_addc_co_u32", "v_pk_mad_u16", "v_cndmask_b32", "v_cmp_lt_i64",
        "v_mad_legacy_u16", "v_bfe_i32", "v_mbcnt_lo_u32_b32", "v_pk_fma_f32"}) {
    CHECK_MESSAGE(tested.contains(name), name);
  }
}

/// A source with the same value in every lane.
LaneValues uniform(std::uint64_t value, std::uint64_t undefined) {
  LaneValues lanes;
  lanes.value.fill(value);
  lanes.undefined.fill(undefined);
  return lanes;
}

TEST_CASE("undefined bits that cannot matter leave a result defined") {
  struct Source {
    std::uint64_t value, undefined;
  };
  struct Case {
    const char* name;
    std::vector<Source> sources;
    std::uint64_t undefined;
  };
  const Case cases[] = {
      {"v_and_b32", {{0xff, 0}, {0, 0xffff'ff00}}, 0},
      {"v_or_b32", {{0xff00, 0}, {0, 0xff0f}}, 0xf},
      {"v_and_or_b32", {{0, 0xffff'0000}, {0xffff, 0}, {0x10'0000, 0}}, 0},
      {"v_lshlrev_b32", {{16, 0}, {0, 0xffff'0000}}, 0},
      {"v_lshlrev_b32", {{16, 0xffff'ff00}, {0, 0xf}}, 0xf'0000},
      {"v_lshrrev_b32", {{8, 0}, {0, 0xffff'0000}}, 0xff'ff00},
      {"v_ashrrev_i32", {{8, 0}, {0, 0x8000'0000}}, 0xff80'0000},
      {"v_bfe_u32", {{0, 0xffff'0000}, {8, 0}, {8, 0}}, 0},
      {"v_bfe_i32", {{0, 0xffff'8000}, {0, 0}, {16, 0}}, 0xffff'8000},
      {"v_bfi_b32", {{0xffff, 0}, {0, 0xffff'0000}, {0, 0xffff}}, 0},
      {"v_perm_b32", {{0, 0xff00'0000}, {0, 0xff}, {0x0c07'0001, 0}}, 0x00ff'ff00},
      {"v_alignbit_b32", {{0, 0xffff'0000}, {0, 0xffff}, {16, 0}}, 0},
      {"v_add_u32", {{1, 0}, {0, 0x100}}, 0xffff'ff00},
      {"v_mul_u32_u24", {{1, 0xff00'0000}, {3, 0}}, 0},
      {"v_cndmask_b32", {{0x55, 0}, {0x5a, 0}, {0, 1}}, 0xf},
      {"v_cmp_eq_u32", {{0x10, 0xffff'0000}, {0x20, 0}}, 0},
      {"v_cmp_gt_i32", {{0, 0}, {0x8000'0000, 0x7fff'ffff}}, 0},
      {"v_min_u32", {{16, 0xf}, {64, 0xf}}, 0xf},
      {"v_pk_add_u16", {{0, 0x1'0000}, {0, 0}}, 0xffff'0000},
      {"v_add_co_u32", {{0, 0x8000'0000}, {1, 0}}, 0x8000'0000},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    const Row* row = find_row(one.name);
    REQUIRE(row != nullptr);
    RowRunner runner(*row, "gfx90a", 64);
    for (std::size_t i = 0; i < one.sources.size(); ++i) {
      runner.set(row->num_results + i, uniform(one.sources[i].value, one.sources[i].undefined));
    }
    REQUIRE(runner.run() == "");
    for (const std::uint64_t undefined : runner.get(0).undefined) CHECK(undefined == one.undefined);
    if (row->num_results == 2) CHECK(runner.get(1).undefined == LaneValues().undefined);
  }
}

}  // namespace
}  // namespace millrace::isa::test
