// SPDX-License-Identifier: Apache-2.0
// What memory instructions do, and which mistakes are found in them.
#include <numeric>

#include <doctest/doctest.h>

#include "tests/isa/assembled.h"

namespace millrace::isa::test {
namespace {

const Assembly kOneWave{};
const Assembly kTwoWaves{.workgroup_size = 64, .workgroup_bytes = 1024};

std::vector<std::uint32_t> counting(std::uint32_t size) {
  std::vector<std::uint32_t> words(size);
  std::iota(words.begin(), words.end(), 0u);
  return words;
}

Assembly with(Assembly assembly, std::string text) {
  assembly.text = std::move(text);
  return assembly;
}

/// What memory each lane of one wave finds: loads from @0, stores to @1 where the text leaves v1.
constexpr const char* kCopy = R"(
  s_load_b128 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_b32 v2, v1, s[6:7]
)";

}  // namespace

TEST_CASE("isa memory: a load and a store copy words, and are counted") {
  for (const bool finds_mistakes : {true, false}) {
    std::vector<Words> buffers = {{counting(32), false}, {std::vector<std::uint32_t>(32)}};
    const AssemblyRun copied = run(with(kOneWave, kCopy), buffers, 1, finds_mistakes);
    CHECK(copied.status.message() == "");
    CHECK(buffers[1].words == counting(32));
    CHECK(copied.counts.global_bytes_read == 16 + 128);
    CHECK(copied.counts.global_bytes_written == 128);
    CHECK(copied.counts.global_instructions == 2);
    CHECK(copied.counts.waits == 2);
  }
}

TEST_CASE("isa memory: an access behind a buffer's end is a mistake, with and without the other checks") {
  for (const bool finds_mistakes : {true, false}) {
    std::vector<Words> buffers = {{counting(30), false}, {std::vector<std::uint32_t>(32)}};
    const std::string message(run(with(kOneWave, kCopy), buffers, 1, finds_mistakes).status.message());
    CHECK(message ==
          "at 0xc, global_load_b32 v1, v2, s[4:5]: workgroup 0, wave 0, lane 30: reads 4 bytes at @0 + 120, which has "
          "120 bytes");
  }
}

TEST_CASE("isa memory: a buffer that the dispatch only reads cannot be written") {
  CHECK(mistake_of(with(kOneWave, kCopy), {{counting(32)}, {counting(32), false}}) ==
        "at 0x14, global_store_b32 v2, v1, s[6:7]: workgroup 0, wave 0, lane 0: writes 4 bytes at @1 + 0, which the "
        "dispatch may only read");
}

TEST_CASE("isa memory: an address that is far from all buffers is a mistake") {
  CHECK(mistake_of(with(kOneWave, R"(
          v_mov_b32_e32 v2, 16
          v_mov_b32_e32 v3, 0
          global_load_b32 v1, v[2:3], off
        )"),
                   {{counting(32)}}) ==
        "at 0x8, global_load_b32 v1, v[2:3], off: workgroup 0, wave 0, lane 0: reads 4 bytes at 0x10, far from all "
        "buffers of the dispatch");
}

TEST_CASE("isa memory: scalar loads are checked as well") {
  CHECK(mistake_of(with(kOneWave, "s_load_b64 s[4:5], s[0:1], 0x8"), {{counting(4)}}) ==
        "at 0x0, s_load_b64 s[4:5], s[0:1], 0x8: workgroup 0, wave 0: reads 8 bytes at the arguments + 8, which has 8 "
        "bytes");
  CHECK(
      mistake_of(with(kOneWave, "s_load_b32 s4, s[0:1], 0x2"), {{counting(4)}}) ==
      "at 0x0, s_load_b32 s4, s[0:1], 0x2: workgroup 0, wave 0: reads 4 bytes at an address that is not a multiple of "
      "4");
  CHECK(mistake_of(with(kOneWave, "s_load_b32 s4, s[8:9], 0x2"), {{counting(4)}}) ==
        "at 0x0, s_load_b32 s4, s[8:9], 0x2: workgroup 0, wave 0: uses an undefined address from s[8:9]");
}

TEST_CASE("isa memory: a scalar load may read on behind the arguments to 16 bytes, and finds undefined data there") {
  const std::vector<Words> buffers = {{counting(32)}, {counting(32)}, {counting(32)}};  // 24 bytes of arguments
  CHECK(mistake_of(with(kOneWave, "s_load_b128 s[4:7], s[0:1], 0x10"), buffers) == "");
  CHECK(mistake_of(with(kOneWave, R"(
          s_load_b128 s[4:7], s[0:1], 0x10
          v_lshlrev_b32_e32 v2, 2, v0
          s_waitcnt lgkmcnt(0)
          global_load_b32 v1, v2, s[4:5]
          v_mov_b32_e32 v3, s7
          s_waitcnt vmcnt(0)
          global_store_b32 v2, v1, s[4:5]
          global_store_b32 v2, v3, s[4:5]
        )"),
                   buffers) ==
        "at 0x1c, global_store_b32 v2, v3, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: undefined data of v3 reaches "
        "memory");
  CHECK(mistake_of(with(kOneWave, "s_load_b64 s[4:5], s[0:1], 0x18"), buffers) ==
        "at 0x0, s_load_b64 s[4:5], s[0:1], 0x18: workgroup 0, wave 0: reads 8 bytes at the arguments + 24, which has "
        "24 bytes");
  CHECK(mistake_of(with(kOneWave, "s_load_b256 s[4:11], s[0:1], 0x10"), buffers) ==
        "at 0x0, s_load_b256 s[4:11], s[0:1], 0x10: workgroup 0, wave 0: reads 32 bytes at the arguments + 16, which "
        "has 24 bytes");
}

TEST_CASE("isa memory: an undefined address is a mistake") {
  CHECK(mistake_of(with(kOneWave, R"(
          s_load_b64 s[4:5], s[0:1], 0x0
          s_waitcnt lgkmcnt(0)
          global_load_b32 v1, v2, s[4:5]
        )"),
                   {{counting(32)}}) ==
        "at 0x8, global_load_b32 v1, v2, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: uses an undefined address from "
        "v2");
}

TEST_CASE("isa memory: undefined data may not be stored, but other bytes of its register may be undefined") {
  constexpr const char* kStart = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
    s_waitcnt lgkmcnt(0)
  )";
  const auto mistake = [&](const char* rest) {
    return mistake_of(with(kOneWave, std::string(kStart) + rest), {{counting(32)}});
  };
  CHECK(mistake("global_store_b32 v2, v1, s[4:5]") ==
        "at 0xc, global_store_b32 v2, v1, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: undefined data of v1 reaches "
        "memory");
  // A load into the lower half leaves the upper one undefined.
  constexpr const char* kLoadHalf = "global_load_d16_b16 v1, v2, s[4:5]\ns_waitcnt vmcnt(0)\n";
  CHECK(mistake((std::string(kLoadHalf) + "global_store_b16 v2, v1, s[4:5]").c_str()) == "");
  CHECK(mistake((std::string(kLoadHalf) + "global_store_d16_hi_b16 v2, v1, s[4:5]").c_str()) ==
        "at 0x14, global_store_d16_hi_b16 v2, v1, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: undefined data of v1 "
        "reaches memory");
  CHECK(
      mistake("global_atomic_add_u32 v2, v1, s[4:5]") ==
      "at 0xc, global_atomic_add_u32 v2, v1, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: undefined data of v1 reaches "
      "memory");
}

TEST_CASE("isa memory: lanes that store different values to one address are a mistake") {
  constexpr const char* kStart = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32_e32 v2, 8
    v_mov_b32_e32 v3, 7
    s_waitcnt lgkmcnt(0)
  )";
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + "global_store_b32 v2, v0, s[4:5]"), {{counting(32)}}) ==
        "at 0x10, global_store_b32 v2, v0, s[4:5]: workgroup 0, wave 0, lanes 1 to 31: writes 4 bytes at @0 + 8, where "
        "another lane writes a different value");
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + "global_store_b32 v2, v3, s[4:5]"), {{counting(32)}}) == "");
}

TEST_CASE("isa memory: workgroups that write one address race, but atomics do not") {
  constexpr const char* kStart = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32_e32 v2, 8
    v_mov_b32_e32 v3, 7
    s_waitcnt lgkmcnt(0)
  )";
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + "global_store_b32 v2, v3, s[4:5]"), {{counting(32)}}, 2) ==
        "at 0x10, global_store_b32 v2, v3, s[4:5]: workgroup 1, wave 0, lane 0: writes 4 bytes at @0 + 8: races "
        "with wave 0 of workgroup 0, which wrote it at 0x10");
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + "global_atomic_add_u32 v2, v3, s[4:5]"), {{counting(32)}}, 2) ==
        "");
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + R"(
          global_atomic_add_u32 v2, v3, s[4:5]
          global_load_b32 v4, v2, s[4:5])"),
                   {{counting(32)}}, 2) ==
        "at 0x10, global_atomic_add_u32 v2, v3, s[4:5]: workgroup 1, wave 0, lanes 0 to 31: updates 4 bytes at @0 + 8: "
        "races with wave 0 of workgroup 0, which read it at 0x14");
  CHECK(mistake_of(with(kOneWave, std::string(kStart) + "global_load_b32 v4, v2, s[4:5]"), {{counting(32)}}, 2) == "");
}

TEST_CASE("isa memory: atomics update memory and return the previous value") {
  std::vector<Words> buffers = {{{100}}, {std::vector<std::uint32_t>(32)}};
  const AssemblyRun result = run(with(kOneWave, R"(
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
    v_mov_b32_e32 v3, 0
    v_mov_b32_e32 v4, 1
    s_waitcnt lgkmcnt(0)
    global_atomic_add_u32 v5, v3, v4, s[4:5] glc
    s_waitcnt vmcnt(0)
    global_store_b32 v2, v5, s[6:7]
  )"),
                                 buffers);
  CHECK(result.status.message() == "");
  CHECK(buffers[0].words[0] == 132);
  CHECK(buffers[1].words[31] == 131);
  CHECK(result.counts.global_bytes_read == 16 + 128);
  CHECK(result.counts.global_bytes_written == 256);
}

TEST_CASE("isa memory: float atomics, which differ in flushing subnormals, are refused") {
  for (const char* text :
       {"ds_add_f32 v0, v1", "global_atomic_add_f32 v0, v1, s[4:5]", "flat_atomic_add_f64 v[0:1], v[2:3]"}) {
    const std::string message = mistake_of(with(kOneWave, text), {{counting(4)}});
    const std::string name(text, std::strchr(text, ' '));
    CHECK(message == "kernel 'kernel' for gfx1100: at 0x0, " + std::string(text) +
                         ": no row in the table of semantics is named '" + name + "'");
  }
}

TEST_CASE("isa memory: an atomic must be aligned") {
  CHECK(mistake_of(with(kOneWave, R"(
          s_load_b64 s[4:5], s[0:1], 0x0
          v_mov_b32_e32 v2, 2
          s_waitcnt lgkmcnt(0)
          global_atomic_add_u32 v2, v0, s[4:5])"),
                   {{counting(32)}}) ==
        "at 0xc, global_atomic_add_u32 v2, v0, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: updates 4 bytes at an "
        "address that is not a multiple of 4");
}

TEST_CASE("isa memory: workgroup memory starts undefined, has an end, and keeps undefined bits") {
  constexpr const char* kStart = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
  )";
  const auto mistake = [&](const char* rest) {
    return mistake_of(with(Assembly{.workgroup_bytes = 256}, std::string(kStart) + rest), {{counting(32)}});
  };
  CHECK(mistake("ds_load_b32 v1, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_b32 v2, v1, s[4:5]") ==
        "at 0x10, global_store_b32 v2, v1, s[4:5]: workgroup 0, wave 0, lanes 0 to 31: undefined data of v1 reaches "
        "memory");
  CHECK(mistake("ds_store_b32 v2, v0\nds_load_b32 v1, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_b32 v2, v1, s[4:5]") ==
        "");
  CHECK(mistake("ds_store_b8 v2, v0\nds_load_b32 v1, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_b8 v2, v1, s[4:5]") == "");
  CHECK(mistake("ds_load_b32 v1, v2 offset:192") ==
        "at 0x8, ds_load_b32 v1, v2 offset:192: workgroup 0, wave 0, lanes 16 to 31: reads 4 bytes at the workgroup's "
        "memory + 256, which has 256 bytes");
  CHECK(mistake("ds_add_u32 v2, v1") ==
        "at 0x8, ds_add_u32 v2, v1: workgroup 0, wave 0, lanes 0 to 31: undefined data of v1 reaches memory");
}

TEST_CASE("isa memory: waves of a workgroup race without a barrier, and with one that accesses in flight pass") {
  constexpr const char* kStart = R"(
    v_lshlrev_b32_e32 v2, 2, v0
    v_xor_b32_e32 v3, 0x80, v2
    ds_store_b32 v2, v0
  )";
  const auto mistake = [&](const char* rest) { return mistake_of(with(kTwoWaves, std::string(kStart) + rest), {}); };
  CHECK(mistake("ds_load_b32 v1, v3") ==
        "at 0x8, ds_store_b32 v2, v0: workgroup 0, wave 1, lanes 0 to 31: writes 4 bytes at the workgroup's memory + "
        "128: races with wave 0, which read it at 0xc");
  CHECK(mistake("s_waitcnt lgkmcnt(0)\ns_barrier\nds_load_b32 v1, v3") == "");
  CHECK(mistake("s_barrier\nds_load_b32 v1, v3") ==
        "at 0x10, ds_load_b32 v1, v3: workgroup 0, wave 0, lanes 0 to 31: reads 4 bytes at the workgroup's memory + "
        "128: races with wave 1, which wrote it at 0x8");
  // A load that is in flight reads after the barrier, or before it.
  CHECK(mistake("s_waitcnt lgkmcnt(0)\ns_barrier\nds_load_b32 v1, v3\ns_barrier\nds_store_b32 v2, v0") ==
        "at 0x1c, ds_store_b32 v2, v0: workgroup 0, wave 0, lanes 0 to 31: writes 4 bytes at the workgroup's memory + "
        "0: races with wave 1, which read it at 0x14");
}

TEST_CASE("isa memory: a value in flight may not be used") {
  const auto mistake = [&](const char* text, const char* gfx = "gfx1100") {
    return mistake_of(with(Assembly{.gfx = gfx, .workgroup_bytes = 256}, text), {{counting(32)}});
  };
  CHECK(mistake("s_load_b64 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, s5") ==
        "at 0x4, s_mov_b32 s6, s5: workgroup 0, wave 0: uses s5 while its load is in flight; a wait is missing");
  constexpr const char* kTwoLocal = R"(
    v_lshlrev_b32_e32 v2, 2, v0
    ds_store_b32 v2, v0
    ds_load_b32 v3, v2
    ds_load_b32 v4, v2
  )";
  CHECK(mistake((std::string(kTwoLocal) + "s_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v5, v3").c_str()) == "");
  CHECK(mistake((std::string(kTwoLocal) + "s_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v5, v4").c_str()) ==
        "at 0x14, v_mov_b32_e32 v5, v4: workgroup 0, wave 0: uses v4 while its load is in flight; a wait is missing");
  // Scalar loads finish in any order.
  CHECK(mistake("s_load_b64 s[4:5], s[0:1], 0x0\ns_load_b64 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\n"
                "s_mov_b32 s8, s4") ==
        "at 0xc, s_mov_b32 s8, s4: workgroup 0, wave 0: uses s4 while its load is in flight; a wait is missing");
  // Stores count apart from loads: vmcnt does not say that a load is done when a store is.
  constexpr const char* kLoadAndStore = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v1, v2, s[4:5]
    global_store_dword v2, v0, s[4:5]
    s_waitcnt vmcnt(1)
    v_mov_b32_e32 v3, v1
  )";
  CHECK(mistake(kLoadAndStore, "gfx1030") ==
        "at 0x18, v_mov_b32_e32 v3, v1: workgroup 0, wave 0: uses v1 while its load is in flight; a wait is missing");
  CHECK(mistake_of(with(Assembly{.gfx = "gfx90a", .num_lanes = 64, .workgroup_size = 64}, kLoadAndStore),
                   {{counting(64)}}) == "");
}

TEST_CASE("isa memory: gfx12 waits for each kind apart") {
  const auto mistake = [&](const char* rest) {
    return mistake_of(with(Assembly{.gfx = "gfx1201", .workgroup_bytes = 256}, std::string(R"(
      s_load_b64 s[4:5], s[0:1], 0x0
      v_lshlrev_b32_e32 v2, 2, v0
      s_wait_kmcnt 0x0
      global_load_b32 v1, v2, s[4:5]
      ds_store_b32 v2, v0
      ds_load_b32 v3, v2
    )") + rest),
                      {{counting(32)}});
  };
  CHECK(mistake("s_wait_dscnt 0x0\nv_mov_b32_e32 v4, v3") == "");
  CHECK(mistake("s_wait_dscnt 0x0\nv_mov_b32_e32 v4, v1") ==
        "at 0x1c, v_mov_b32_e32 v4, v1: workgroup 0, wave 0: uses v1 while its load is in flight; a wait is missing");
  CHECK(mistake("s_wait_loadcnt_dscnt 0x1\nv_mov_b32_e32 v4, v1") == "");
  CHECK(mistake("s_wait_loadcnt_dscnt 0x1\nv_mov_b32_e32 v4, v3") ==
        "at 0x1c, v_mov_b32_e32 v4, v3: workgroup 0, wave 0: uses v3 while its load is in flight; a wait is missing");
}

TEST_CASE("isa memory: lanes exchange values through LDS's crossbar") {
  const auto mistake = [&](const char* text) { return mistake_of(with(Assembly{.gfx = "gfx1030"}, text), {}); };
  CHECK(mistake("v_lshlrev_b32_e32 v2, 2, v0\nds_bpermute_b32 v1, v2, v0") == "");
  CHECK(mistake("s_mov_b32 exec_lo, 0xffff\nv_mov_b32_e32 v2, 64\nds_bpermute_b32 v1, v2, v0") ==
        "at 0x8, ds_bpermute_b32 v1, v2, v0: workgroup 0, wave 0, lanes 0 to 15: reads the value of an inactive lane");
  CHECK(mistake("ds_bpermute_b32 v1, v2, v0") ==
        "at 0x0, ds_bpermute_b32 v1, v2, v0: workgroup 0, wave 0, lanes 0 to 31: uses an undefined lane number "
        "from v2");
  CHECK(mistake("s_mov_b32 exec_lo, 1\nds_swizzle_b32 v1, v0 offset:swizzle(SWAP,4)") ==
        "at 0x4, ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,4): workgroup 0, wave 0, lane 0: reads the value of an "
        "inactive lane");
}

TEST_CASE("isa memory: a thread's private memory is its own") {
  std::vector<Words> buffers = {{std::vector<std::uint32_t>(32)}};
  const Assembly assembly{.private_bytes = 16};
  CHECK(run(with(assembly, R"(
          s_load_b64 s[4:5], s[0:1], 0x0
          v_lshlrev_b32_e32 v2, 2, v0
          scratch_store_b32 off, v0, off offset:8
          s_waitcnt_vscnt null, 0x0
          scratch_load_b32 v1, off, off offset:8
          s_waitcnt vmcnt(0) lgkmcnt(0)
          global_store_b32 v2, v1, s[4:5])"),
            buffers)
            .status.message() == "");
  CHECK(buffers[0].words == counting(32));
  CHECK(mistake_of(with(assembly, "scratch_load_b32 v1, off, off offset:16"), {}) ==
        "at 0x0, scratch_load_b32 v1, off, off offset:16: workgroup 0, wave 0, lanes 0 to 31: reads 4 bytes at the "
        "thread's private memory + 16, which has 16 bytes");
}

TEST_CASE("isa memory: two-address and partial accesses of LDS, and bank conflicts") {
  std::vector<Words> buffers = {{std::vector<std::uint32_t>(32)}};
  const AssemblyRun result = run(with(Assembly{.workgroup_bytes = 8192}, R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 7, v0
    v_lshlrev_b32_e32 v6, 2, v0
    v_add_nc_u32_e32 v1, 32, v0
    ds_store_2addr_b32 v2, v0, v1 offset1:1
    ds_load_2addr_b32 v[3:4], v2 offset1:1
    s_waitcnt lgkmcnt(0)
    v_add_nc_u32_e32 v5, v3, v4
    global_store_b32 v6, v5, s[4:5]
  )"),
                                 buffers);
  CHECK(result.status.message() == "");
  CHECK(buffers[0].words[5] == 5 + 37);
  CHECK(result.counts.local_bytes_written == 256);
  CHECK(result.counts.local_bytes_read == 256);
  CHECK(result.counts.bank_conflicts == 2 * (32 - 2));  // 64 words in two banks
}

}  // namespace millrace::isa::test
