// SPDX-License-Identifier: Apache-2.0
// Commands that show graphs without running them: check, dump, ops; and devices.
#include <doctest/doctest.h>

#include "millrace/ops/op.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

TEST_CASE("check reads and verifies, and reports where a mistake is") {
  const Workplace here;
  CHECK(here.output_of("check top.mr") == "top.mr: graph 'top' is valid: inputs 1, outputs 2, nodes 3\n");
  here.write("bad.mr", "graph bad(%x: f32[2]) {\n  %y = topq(%x)\n  return y = %y\n}\n");
  CHECK(here.error_of("check bad.mr") ==
        "millrace: bad.mr:2:8: found 'topq', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; did "
        "you mean "
        "'topk'?\n  %y = "
        "topq(%x)\n       ^\n");
}

constexpr const char* kRows = R"(loop_kernel "rows" reduce {
  d0 m parallel 4
  d1 n reduction 8
  operand 0 %x f32[4x8] offset 0 strides [8, 1]
  result 0 %sums f32[4] offset 0 strides [1]
  load 0 operand 0 [d0, d1]
  store 0 result 0 [d0]
  reduction 0 sum f32
  term
    %0 = load 0 : f32
    yield %0
  epilogue
    %0 = reduced 0 : f32
    yield %0
}
)";

TEST_CASE("check --kernel reads a loop kernel, and proves that it stays inside its tensors") {
  const Workplace here;
  here.write("rows.kernel", kRows);
  CHECK(here.output_of("check --kernel rows.kernel") == "rows.kernel: kernel 'rows' is valid: operands 1, results 1\n");
  CHECK(here.output_of("check --kernel - --target amdgpu:gfx1100 < rows.kernel") ==
        "standard input: kernel 'rows' is valid: operands 1, results 1; for amdgpu:gfx1100: dispatches 1, kernels 1\n");
  std::string text = kRows;
  text.replace(text.find("[d0, d1]"), 8, "[d1, d0]");
  here.write("wrong.kernel", text);
  CHECK(here.error_of("check --kernel wrong.kernel") ==
        "millrace: wrong.kernel: loop kernel 'rows': load 0: index 0 runs from 0 to 7, expected "
        "inside [0, 4); give it a fill\n");
  CHECK(here.error_of("check --kernel top.mr") ==
        "millrace: top.mr:1:1: found 'graph', expected 'loop_kernel'\ngraph top(%x: f32[rows in 1..64, 10]) {\n^\n");
}

TEST_CASE("a dash stands for standard input, in every command that reads a graph") {
  const Workplace here;
  CHECK(here.output_of("check - < top.mr") == "standard input: graph 'top' is valid: inputs 1, outputs 2, nodes 3\n");
  CHECK(here.output_of("run - --input x=arange,2x10 < top.mr") == here.output_of("run top.mr --input x=arange,2x10"));
  CHECK(here.output_of("dump - --stage graph < top.mr") == here.output_of("dump top.mr --stage graph"));
  CHECK(here.output_of("explain - < top.mr") == here.output_of("explain top.mr"));
  CHECK(here.run("bench - --input x=ones,2x10 --min-time 0.001 < top.mr").exit_code == 0);
  here.write("bad.mr", "graph bad(%x: f32[2]) {\n  %y = topq(%x)\n  return y = %y\n}\n");
  CHECK(here.error_of("check - < bad.mr") ==
        "millrace: standard input:2:8: found 'topq', expected an op, 'constant', 'variable', 'kernel', 'while' or "
        "'if'; did you mean "
        "'topk'?\n"
        "  %y = topq(%x)\n       ^\n");
  CHECK(here.error_of("check -").starts_with("millrace: standard input:1:1: found the end of the text, "));
}

TEST_CASE("a graph without a kernel has no object") {
  const Workplace here;
  here.write("same.mr", "graph same(%x: f32[4]) {\n  return y = %x\n}\n");
  CHECK(here.error_of("dump same.mr --stage object") ==
        "millrace: --stage object: the graph has no kernel, so there is no object\n");
}

TEST_CASE(
    "check counts the dispatches of a graph for a device or a target, and reports why a device cannot be opened") {
  const Workplace here;
  CHECK(here.output_of("check top.mr --device sim:gfx1100") ==
        "top.mr: graph 'top' is valid: inputs 1, outputs 2, nodes 3; for sim:gfx1100: dispatches 2, kernels 2\n");
  CHECK(here.output_of("check top.mr --target amdgpu:gfx90a") ==
        "top.mr: graph 'top' is valid: inputs 1, outputs 2, nodes 3; for amdgpu:gfx90a: dispatches 2, kernels 2\n");
  CHECK(
      here.error_of("check top.mr --device hip:library=/nowhere/hip.so") ==
      "millrace: device 'hip:library=/nowhere/hip.so': hip: /nowhere/hip.so cannot be opened (/nowhere/hip.so: cannot "
      "open shared object file: No such file or directory); give the path of a HIP runtime\n");
}

TEST_CASE("check refuses a graph that no run could bind") {
  const Workplace here;
  here.write("free.mr", "graph free() {\n  %i = iota() {shape = [n], dtype = i64, axis = 0}\n  return i = %i\n}\n");
  CHECK(here.error_of("check free.mr") ==
        "millrace: free.mr: dim 'n' has no upper bound, expected one, as it is not the extent of any input; promise "
        "one: 'n in 0..N' in text, at_most(N) in C++\n");
}

TEST_CASE("every stage is printed, for every target") {
  const Workplace here;
  const auto dump = [&](const std::string& rest) { return here.output_of("dump net.mr --stage " + rest); };
  CHECK(dump("graph").starts_with("graph net(%x: f32[16x32], %w: f32[32x24]) {\n"));
  CHECK(dump("dispatch").starts_with("dispatches of net: 2\n"));
  CHECK(dump("kernels").starts_with("sequence \"loop_"));
  CHECK(dump("plan").starts_with("slab of "));
  CHECK(dump("schedule").starts_with("schedule: 2 steps, 2 kernels, "));
  CHECK(contains(dump("commands"), "dispatch "));
  for (const std::string target : {"cpu:baseline", "cpu:avx2", "cpu:avx512"}) {
    CHECK(contains(dump("llvm --target " + target), "define void @millrace_kernel("));
    CHECK(contains(dump("asm --target " + target), "\tret"));
  }
  CHECK(contains(dump("asm --target cpu:avx512"), "%zmm"));
}

TEST_CASE("a graph that is dumped to a file is read again") {
  const Workplace here;
  CHECK(here.output_of("dump top.mr --stage graph -o again.mr") == "");
  CHECK(here.output_of("check again.mr") == "again.mr: graph 'top' is valid: inputs 1, outputs 2, nodes 3\n");
}

TEST_CASE("code is listed for each kernel, or for one") {
  const Workplace here;
  const std::string all = here.output_of("dump net.mr --stage asm --target cpu:avx2");
  CHECK(contains(all, "; kernel 0: "));
  CHECK(contains(all, " by xbyak\n"));
  CHECK(contains(all, "vfmadd231ps"));
  CHECK(contains(all, "; kernel 1: "));
  CHECK(contains(all, " by llvm\n"));
  CHECK(here.output_of("dump net.mr --stage asm --target cpu:avx2 --kernel 0").starts_with("     0:\t"));
  CHECK(here.output_of("dump net.mr --stage object --kernel 1 -o k.o") == "");
  CHECK(
      here.read("k.o").starts_with("\x7f"
                                   "ELF"));
}

TEST_CASE("code for a GPU lists its lines on request") {
  const Workplace here;
  const std::string listing = "dump top.mr --stage asm --target amdgpu:gfx1100";
  CHECK_FALSE(contains(here.output_of(listing), ".loc"));
  const std::string told = here.output_of(listing + " --line-tables");
  CHECK(contains(told, "\t.loc\t"));
  CHECK(contains(told, "workgroup_id : i64"));  // the kernel's text
}

TEST_CASE("for a GPU all kernels are one object") {
  const Workplace here;
  const std::string all = here.output_of("dump net.mr --stage asm --target amdgpu:gfx1100");
  CHECK(contains(all, "; kernel 1: "));
  CHECK(contains(all, "global_load_b32"));
  CHECK(here.output_of("dump net.mr --stage object --target amdgpu:gfx1100 -o net.hsaco") == "");
  CHECK(here.read("net.hsaco")
            .starts_with("\x7f"
                         "ELF"));
}

TEST_CASE("a listing of code that does not exist is refused") {
  const Workplace here;
  const auto error = [&](const std::string& rest) { return here.error_of("dump net.mr --stage " + rest); };
  CHECK(error("asm --kernel 2") ==
        "millrace: --kernel 2: the graph has 2 kernels, counted from 0; say a lower number\n");
  CHECK(contains(error("llvm --target cpu:avx2 --kernel 0"), "the generator xbyak makes no LLVM IR"));
  CHECK(contains(error("asm --generator interpreter"), "the generator interpreter makes no assembly"));
  CHECK(error("object --target sim:gfx1100") ==
        "millrace: code object: target sim:gfx1100 interprets kernels; lower the graph for amdgpu:gfx1100\n");
  CHECK(error("object --target sim:gfx1100 --kernel 1") ==
        "millrace: kernel 'reduce_max_1': the generator interpreter makes no object file; lower the graph for "
        "amdgpu:gfx1100\n");
  CHECK(error("plan --target cpu:mmx") ==
        "millrace: device 'cpu:mmx': target 'cpu:mmx': cpu level 'mmx' is not known, expected baseline, avx2 or "
        "avx512; say cpu for the host's best\n");
}

TEST_CASE("the order of the schedule is chosen by name") {
  const Workplace here;
  for (const std::string order : {"strict", "min-peak", "max-concurrency"}) {
    CHECK(contains(here.output_of("explain net.mr --order " + order), "\nschedule: " + order + ", dispatches 2,"));
    CHECK(contains(here.output_of("dump net.mr --stage schedule --order " + order), " slab bytes, " + order + "\n"));
  }
  CHECK(here.error_of("explain net.mr --order fast", 2) ==
        "millrace: --order: found 'fast', expected strict, min-peak or max-concurrency; say one of these; see "
        "'millrace explain --help'\n");
}

TEST_CASE("one kernel and one dispatch are printed in the singular") {
  const Workplace here;
  here.write("one.mr", "graph one(%x: f32[4]) {\n  %y = neg(%x)\n  return y = %y\n}\n");
  CHECK(here.error_of("dump one.mr --stage asm --kernel 1") ==
        "millrace: --kernel 1: the graph has 1 kernel, counted from 0; say a lower number\n");
  CHECK(here.error_of("explain one.mr --dispatch 1") ==
        "millrace: --dispatch 1: the graph has 1 dispatch, counted from 0; say a lower number\n");
}

TEST_CASE("ops and composites are listed as in text; one by name comes with an example that runs") {
  const Workplace here;
  CHECK(here.output_of("ops add") ==
        "%z = add(%x, %y)\n"
        "    x + y; integers wrap\n"
        "\n"
        "    graph example(%x: f32[4x8], %y: f32[8]) {\n"
        "      %z = add(%x, %y)\n"
        "      return z = %z\n"
        "    }\n");
  const std::string softmax = here.output_of("ops softmax");
  CHECK(softmax ==
        "%y = softmax(%x) {axis = -1}\n"
        "    e^(x - max) / sum of e^(x - max) over `axis`\n"
        "\n"
        "    graph example(%x: f32[4x8]) {\n"
        "      %y = softmax(%x) {axis = 0}\n"
        "      return y = %y\n"
        "    }\n");
  here.write("example.mr", softmax.substr(softmax.find("\n\n") + 2));
  CHECK(here.run("run example.mr --input x=randn").exit_code == 0);
  CHECK(here.output_of("ops topk").find("\n%values, %indices = topk(%x, %carried) {k = 1, ") != std::string::npos);
  const std::string all = here.output_of("ops");
  CHECK(contains(all, "\n%z = concat(%x, %y, ...) {axis = 0}\n    operands joined along one axis\n"));
  CHECK(contains(all, "\n%y = transpose(%x) {permutation}\n    result dim d is operand dim permutation[d]\n"));
  CHECK(contains(all, "\n%y = attention(%query, %key, %value, [%mask]) {scale = 1 / sqrt(d), is_causal = false}\n"));
  for (const Op op : kAllOps) CHECK(contains(all, " = " + std::string(to_text(op)) + "("));
  CHECK(here.error_of("ops topq") == "millrace: ops: unknown op 'topq'; did you mean 'topk'?\n");
  CHECK(here.error_of("ops nothing_alike") == "millrace: ops: unknown op 'nothing_alike'; 'millrace ops' lists all\n");
}

TEST_CASE("explain and dump use the names of values in the text") {
  const Workplace here;
  CHECK(contains(here.output_of("explain two.mr --dispatch 1"), "\n  nodes      %values, %indices = topk\n"));
  CHECK(contains(here.output_of("dump top.mr --stage graph"), "\n  %values, %indices = topk(%twice) {"));
  CHECK(contains(here.output_of("dump net.mr --stage dispatch"), "%product"));
}

TEST_CASE("a device stands for the best target that it runs") {
  const Workplace here;
  CHECK(here.output_of("explain net.mr --target isa:gfx90a,seed=3") ==
        here.output_of("explain net.mr --target amdgpu:gfx90a"));
  CHECK(here.output_of("dump net.mr --stage asm --target isa:gfx1100") ==
        here.output_of("dump net.mr --stage asm --target amdgpu:gfx1100"));
  CHECK(here.error_of("explain net.mr --target isa:gfx906") ==
        "millrace: device 'isa:gfx906': target 'amdgpu:gfx906': gfx target 'gfx906' is not known, expected one of: "
        "gfx90a, gfx942, gfx1030, gfx1100, gfx1151, gfx1201\n");
}

TEST_CASE("devices lists what is available, and what is not") {
  const Workplace here;
  const std::string text = here.output_of("devices");
  for (const char* part :
       {"\n  cpu             this host: available\n                  cpu: this host, ", " GiB; runs cpu:",
        "\n                  sim:gfx1100: a simulated gfx1100, in this host's memory; runs sim:gfx1100\n",
        "\n                  cpu:threads=N: N threads, the calling one included; by default ",
        ", one per core; pinned=on: each on a CPU of its own\n",
        "\n  hip             AMD GPUs: ",  // available, or why not
        "\n  sim             a simulated GPU: available\n",
        "\n  isa             a GPU's machine code, executed: available\n",
        "\n                  isa:gfx1100: a gfx1100 whose machine code is executed in this host's memory; runs "
        "amdgpu:gfx1100\n",
        "\n  amdgpu:gfx1100  a GPU elsewhere; isa:gfx1100 executes it here; generators: llvm\n",
        "\n  cpu:baseline    runs here; generators: ", "\n  sim:gfx1100     simulated here; generators: interpreter\n",
        "\n  xbyak           xbyak 0x",
        "not for cpu:baseline: xbyak: needs FMA, cpu:baseline has none; say cpu:avx2 or cpu:avx512\n",
        "not for sim:*: target sim:gfx90a is simulated from kernel IR; use the interpreter\n",
        "\n  interpreter     "}) {
    CHECK_MESSAGE(contains(text, part), part);
  }
}

}  // namespace
}  // namespace millrace
