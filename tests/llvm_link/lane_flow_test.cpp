// SPDX-License-Identifier: Apache-2.0
// Finding where machine code exchanges values between lanes while some may be off. The code is written by hand.
#include <doctest/doctest.h>

#include "gpu_modules.h"

namespace millrace {
namespace {

using Found = std::vector<std::string>;

/// What is found in a kernel of these lines, at its beginning.
Found exchanges_in(const std::string& lines, const char* gfx = "gfx1100") {
  const CodeObjectInfo info = test::info_of_gpu_module(
      "define protected amdgpu_kernel void @kernel() { call void asm sideeffect \"" + lines + "\", \"\"() ret void }",
      gfx);
  REQUIRE(info.kernels.size() == 1);
  return info.kernels[0].inactive_lane_reads;
}

constexpr char kSwap[] = "v_permlanex16_b32 v2, v1, s2, s3\n";
const Found kSwapAt4 = {"v_permlanex16_b32 v2, v1, s2, s3 at byte 4"};
const Found kSwapAt8 = {"v_permlanex16_b32 v2, v1, s2, s3 at byte 8"};

TEST_CASE("a kernel begins with every lane on") { CHECK(exchanges_in(kSwap).empty()); }

TEST_CASE("an exchange that LLVM 19 moved behind a branch is found") {
  // The shape of a sum of rows of 30 elements, whose first lane stores it.
  CHECK(exchanges_in("s_and_saveexec_b32 s4, vcc_lo\n"
                     "s_cbranch_execz after\n" +
                     std::string(kSwap) +
                     "v_add_f32 v1, v1, v2\n"
                     "global_store_b32 v0, v1, s[0:1]\n"
                     "after:\n") == kSwapAt8);
}

TEST_CASE("behind the instruction that restores EXEC, every lane is on again") {
  const std::string branch =
      "s_and_saveexec_b32 s4, vcc_lo\n"
      "s_cbranch_execz after\n"
      "v_mov_b32 v1, 0\n"
      "after:\n";
  CHECK(exchanges_in(branch + "s_or_b32 exec_lo, exec_lo, s4\n" + kSwap).empty());
  CHECK(exchanges_in(branch + "s_mov_b32 exec_lo, s4\n" + kSwap).empty());
  CHECK(exchanges_in(branch + "s_mov_b32 exec_lo, -1\n" + kSwap).empty());
  CHECK(!exchanges_in(branch + "s_or_b32 exec_lo, exec_lo, s5\n" + kSwap).empty());
  CHECK(!exchanges_in(branch + "s_mov_b32 s4, s6\ns_or_b32 exec_lo, exec_lo, s4\n" + kSwap).empty());
  CHECK(!exchanges_in(branch + kSwap).empty());
}

TEST_CASE(
    "every instruction that takes values from other lanes is an exchange, but not one that reads a constant lane") {
  const std::string narrow = "s_and_b32 exec_lo, exec_lo, vcc_lo\n";
  CHECK(exchanges_in(narrow + kSwap) == kSwapAt4);
  for (const char* text : {"v_permlane16_b32 v2, v1, s2, s3", "v_permlane64_b32 v2, v1", "ds_bpermute_b32 v2, v1, v0",
                           "ds_permute_b32 v2, v1, v0", "ds_swizzle_b32 v2, v1 offset:swizzle(SWAP,16)",
                           "v_add_f32_dpp v2, v1, v1 row_xmask:1 row_mask:0xf bank_mask:0xf",
                           "v_mov_b32_dpp v2, v1 dpp8:[7,6,5,4,3,2,1,0]",
                           "v_add_f32_e64_dpp v2, |v1|, v1 row_xmask:1 row_mask:0xf bank_mask:0xf"}) {
    CAPTURE(text);
    CHECK(exchanges_in(std::string(text) + "\n").empty());
    CHECK(exchanges_in(narrow + text + "\n") == Found{std::string(text) + " at byte 4"});
  }
  CHECK(exchanges_in(narrow + "v_readlane_b32 s4, v1, 3\nv_readfirstlane_b32 s5, v1\n").empty());
}

TEST_CASE("every instruction that writes EXEC may turn lanes off") {
  for (const char* narrow :
       {"s_and_saveexec_b32 s4, vcc_lo\n", "s_and_not1_saveexec_b32 s4, vcc_lo\n", "s_and_b32 exec_lo, exec_lo, s4\n",
        "s_and_not1_b32 exec_lo, exec_lo, s4\n", "s_xor_b32 exec_lo, exec_lo, s4\n", "s_mov_b32 exec_lo, s4\n",
        "s_and_not1_wrexec_b32 s4, s5\n", "v_cmpx_eq_u32 v0, v1\n", "s_not_b32 exec_lo, exec_lo\n",
        "s_cselect_b32 exec_lo, s4, s5\n"}) {
    CAPTURE(narrow);
    CHECK(exchanges_in(narrow + std::string(kSwap)) == kSwapAt4);
    CHECK(exchanges_in("s_mov_b32 s7, exec_lo\n" + std::string(narrow) + "s_mov_b32 exec_lo, s7\n" + kSwap).empty());
  }
}

TEST_CASE("an exchange in one half of a branch is found; after both halves it is allowed") {
  const auto found = [](const std::string& in_then, const std::string& in_else, const std::string& behind) {
    return exchanges_in(
        "s_and_saveexec_b32 s4, vcc_lo\n"
        "s_xor_b32 s4, exec_lo, s4\n"
        "s_cbranch_execz other\n" +
        in_then +
        "other:\n"
        "s_or_saveexec_b32 s4, s4\n"
        "s_xor_b32 exec_lo, exec_lo, s4\n"
        "s_cbranch_execz after\n" +
        in_else +
        "after:\n"
        "s_or_b32 exec_lo, exec_lo, s4\n" +
        behind);
  };
  CHECK(found("", "", kSwap).empty());
  CHECK(found(kSwap, "", "").size() == 1);
  CHECK(found("", kSwap, "").size() == 1);
  CHECK(found("v_mov_b32 v1, 0\n", "s_mov_b32 s5, s4\ns_mov_b32 s4, s5\n", kSwap).empty());
  CHECK(found("s_mov_b32 s4, 0\n", "", kSwap).size() == 1);
}

TEST_CASE("lanes leave a loop one by one, and all are on again after it") {
  const auto found = [](const std::string& in_loop, const std::string& behind) {
    return exchanges_in(
        "s_mov_b32 s5, 0\n"
        "again:\n" +
        in_loop +
        "v_add_nc_u32 v1, v1, v2\n"
        "v_cmp_lt_u32 vcc_lo, v1, v3\n"
        "s_or_b32 s5, vcc_lo, s5\n"
        "s_and_not1_b32 exec_lo, exec_lo, s5\n"
        "s_cbranch_execnz again\n"
        "s_or_b32 exec_lo, exec_lo, s5\n" +
        behind);
  };
  CHECK(found("", kSwap).empty());
  // On in its first iteration, not in the following ones.
  CHECK(found(kSwap, "") == kSwapAt4);
  CHECK(found("s_mov_b32 s5, 0\n", kSwap).size() == 1);
}

TEST_CASE("an exchange in a loop that all lanes run together is allowed") {
  CHECK(exchanges_in("again:\n" + std::string(kSwap) +
                     "s_add_u32 s5, s5, 1\n"
                     "s_cmp_lt_u32 s5, s6\n"
                     "s_cbranch_scc1 again\n" +
                     kSwap)
            .empty());
}

TEST_CASE("the branches of code beyond 128 KiB are followed, forwards and back") {
  const auto branch = [](const std::string& low, const std::string& high) {
    return "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, " + low + "\ns_addc_u32 s5, s5, " + high + "\ns_setpc_b64 s[4:5]\n";
  };
  const std::string narrow = "s_and_b32 exec_lo, exec_lo, vcc_lo\n";
  const std::string restore = "s_mov_b32 exec_lo, -1\n";
  // Over the exchange at byte 20.
  CHECK(exchanges_in(narrow + branch("20", "0") + kSwap + restore + kSwap).empty());
  CHECK(exchanges_in(narrow + branch("20", "0") + kSwap + kSwap) ==
        Found{"v_permlanex16_b32 v2, v1, s2, s3 at byte 28"});
  // To the beginning, where every lane was on only in the first iteration.
  CHECK(exchanges_in(kSwap + narrow + branch("-16", "-1")) == Found{"v_permlanex16_b32 v2, v1, s2, s3 at byte 0"});
  CHECK(exchanges_in("s_mov_b32 s4, s6\ns_setpc_b64 s[4:5]\n") == Found{"s_setpc_b64 s[4:5] at byte 4"});
}

TEST_CASE("a mask that is spilled to a lane of a vector register is known after it is restored") {
  const std::string spill = "s_and_saveexec_b32 s4, vcc_lo\nv_writelane_b32 v40, s4, 3\ns_mov_b32 s4, 0\n";
  const std::string restore = "v_readlane_b32 s6, v40, 3\ns_or_b32 exec_lo, exec_lo, s6\n";
  CHECK(exchanges_in(spill + restore + kSwap).empty());
  CHECK(exchanges_in(spill + "v_writelane_b32 v40, s4, 2\n" + restore + kSwap).empty());
  CHECK(exchanges_in(spill + "v_writelane_b32 v40, s4, 3\n" + restore + kSwap).size() == 1);
  CHECK(exchanges_in(spill + "v_mov_b32 v40, 0\n" + restore + kSwap).size() == 1);
}

TEST_CASE("both halves of 64 lanes are on") {
  const std::string swizzle = "ds_swizzle_b32 v2, v1 offset:swizzle(SWAP,16)\n";
  const std::string narrow = "s_and_saveexec_b64 s[4:5], vcc\n";
  CHECK(exchanges_in(narrow + swizzle, "gfx90a").size() == 1);
  CHECK(exchanges_in(narrow + "s_or_b64 exec, exec, s[4:5]\n" + swizzle, "gfx90a").empty());
  CHECK(exchanges_in(narrow + "s_or_b32 exec_lo, exec_lo, s4\n" + swizzle, "gfx90a").size() == 1);
  CHECK(exchanges_in(narrow + "s_or_b32 exec_lo, exec_lo, s4\ns_or_b32 exec_hi, exec_hi, s5\n" + swizzle, "gfx90a")
            .empty());
  CHECK(exchanges_in("v_cmpx_eq_u32 vcc, v0, v1\n" + swizzle, "gfx90a").size() == 1);
}

TEST_CASE("bytes that are not an instruction, and indirect jumps, are found where they are reached") {
  CHECK(exchanges_in("s_branch over\n.long 0xffffffff\nover:\n").empty());
  CHECK(exchanges_in(".long 0xffffffff\n") == Found{"not an instruction at byte 0"});
  CHECK(exchanges_in("s_setpc_b64 s[4:5]\n") == Found{"s_setpc_b64 s[4:5] at byte 0"});
}

}  // namespace
}  // namespace millrace
