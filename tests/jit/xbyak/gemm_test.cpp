// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/xbyak/gemm_harness.h"
#include "tests/support/sliced.h"

namespace millrace::gemm_test {
namespace {

void check_product(const GemmCase& c) {
  for (const IsaLevel isa : generated_levels()) {
    for (const bool at_end : {true, false}) {
      INFO(to_text(isa));
      GemmRun run(make_gemm(c), isa, at_end);
      run.run();
      CHECK_EQ(find_error(c, run), "");
    }
  }
}

TEST_CASE("products of awkward sizes are within their bound, at every transposition" * test::Sliced()) {
  constexpr std::int64_t kSizes[][3] = {{1, 1, 1},    {1, 17, 3},      {4, 1, 5},    {5, 16, 7},   {6, 64, 64},
                                        {7, 65, 4},   {13, 63, 15},    {16, 16, 16}, {17, 31, 33}, {64, 64, 64},
                                        {65, 15, 2},  {100, 100, 100}, {8, 200, 16}, {129, 48, 9}, {31, 130, 300},
                                        {200, 7, 31}, {96, 80, 257}};
  for (const auto& [m, n, k] : kSizes) {
    for (int transposed = 0; transposed < 8; ++transposed) {
      GemmCase c{.m = m, .n = n, .k = k};
      c.a_is_transposed = transposed & 1;
      c.b_is_transposed = transposed & 2;
      c.c_is_transposed = transposed & 4;
      const auto planned = make_xbyak_generator()->plan(make_gemm(c), {"cpu", IsaLevel::kAvx2});
      if (planned.ok()) {
        check_product(c);
      } else {
        // Few rows by a matrix that lies along the sum: the one reason that such a product may give.
        INFO(planned.status().message());
        CHECK((m < 4 || n < 4));
      }
    }
  }
}

TEST_CASE("random products with padded rows and batches touch nothing but their elements") {
  std::mt19937 random(20);
  const auto below = [&](std::int64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  for (int i = 0; i < 60; ++i) {
    GemmCase c{.m = 4 + below(150), .n = 4 + below(150), .k = below(120)};
    c.batch = below(3) == 0 ? 1 + below(3) : 0;
    c.a_is_transposed = below(2) == 0;
    c.b_is_transposed = below(2) == 0;
    c.c_is_transposed = below(4) == 0;
    c.padding = below(2) * below(20);
    if (c.batch > 0) c.a_is_broadcast = below(3) == 0;
    if (c.batch > 0 && !c.a_is_broadcast) c.b_is_broadcast = below(3) == 0;
    check_product(c);
  }
}

TEST_CASE("long sums are computed in blocks of k, over packed panels or over rows in place" * test::Sliced()) {
  const auto slots = [](const GemmCase& c) {
    const PlannedKernel planned = make_xbyak_generator()->plan(make_gemm(c), {"cpu", IsaLevel::kAvx2}).value();
    std::string names;
    for (const PlannedSlot& slot : planned.memory.slots) names += slot.name + " ";
    return names;
  };
  for (const bool transposed : {false, true}) {
    const GemmCase packed{.m = 70, .n = 70, .k = 9000, .a_is_transposed = transposed, .b_is_transposed = transposed};
    CHECK_EQ(slots(packed), "packed_b partial_sums ");
    check_product(packed);
    const GemmCase streamed{.m = 21, .n = 301, .k = 1203, .a_is_transposed = transposed};
    CHECK_EQ(slots(streamed), "partial_sums ");
    check_product(streamed);
  }
  check_product({.m = 1, .n = 3000, .k = 500});
}

TEST_CASE("a call that continues another keeps the panels that are packed, any other packs them" * test::Sliced()) {
  // Groups of several tiles share a panel.
  const GemmCase c{.m = 400, .n = 70, .k = 600, .b_is_transposed = true};
  for (const IsaLevel isa : generated_levels()) {
    INFO(to_text(isa));
    GemmRun run(make_gemm(c), isa);
    const auto num_groups = static_cast<std::uint32_t>(run.num_groups());
    REQUIRE(num_groups > 2);
    for (std::uint32_t group = 0; group < num_groups; ++group) run.run({group, group + 1, group > 0});
    CHECK_EQ(find_error(c, run), "");
    run.run({0, 1});
    run.clear_workgroup_memory("packed_b");
    run.run({1, 2, true});
    CHECK_NE(find_error(c, run), "");
    run.run({1, 2});
    CHECK_EQ(find_error(c, run), "");
    run.fill_workgroup_memory(std::byte{0xff});
    run.run();
    CHECK_EQ(find_error(c, run), "");
  }
}

TEST_CASE("a sum of no terms is 0, and an empty result is not written") {
  for (const GemmCase& c :
       {GemmCase{.m = 5, .n = 20, .k = 0}, GemmCase{.m = 5, .n = 20, .k = 0, .b_is_transposed = true},
        GemmCase{.m = 0, .n = 20, .k = 4}, GemmCase{.m = 5, .n = 0, .k = 4}}) {
    GemmRun run(make_gemm(c), IsaLevel::kAvx2);
    run.run();
    CHECK_EQ(run.num_groups() == 0, c.m * c.n == 0);
    CHECK_EQ(find_error(c, run), "");
  }
}

TEST_CASE("results do not depend on how groups are distributed") {
  for (const GemmCase& c :
       {GemmCase{.m = 300, .n = 200, .k = 150}, GemmCase{.m = 150, .n = 150, .k = 5000},
        GemmCase{.m = 9, .n = 5000, .k = 100},
        GemmCase{.batch = 6, .m = 40, .n = 40, .k = 40, .a_is_transposed = true, .b_is_broadcast = true}}) {
    for (const IsaLevel isa : generated_levels()) {
      GemmRun run(make_gemm(c), isa);
      REQUIRE_GT(run.num_groups(), 1);
      run.run();
      const float* result = run.result().floats();
      const std::vector<float> whole(result, result + run.result().num_floats());
      run.clear_results();
      // One at a time, the last first: nothing that a group leaves behind may matter to another.
      for (auto group = static_cast<std::uint32_t>(run.num_groups()); group-- > 0;) run.run({group, group + 1});
      CHECK(std::equal(whole.begin(), whole.end(), result));
    }
  }
}

TEST_CASE("an image runs at any address") {
  const GemmCase c{.m = 33, .n = 70, .k = 40, .b_is_transposed = true};
  for (const IsaLevel isa : generated_levels()) {
    const auto relu = [](BodyBuilder& b, BodyValue sum, const Element&) {
      return std::vector{b.max(sum, b.constant_like(sum, 0.25))};
    };
    GemmRun run(make_gemm(c, {}, relu), isa);
    const MappedCode elsewhere = MappedCode::map(run.image().bytes, run.image().code_bytes).value();
    for (const void* code : {static_cast<const void*>(nullptr), static_cast<const void*>(elsewhere.data())}) {
      run.clear_results();
      run.run({0, static_cast<std::uint32_t>(run.num_groups())}, code);
      CHECK_EQ(find_error(c, run, [](double sum, auto, auto) { return std::max(sum, 0.25); }), "");
    }
  }
}

TEST_CASE("an image names its routine, target and generator") {
  const GemmRun run(make_gemm({.m = 8, .n = 8, .k = 8}), IsaLevel::kAvx2);
  CHECK_EQ(run.image().routine.name, "gemm_f32");
  CHECK_EQ(run.image().target, "cpu:avx2");
  CHECK_EQ(run.image().generator, "xbyak");
  CHECK_EQ(run.image().info, run.planned().info);
  CHECK_EQ(run.planned().info.buffer_is_written, std::vector<bool>{false, false, true});
}

}  // namespace
}  // namespace millrace::gemm_test
