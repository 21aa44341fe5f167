// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "tests/isa/vector_operands.h"

namespace millrace::isa::test {
namespace {

/// The outcomes of a comparison, as bits: less, equal, greater, and neither (NaN).
enum Outcome : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

unsigned outcomes_of(const std::string& condition) {
  static const std::map<std::string, unsigned> kOutcomes = {
      {"f", 0},   {"lt", 1}, {"eq", 2},   {"le", 3},   {"gt", 4},   {"lg", 5},   {"ge", 6},   {"o", 7},  {"u", 8},
      {"nge", 9}, {"ne", 5}, {"nlg", 10}, {"ngt", 11}, {"nle", 12}, {"neq", 13}, {"nlt", 14}, {"t", 15}, {"tru", 15}};
  return kOutcomes.at(condition);
}

unsigned outcome(auto a, auto b) {
  if (a < b) return kLess;
  if (a > b) return kGreater;
  return a == b ? kEqual : kUnordered;
}

double half_value(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class T>
T value_as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

unsigned outcome_as(const std::string& type, std::uint64_t a, std::uint64_t b) {
  if (type == "i16") return outcome(value_as<std::int16_t>(a), value_as<std::int16_t>(b));
  if (type == "u16") return outcome(value_as<std::uint16_t>(a), value_as<std::uint16_t>(b));
  if (type == "i32") return outcome(value_as<std::int32_t>(a), value_as<std::int32_t>(b));
  if (type == "u32") return outcome(value_as<std::uint32_t>(a), value_as<std::uint32_t>(b));
  if (type == "i64") return outcome(value_as<std::int64_t>(a), value_as<std::int64_t>(b));
  if (type == "u64") return outcome(a, b);
  if (type == "f16") return outcome(half_value(a), half_value(b));
  if (type == "f32") return outcome(value_as<float>(a), value_as<float>(b));
  REQUIRE(type == "f64");
  return outcome(value_as<double>(a), value_as<double>(b));
}

TEST_CASE("compares give a bit per lane that is on") {
  std::mt19937_64 random(3);
  std::size_t num_rows = 0;
  for (const Row& row : vector_compare_rows()) {
    const std::string name = row.name;
    const bool writes_exec = name.starts_with("v_cmpx_");
    const std::string condition = name.substr(writes_exec ? 7 : 6, name.size() - 4 - (writes_exec ? 7 : 6));
    if (condition == "class") continue;
    CAPTURE(name);
    ++num_rows;
    const std::string type = name.substr(name.size() - 3);
    for (const auto& [gfx, num_lanes] :
         {std::pair("gfx90a", 64u), std::pair("gfx1100", 32u), std::pair("gfx1201", 64u)}) {
      RowRunner runner(row, gfx, num_lanes);
      const bool has_mask = !writes_exec || runner.wave().machine.major == 9;
      for (int repeat = 0; repeat < 10; ++repeat) {
        LaneValues a, b;
        for (std::uint64_t& value : a.value) value = awkward_value(random);
        for (std::uint32_t i = 0; i < kMaxLanes; ++i)
          b.value[i] = random() % 3 == 0 ? a.value[i] : awkward_value(random);
        const std::uint64_t exec = random() & runner.wave().machine.all_lanes();
        runner.wave().set_mask(kExec, exec);
        runner.set(1, a);
        runner.set(2, b);
        std::uint64_t expected = 0;
        for (std::uint32_t i = 0; i < num_lanes; ++i) {
          const bool is_set = (outcomes_of(condition) & outcome_as(type, a.value[i], b.value[i])) != 0;
          expected |= std::uint64_t{is_set} << i & exec;
        }
        REQUIRE(runner.run() == "");
        REQUIRE(runner.wave().exec() == (writes_exec ? expected : exec));
        for (std::uint32_t i = 0; has_mask && i < num_lanes; ++i)
          REQUIRE(runner.get(0).value[i] == (expected >> i & 1));
      }
    }
  }
  CHECK(num_rows == 2 * (6 * 8 + 3 * 17));
}

TEST_CASE("a float is in one of ten classes") {
  const struct {
    std::uint64_t half, single, wide;
  } values[] = {{0x7c01, 0x7f80'0001, 0x7ff0'0000'0000'0001},
                {0xfe00, 0xffc0'0000, 0xfff8'0000'0000'0000},
                {0xfc00, 0xff80'0000, 0xfff0'0000'0000'0000},
                {0xbc00, 0xbf80'0000, 0xbff0'0000'0000'0000},
                {0x8001, 0x8000'0001, 0x8000'0000'0000'0001},
                {0x8000, 0x8000'0000, 0x8000'0000'0000'0000},
                {0, 0, 0},
                {0x03ff, 0x007f'ffff, 0x000f'ffff'ffff'ffff},
                {0x0400, 0x0080'0000, 0x0010'0000'0000'0000},
                {0x7c00, 0x7f80'0000, 0x7ff0'0000'0000'0000}};
  for (const auto& [name, member] :
       {std::pair("v_cmp_class_f16", 0), std::pair("v_cmp_class_f32", 1), std::pair("v_cmp_class_f64", 2)}) {
    RowRunner runner(*find_row(name), "gfx1100", 32);
    LaneValues floats, classes;
    for (std::uint32_t i = 0; i < 10; ++i) {
      floats.value[i] = member == 0 ? values[i].half : member == 1 ? values[i].single : values[i].wide;
      floats.value[10 + i] = floats.value[i];
      classes.value[i] = std::uint64_t{1} << i;
      classes.value[10 + i] = ~classes.value[i];
    }
    runner.set(1, floats);
    runner.set(2, classes);
    REQUIRE(runner.run() == "");
    for (std::uint32_t i = 0; i < 20; ++i) CHECK(runner.get(0).value[i] == (i < 10));
  }
}

TEST_CASE("subnormals are equal to zero where MODE flushes them") {
  RowRunner runner(*find_row("v_cmp_eq_f32"), "gfx1100", 32);
  LaneValues subnormal;
  subnormal.value.fill(1);
  runner.set(1, subnormal);
  runner.set(2, {});
  REQUIRE(runner.run() == "");
  CHECK(runner.get(0).value[0] == 0);
  runner.wave().mode.flushes_f32_inputs = true;
  REQUIRE(runner.run() == "");
  CHECK(runner.get(0).value[0] == 1);
}

TEST_CASE("an undefined bit of EXEC is a mistake, but an undefined lane that is off is not") {
  BareWave bare("gfx1100", 32);
  Wave& wave = bare.wave();
  wave.set_defined(0, wave.machine.all_lanes());
  LaneWords undefined;
  undefined.lanes[3] = 1;
  wave.set_undefined(0, 1u << 3, undefined);
  CHECK(bare.run("v_cmpx_eq_u32_e32 0, v0") == "undefined data reaches EXEC");
  CHECK(wave.failing_lanes == 1u << 3);
  wave.failure.clear();
  wave.set_mask(kExec, 0xf7);
  CHECK(bare.run("v_cmpx_eq_u32_e64 0, v0") == "");
  CHECK(wave.exec() == 0xf7);
}

}  // namespace
}  // namespace millrace::isa::test
