// SPDX-License-Identifier: Apache-2.0
// What waits and barriers order, and what they do not.
#include <doctest/doctest.h>

#include "isa/memory_history.h"
#include "tests/isa/assembled.h"

namespace millrace::isa::test {
namespace {

std::string mistake(Assembly assembly, std::string text, std::uint32_t num_words = 64, std::uint32_t num_groups = 1) {
  assembly.text = std::move(text);
  return mistake_of(assembly, {{std::vector<std::uint32_t>(num_words)}}, num_groups);
}

}  // namespace

TEST_CASE("isa ordering: a branch does not read a mask whose load is in flight") {
  CHECK(mistake({}, "s_load_b32 vcc_lo, s[0:1], 0x0\ns_cbranch_vccnz 0") ==
        "at 0x4, s_cbranch_vccnz 0: workgroup 0, wave 0: uses vcc_lo while its load is in flight; a wait is missing");
  CHECK(mistake({.num_lanes = 64, .workgroup_size = 64}, "s_load_b32 vcc_hi, s[0:1], 0x0\ns_cbranch_vccz 0") ==
        "at 0x4, s_cbranch_vccz 0: workgroup 0, wave 0: uses vcc_hi while its load is in flight; a wait is missing");
  CHECK(mistake({}, "s_load_b32 vcc_hi, s[0:1], 0x0\ns_mov_b32 vcc_lo, 0\ns_cbranch_vccz 0\ns_cbranch_execz 0") == "");
  CHECK(mistake({}, "s_load_b32 vcc_lo, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_cbranch_vccnz 0") == "");
}

TEST_CASE("isa ordering: a FLAT load is done when both of its counters say so") {
  constexpr const char* kStart = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v3, s5
    v_add_co_u32 v2, vcc_lo, s4, v2
    v_add_co_ci_u32_e32 v3, vcc_lo, 0, v3, vcc_lo
    flat_load_b32 v1, v[2:3]
  )";
  const auto mistake_after = [&](const char* waits) {
    return mistake({}, std::string(kStart) + waits + "\nv_mov_b32_e32 v4, v1");
  };
  CHECK(mistake_after("s_waitcnt vmcnt(0) lgkmcnt(0)") == "");
  CHECK(mistake_after("s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)") == "");
  CHECK(mistake_after("s_waitcnt vmcnt(0)\ns_nop 0") ==
        "at 0x24, v_mov_b32_e32 v4, v1: workgroup 0, wave 0: uses v1 while its load is in flight; a wait is missing");
  CHECK(mistake_after("s_waitcnt lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0") ==
        "at 0x24, v_mov_b32_e32 v4, v1: workgroup 0, wave 0: uses v1 while its load is in flight; a wait is missing");
}

TEST_CASE("isa ordering: from GFX10 on a FLAT store counts with stores, not with loads") {
  // Each wave stores its words, and after the barrier those of the other.
  constexpr const char* kStart = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v4, 2, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v3, s5
    v_add_co_u32 v2, vcc, s4, v4
    v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
    flat_store_dword v[2:3], v0
  )";
  constexpr const char* kEnd = R"(
    s_barrier
    v_xor_b32_e32 v4, 0x100, v4
    global_store_dword v4, v0, s[4:5]
  )";
  constexpr const char* kRace =
      "at 0x2c, global_store_dword v4, v0, s[4:5]: workgroup 0, wave 0, lanes 0 to 63: writes 4 bytes at @0 + 256: "
      "races with wave 1, which wrote it at 0x18";
  const auto mistake_after = [&](const char* gfx, const char* waits) {
    std::string text = std::string(kStart) + waits + kEnd;
    if (std::string_view(gfx) == "gfx1030") text.replace(text.find("v_addc_co_u32_e32"), 17, "v_add_co_ci_u32_e32");
    return mistake({.gfx = gfx, .num_lanes = 64, .workgroup_size = 128}, text, 128);
  };
  CHECK(mistake_after("gfx90a", "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_nop 0") == "");
  CHECK(mistake_after("gfx1030", "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_nop 0") == kRace);
  CHECK(mistake_after("gfx1030", "s_waitcnt lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0") == "");
  CHECK(mistake_after("gfx1030", "s_nop 0\ns_waitcnt_vscnt null, 0x0") == kRace);
}

TEST_CASE("isa ordering: an access across words does not forget the earlier accesses") {
  // Wave 0 stores everywhere; then it reads at an odd address, far away or close by. Wave 1 reads what wave 0 stored.
  const auto mistake_with = [&](const char* odd) {
    const std::string text = std::string(R"(
      v_lshlrev_b32_e32 v2, 2, v0
      v_cmp_gt_u32_e32 vcc_lo, 32, v0
      s_cbranch_vccz 5
      ds_store_b32 v2, v0
      v_mov_b32_e32 v3, )") + odd +
                             R"(
      ds_load_b32 v4, v3
      s_waitcnt lgkmcnt(0)
      s_endpgm
      v_xor_b32_e32 v2, 0x80, v2
      ds_load_b32 v1, v2
    )";
    return mistake({.workgroup_size = 64, .workgroup_bytes = 4096}, text);
  };
  constexpr const char* kRace =
      "at 0x24, ds_load_b32 v1, v2: workgroup 0, wave 1, lanes 0 to 31: reads 4 bytes at the workgroup's memory + 0: "
      "races with wave 0, which wrote it at 0xc";
  CHECK(mistake_with("4") == kRace);
  CHECK(mistake_with("6") == kRace);
  CHECK(mistake_with("0x3fe") == kRace);  // from one chunk of histories into the next
  CHECK(mistake_with("0x801") == kRace);
}

TEST_CASE("isa ordering: histories of single bytes distinguish bytes") {
  const auto races = [](std::uint64_t first, std::uint64_t second) {
    MemoryHistory history(0x1000, 0x1800, 4, false);
    std::uint32_t overlap = 0;
    CHECK(!history.add(0x1000, 64, AccessKind::kLoad, {.group = 0, .wave = 0}, overlap));
    CHECK(!history.add(first, 4, AccessKind::kStore, {.group = 0, .wave = 0, .serial = 1}, overlap));
    CHECK(overlap == 0);
    return history.add(second, 2, AccessKind::kStore, {.group = 1, .wave = 0, .serial = 2}, overlap).has_value();
  };
  CHECK(races(0x1102, 0x1104));
  CHECK(!races(0x1102, 0x1106));
  CHECK(!races(0x1102, 0x1100));
  CHECK(races(0x13fe, 0x1400));
  CHECK(!races(0x13fe, 0x1402));
  CHECK(races(0x1102, 0x103f));  // read by words before
  MemoryHistory history(0x1000, 0x1800, 4, false);
  std::uint32_t overlap = 0;
  CHECK(!history.add(0x13fe, 4, AccessKind::kStore, {.wave = 0, .serial = 1}, overlap));
  CHECK(!history.add(0x13ff, 4, AccessKind::kStore, {.wave = 0, .serial = 1}, overlap));
  CHECK(overlap == 0b0111);
}

TEST_CASE("isa ordering: a scalar load that is in flight passes a barrier") {
  // Wave 1 stores after the barrier to the word that wave 0 loads before it.
  const auto mistake_with = [&](const char* wait) {
    const std::string text = std::string(R"(
      s_load_b64 s[4:5], s[0:1], 0x0
      v_mov_b32_e32 v2, 8
      v_mov_b32_e32 v3, 7
      v_cmp_gt_u32_e32 vcc_lo, 32, v0
      s_waitcnt lgkmcnt(0)
      s_cbranch_vccz 3
      s_load_b32 s6, s[4:5], 0x8
    )") + wait + R"(
      s_branch 1
      s_nop 0
      s_barrier
      s_cbranch_vccnz 1
      global_store_b32 v2, v3, s[4:5]
    )";
    return mistake({.workgroup_size = 64}, text);
  };
  CHECK(mistake_with("s_waitcnt lgkmcnt(0)") == "");
  CHECK(mistake_with("s_nop 0") ==
        "at 0x30, global_store_b32 v2, v3, s[4:5]: workgroup 0, wave 1, lanes 0 to 31: writes 4 bytes at @0 + 8: races "
        "with wave 0, which read it at 0x18");
}

TEST_CASE("isa ordering: GFX12 orders accesses before a barrier's signal before accesses after its wait") {
  const Assembly gfx12{.gfx = "gfx1201", .workgroup_size = 64, .workgroup_bytes = 1024};
  constexpr const char* kStart = "v_lshlrev_b32_e32 v2, 2, v0\nv_xor_b32_e32 v3, 0x80, v2\n";
  const auto mistake_with = [&](const char* rest) { return mistake(gfx12, std::string(kStart) + rest); };
  CHECK(mistake_with(R"(
    ds_store_b32 v2, v0
    s_wait_dscnt 0x0
    s_barrier_signal -1
    s_barrier_wait -1
    ds_load_b32 v1, v3)") == "");
  // A wait behind the signal is too late: the other wave may have passed the barrier.
  constexpr const char* kRace =
      "at 0x18, ds_load_b32 v1, v3: workgroup 0, wave 0, lanes 0 to 31: reads 4 bytes at the workgroup's memory + 128: "
      "races with wave 1, which wrote it at ";
  CHECK(mistake_with(R"(
    ds_store_b32 v2, v0
    s_barrier_signal -1
    s_wait_dscnt 0x0
    s_barrier_wait -1
    ds_load_b32 v1, v3)") == std::string(kRace) + "0x8");
  CHECK(mistake_with(R"(
    s_barrier_signal -1
    ds_store_b32 v2, v0
    s_wait_dscnt 0x0
    s_barrier_wait -1
    ds_load_b32 v1, v3)") == std::string(kRace) + "0xc");
  // The next barrier orders it.
  CHECK(mistake_with(R"(
    s_barrier_signal -1
    ds_store_b32 v2, v0
    s_wait_dscnt 0x0
    s_barrier_wait -1
    s_barrier_signal -1
    s_barrier_wait -1
    ds_load_b32 v1, v3)") == "");
  // A signal alone orders nothing: accesses after it may come before those that precede the other wave's signal.
  CHECK(mistake_with(R"(
    ds_store_b32 v2, v0
    s_wait_dscnt 0x0
    s_barrier_signal -1
    ds_load_b32 v1, v3
    s_barrier_wait -1)") ==
        "at 0x8, ds_store_b32 v2, v0: workgroup 0, wave 1, lanes 0 to 31: writes 4 bytes at the workgroup's memory + "
        "128: races with wave 0, which read it at 0x14");
}

TEST_CASE("isa ordering: accesses between a barrier's signal and its wait take a bounded amount of memory") {
  const auto mistake_of_loads = [](const char* count) {
    const Assembly gfx12{.gfx = "gfx1201", .workgroup_bytes = 1024};
    return mistake(gfx12, std::string("s_mov_b32 s4, ") + count + R"(
      s_barrier_signal -1
      ds_load_b32 v1, v0
      s_wait_dscnt 0x0
      s_sub_co_u32 s4, s4, 1
      s_cmp_lg_u32 s4, 0
      s_cbranch_scc1 65531
      s_barrier_wait -1)");
  };
  CHECK(mistake_of_loads("0x4000") == "");
  CHECK(mistake_of_loads("0x4001") ==
        "at 0x8, ds_load_b32 v1, v0: workgroup 0, wave 0: makes more memory accesses between a barrier's signal and "
        "its wait than are modelled");
}

TEST_CASE("isa ordering: each signal of a barrier has its wait") {
  const Assembly gfx12{.gfx = "gfx1201"};
  CHECK(mistake(gfx12, "s_barrier_signal -1\ns_barrier_signal -1\ns_barrier_wait -1") ==
        "at 0x4, s_barrier_signal -1: workgroup 0, wave 0: signals a barrier twice without waiting at it in between");
  CHECK(mistake(gfx12, "s_barrier_wait -1") ==
        "at 0x0, s_barrier_wait -1: workgroup 0, wave 0: waits at a barrier that it has not signalled");
  CHECK(mistake(gfx12, "s_barrier_signal -1") ==
        "at 0x4, s_endpgm: workgroup 0, wave 0: ends without waiting at the barrier that it has signalled");
  CHECK(mistake(gfx12, "s_barrier_signal -1\ns_barrier_wait -1\ns_barrier_signal -1\ns_barrier_wait -1") == "");
}

TEST_CASE("isa ordering: private memory is not freed while a store to it is in flight") {
  const auto mistake_with = [](const char* text) { return mistake({.private_bytes = 16}, text); };
  constexpr const char* kStore = "scratch_store_b32 off, v0, off offset:8\n";
  constexpr const char* kFree = "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)";
  CHECK(mistake_with((std::string(kStore) + kFree).c_str()) ==
        "at 0x4, s_sendmsg sendmsg(MSG_DEALLOC_VGPRS): workgroup 0, wave 0: frees the threads' private memory while a "
        "store to it is in flight; a wait is missing");
  CHECK(mistake_with((std::string(kStore) + "s_waitcnt_vscnt null, 0x0\n" + kFree).c_str()) == "");
  // Stores elsewhere have taken their data along.
  CHECK(mistake_with((std::string(R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v2, 2, v0
    s_waitcnt lgkmcnt(0)
    global_store_b32 v2, v0, s[4:5]
  )") + kFree)
                         .c_str()) == "");
}

}  // namespace millrace::isa::test
