// SPDX-License-Identifier: Apache-2.0
// millrace run: NumPy files in and out, generated inputs, its output and its errors.
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "millrace/graph/npy.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/tools/count_system_calls.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

void write_tensor(const Workplace& here, const std::string& name, const reference::Tensor& tensor) {
  REQUIRE(write_npy(here.path(name), tensor.type, tensor.bytes).ok());
}

reference::Tensor read_tensor(const Workplace& here, const std::string& name) {
  NpyArray array = read_npy(here.path(name)).value();
  reference::Tensor tensor(array.type.dtype, {});
  tensor.type = array.type;
  tensor.bytes = std::move(array.bytes);
  return tensor;
}

TEST_CASE("arrays are read and written, and equal the oracle's results, at two sizes") {
  const Workplace here;
  const Graph graph = read_graph(here.path("top.mr")).value();
  for (const std::int64_t rows : {1, 17}) {
    const std::vector<reference::Tensor> inputs = {random_tensor({DType::kF32, {rows, 10}}, -4, 4, 7)};
    write_tensor(here, "x.npy", inputs[0]);
    CHECK(here.output_of("run top.mr --input x=@x.npy --output values=@v.npy --output indices=@i.npy") == "");
    const auto expected = evaluate_graph(bind_graph(graph, {{"rows", rows}}), inputs);
    CHECK(test::find_difference(read_tensor(here, "v.npy"), expected[0], {}) == "");
    CHECK(test::find_difference(read_tensor(here, "i.npy"), expected[1], {}) == "");
  }
}

TEST_CASE("a size that no input determines is given by name, and one --dim also serves generated inputs") {
  const Workplace here;
  CHECK(here.output_of("run some.mr --input x=arange,8 --dim k=2") == "values: f32[2]\n  [7, 6]\n");
  CHECK(here.output_of("run some.mr --input x=arange --dim k=1 --dim n=30") == "values: f32[1]\n  [29]\n");
  CHECK(here.output_of("run some.mr --input x=ones --dim k=0 --dim n=9") == "values: f32[0], no elements\n");
}

TEST_CASE("results are printed: small ones in full, of large ones a summary") {
  const Workplace here;
  CHECK(here.output_of("run top.mr --input x=arange --dim rows=2") ==
        "values: f32[2x3]\n  [[18, 16, 14],\n   [38, 36, 34]]\n"
        "indices: i64[2x3]\n  [[9, 8, 7],\n   [9, 8, 7]]\n");
  CHECK(contains(here.output_of("run net.mr --input x=ones --input w=zeros"),
                 "h: f32[16x24]\n  [0, 0, 0, ..., 0, 0, 0]\n  minimum 0, maximum 0, mean 0\n"));
  here.write("nan.mr", "graph nan(%x: f32[8, 16]) {\n  %y = log(%x)\n  return y = %y\n}\n");
  CHECK(contains(here.output_of("run nan.mr --input x=randn"), " nan\n"));
  here.write("scalar.mr", "graph scalar(%x: f64[]) {\n  %y = neg(%x)\n  return y = %y\n}\n");
  CHECK(here.output_of("run scalar.mr --input x=ones") == "y: f64[]\n  -1\n");
}

TEST_CASE("random inputs are the same in every run, on every device") {
  const Workplace here;
  const std::string first = here.output_of("run top.mr --input x=randn --dim rows=3");
  CHECK(here.output_of("run top.mr --input x=randn --dim rows=3 --device cpu:baseline") == first);
  CHECK(here.output_of("run top.mr --input x=randn,3x10 --generator interpreter") == first);
}

TEST_CASE("a graph whose kernels are cached runs without the LLVM module") {
  const Workplace here;
  const std::string first = here.output_of("run two.mr --input x=arange --dim rows=2");
  here.write("module.so", "no module");
  setenv("MILLRACE_LLVM_MODULE", here.path("module.so").c_str(), 1);
  CHECK(here.output_of("run two.mr --input x=arange --dim rows=2") == first);
  CHECK(here.error_of("dump two.mr --stage llvm") ==
        "millrace: llvm: cannot open " + here.path("module.so") + ": " + here.path("module.so") + ": file too short\n");
  unsetenv("MILLRACE_LLVM_MODULE");
}

TEST_CASE("repeated runs print their times") {
  const Workplace here;
  const test::ToolRun run = here.run("run top.mr --input x=zeros --dim rows=1 --repeat 3");
  CHECK(run.exit_code == 0);
  CHECK(run.error.starts_with("ran 3 times: minimum "));
}

TEST_CASE("only a run on a simulated GPU counts the instructions of each kernel") {
  const Workplace here;
  here.write("neg.mr", "graph neg(%x: f32[512]) {\n  %y = neg(%x)\n  return y = %y\n}\n");
  const test::ToolRun run = here.run("run neg.mr --input x=ones --device sim:gfx1100 --counts");
  CHECK(run.exit_code == 0);
  CHECK(
      run.error ==
      "kernel         groups  instructions  bytes read  bytes written  shared read  shared written  bank conflicts    "
      "barriers\n"
      "neg_0 (y)           1          2176        2048           2048            0               0               0    "
      "       0\n"
      "all                 1          2176        2048           2048            0               0               0    "
      "       0\n");
  CHECK(here.error_of("run neg.mr --input x=ones --counts") ==
        "millrace: --counts: device 'cpu' counts nothing, expected a GPU of sim or isa; say --device sim:gfx1100 or "
        "isa:gfx1100\n");
}

TEST_CASE("a run on a GPU whose machine code is executed gives the host's results, cold and warm, in any order") {
  const Workplace here;
  Workplace::forget_kernels();
  const std::string run = "run top.mr --input x=randn --dim rows=5";
  const std::string expected = here.output_of(run);
  for (const std::string how : {"isa:gfx1100", "isa:gfx1100", "isa:gfx1100 --seed 3", "isa:gfx90a,seed=3",
                                "isa:gfx1201,checks=off", "'trace(isa:gfx1030)' --seed 4 2>/dev/null"}) {
    CAPTURE(how);
    CHECK(here.output_of(run + " --device " + how) == expected);
  }
}

TEST_CASE("a run on a GPU whose machine code is executed counts the instructions of each kernel") {
  const Workplace here;
  const test::ToolRun run = here.run("run top.mr --input x=ones --dim rows=5 --device isa:gfx1100 --counts");
  CHECK(run.exit_code == 0);
  CHECK(run.error.starts_with(
      "kernel                        groups       waves      vector       lanes      scalar  scalar loads      global  "
      "     "
      "local"
      "    branches       waits    barriers       other  bytes read  bytes written  local read  local written  bank "
      "conflicts\nadd_topk_0_load (values) "));
  CHECK(contains(run.error, "\nadd_topk_0 (values)  "));
  CHECK(contains(run.error, "\nall  "));
}

TEST_CASE("threads change no result, and every command takes them") {
  const Workplace here;
  for (const std::string device : {"cpu:threads=2", "cpu:baseline,threads=3"}) {
    CHECK(here.output_of("run top.mr --input x=arange,2x10 --device '" + device + "'") ==
          here.output_of("run top.mr --input x=arange,2x10"));
  }
  CHECK(here.output_of("explain top.mr --target cpu:threads=2") == here.output_of("explain top.mr"));
  CHECK(here.error_of("run top.mr --input x=ones,2x10 --device cpu:threads=0") ==
        "millrace: device 'cpu:threads=0': threads is '0', expected a number from 1 to 1024\n");
}

TEST_CASE("a seed goes to devices that have an order to shuffle, and is given once") {
  const Workplace here;
  CHECK(here.output_of("run top.mr --input x=arange,2x10 --device sim:gfx90a --seed 7") ==
        here.output_of("run top.mr --input x=arange,2x10"));
  CHECK(here.error_of("run top.mr --input x=ones,2x10 --seed 7") ==
        "millrace: device 'cpu:seed=7': option 'seed' is not known; cpu takes a level (baseline, avx2, avx512 or "
        "avx512+FEATURE), tune, threads, pinned and symbols\n");
  CHECK(here.error_of("run top.mr --input x=ones,2x10 --device isa:gfx90a,seed=1 --seed 7") ==
        "millrace: device 'isa:gfx90a,seed=1,seed=7': option 'seed' is given twice; say a driver and its options, such "
        "as cpu, cpu:avx2 or trace(cpu)\n");
}

TEST_CASE("a size that is only in an attribute, or that a pass removes, is given by name") {
  const Workplace here;
  here.write("part.mr",
             "graph part(%x: f32[n in 4..100]) {\n"
             "  %y = slice(%x) {start = [s in 0..96], stop = [s + 4], step = [1]}\n  return y = %y\n}\n");
  CHECK(here.output_of("run part.mr --input x=arange,20 --dim s=3") == "y: f32[4]\n  [3, 4, 5, 6]\n");
  here.write("joined.mr",
             "graph joined(%x: f32[12]) {\n  %a = reshape(%x) {shape = [m in 1..100, 4]}\n"
             "  %b = reshape(%a) {shape = [-1, 6]}\n  return b = %b\n}\n");
  CHECK(contains(here.output_of("run joined.mr --input x=zeros --dim m=3"), "b: f32[2x6]"));
  CHECK(contains(here.output_of("explain part.mr --dim s=3"), "slice"));
}

TEST_CASE("results are written through links, and keep a file's mode") {
  const Workplace here;
  const std::string run = "run net.mr --input x=ones --input w=ones --output h=@";
  here.write("target.npy", "old");
  std::filesystem::create_symlink("target.npy", here.path("link.npy"));
  CHECK(here.output_of(run + "link.npy") == "");
  CHECK(std::filesystem::is_symlink(here.path("link.npy")));
  CHECK(here.read("target.npy").starts_with("\x93NUMPY"));
  std::filesystem::permissions(here.path("target.npy"), std::filesystem::perms::owner_all);
  CHECK(here.output_of(run + "target.npy") == "");
  CHECK(std::filesystem::status(here.path("target.npy")).permissions() == std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("/proc/self/fd/1", here.path("out"));
  CHECK(here.output_of(run + "out").starts_with("\x93NUMPY"));
  CHECK(std::filesystem::is_symlink(here.path("out")));
}

TEST_CASE("mistakes in a run's arguments are named, with what the graph has") {
  const Workplace here;
  const auto error = [&](const std::string& arguments) { return here.error_of("run " + arguments); };
  CHECK(error("none.mr") ==
        "millrace: graph 'none.mr': the file cannot be opened: No such file or directory; check the path\n");
  CHECK(error("top.mr") ==
        "millrace: input 'x' of f32[rows, 10] is not given; say --input x=@FILE.npy, or zeros, ones, randn or "
        "arange instead\n");
  CHECK(error("top.mr --input z=randn") == "millrace: --input z=randn: the graph has no input 'z'; it has: x\n");
  CHECK(error("net.mr --input x=ones --input x=ones") ==
        "millrace: --input x=ones: 'x' is already given; give each input once\n");
  CHECK(error("top.mr --input x=random") ==
        "millrace: --input x=random: found 'random', expected @FILE.npy, zeros, ones, randn or arange\n");
  CHECK(error("top.mr --input x=ones,3x") ==
        "millrace: --input x=ones,3x: found '3x', expected a shape such as 8x32000\n");
  CHECK(error("top.mr --input x=ones,3x-1") ==
        "millrace: --input x=ones,3x-1: found '3x-1', expected a shape such as 8x32000\n");
  CHECK(error("top.mr --input x=ones,7") ==
        "millrace: --input x=ones,7: found f32[7], expected f32[rows, 10]; give elements and axes that match\n");
  CHECK(error("top.mr --input x=ones") ==
        "millrace: --input x=ones: found f32[rows, 10], whose rows is unknown; say --dim rows=N, or give a shape, as "
        "in x=zeros,8x32000\n");
  CHECK(error("top.mr --input x=ones,99999999x99999999") ==
        "millrace: input 'x': dim 0 is 99999999, expected rows in 1..64; keep the promise, or build the graph with "
        "other facts\n");
  CHECK(error("top.mr --input x=@") ==
        "millrace: --input x=@: found '@', expected @FILE.npy, zeros, ones, randn or arange\n");
  CHECK(error(".") == "millrace: graph '.': the file cannot be read: Is a directory; check the kind of file\n");
  CHECK(error("top.mr --input x=@none.npy") ==
        "millrace: npy 'none.npy': the file cannot be opened: No such file or directory; check the path\n");
}

TEST_CASE("mistakes in sizes are named") {
  const Workplace here;
  const auto error = [&](const std::string& arguments) { return here.error_of("run " + arguments); };
  CHECK(error("top.mr --input x=ones --dim row=3") ==
        "millrace: --dim row=3: unknown symbolic size 'row'; the graph has: rows\n");
  CHECK(error("net.mr --input x=ones --input w=ones --dim row=3") ==
        "millrace: --dim row=3: unknown symbolic size 'row'; the graph has: none\n");
  CHECK(error("top.mr --input x=ones --dim rows=three") ==
        "millrace: --dim rows=three: found 'three', expected an integer\n");
  CHECK(error("top.mr --input x=ones --dim rows=65") ==
        "millrace: --dim rows=65: the graph promises rows in 1..64; say a value that it allows\n");
  CHECK(error("some.mr --input x=ones,9 --dim n=-1") ==
        "millrace: --dim n=-1: the graph promises n in 8..100; say a value that it allows\n");
  CHECK(error("top.mr --input x=ones --dim rows=6 --dim rows=6") ==
        "millrace: --dim rows=6: 'rows' already has a value; give each size once\n");
  CHECK(error("top.mr --input x=ones,5x10 --dim rows=6") ==
        "millrace: --input x=ones,5x10: found f32[5x10], whose rows is 5, but --dim says 6; leave out --dim\n");
  CHECK(error("top.mr --input x=ones,5x11") ==
        "millrace: input 'x' is [5x11], expected 10 in dim 1 of f32[rows, 10]; bind tensors that agree\n");
  CHECK(error("top.mr --input x=ones,65x10") ==
        "millrace: input 'x': dim 0 is 65, expected rows in 1..64; keep the promise, or build the "
        "graph with other facts\n");
  CHECK(error("some.mr --input x=ones,9") ==
        "millrace: the size k in 0..8 is unknown, because no input determines it; say --dim k=N\n");
}

TEST_CASE("sizes below 0 are refused before anything runs") {
  const Workplace here;
  const auto error = [&](const std::string& graph, const std::string& arguments) {
    here.write("below.mr", graph);
    return here.error_of("run below.mr " + arguments);
  };
  CHECK(error("graph g(%x: f32[n]) {\n  %y = iota() {shape = [n - 5, n - 6], dtype = i32}\n  return y = %y\n}\n",
              "--input x=arange,3") ==
        "millrace: %y = iota needs 0 <= n - 5, found 0 and -2 with n = 3; bind other sizes\n");
  CHECK(error("graph g(%x: f32[n]) {\n  %y = reshape(%x) {shape = [n - 5, n - 6]}\n  return y = %y\n}\n",
              "--input x=arange,6 --output y=@y.npy") ==
        "millrace: %y = reshape needs n <= n*n - 11*n + 30, found 6 and 0 with n = 6; bind other sizes\n");
  CHECK(error("graph g(%x: f32[n], %z: f32[n - 5]) {\n  return x = %x, z = %z\n}\n",
              "--input x=arange,3 --input z=zeros") ==
        "millrace: --input z=zeros: found f32[n - 5], whose n - 5 is -2, expected 0 or more; say other sizes\n");
}

TEST_CASE("a file's name may be as long as the system allows") {
  const Workplace here;
  const std::string name = std::string(251, 'a') + ".npy";
  CHECK(here.output_of("run top.mr --input x=ones,1x10 --output values=@" + name) == "");
  CHECK(here.read(name).size() == 128 + 3 * 4);
}

TEST_CASE("each further output costs as many system calls as the first ones") {
  const Workplace here;
  const auto count = [&](int num_outputs, std::uint64_t max_calls) {
    std::string text = "graph many(%x: f32[1]) {\n  return ", arguments = "run many.mr --input x=ones";
    for (int i = 0; i < num_outputs; ++i) {
      const std::string name = "y" + std::to_string(i);
      text += (i == 0 ? "" : ", ") + name + " = %x";
      arguments += " --output " + name + "=@" + name + ".npy";
    }
    here.write("many.mr", text + "\n}\n");
    const std::optional<std::uint64_t> found = test::count_system_calls(here.path("."), arguments, max_calls);
    REQUIRE(found);
    return *found;
  };
  constexpr std::uint64_t kMaxCallsPerOutput = 60;  // to resolve its path, and to write and rename its file
  const std::uint64_t few = count(100, 100'000), max_calls = few + 200 * kMaxCallsPerOutput;
  CHECK(count(300, max_calls) <= max_calls);
}

TEST_CASE("a device takes several outputs, and a link does not hide that two go to one file") {
  const Workplace here;
  std::filesystem::create_symlink("v.npy", here.path("link.npy"));
  std::filesystem::create_directory_symlink(".", here.path("self"));
  const auto error = [&](const std::string& arguments) {
    return here.error_of("run top.mr --input x=ones,1x10 " + arguments);
  };
  CHECK(error("--output values=@v.npy --output indices=@link.npy") ==
        "millrace: --output indices=@link.npy: 'values' already goes to that file; give each output a file of its "
        "own\n");
  CHECK(error("--output values=@self/v.npy --trace link.npy") ==
        "millrace: --trace link.npy: 'values' already goes to that file; give the trace a file of its own\n");
  CHECK(here.output_of("run top.mr --input x=ones,1x10 --output values=@/dev/null --output indices=@/dev/null "
                       "--trace /dev/null") == "");
}

TEST_CASE("mistakes in outputs and devices are named") {
  const Workplace here;
  const auto error = [&](const std::string& arguments) {
    return here.error_of("run top.mr --input x=ones,1x10 " + arguments);
  };
  CHECK(error("--output value=@v.npy") ==
        "millrace: --output value=@v.npy: the graph has no output 'value'; it has: values, indices\n");
  CHECK(error("--output values=v.npy") == "millrace: --output values=v.npy: found 'v.npy', expected @FILE.npy\n");
  CHECK(error("--output values=@v.npy --output values=@w.npy") ==
        "millrace: --output values=@w.npy: 'values' is already given; give each output once\n");
  CHECK(error("--output values=@v.npy --output indices=@./v.npy") ==
        "millrace: --output indices=@./v.npy: 'values' already goes to that file; give each output a file of its "
        "own\n");
  CHECK(error("--output values=@v.npy --trace ./v.npy") ==
        "millrace: --trace ./v.npy: 'values' already goes to that file; give the trace a file of its own\n");
  CHECK(here.output_of("run top.mr --input x=ones,1x10 --output values=@/dev/null --output indices=@/dev/null") == "");
  CHECK(error("--output values=@none/v.npy") ==
        "millrace: npy 'none/v.npy': the file cannot be written: No such file or directory; check the path and the "
        "space\n");
  CHECK(error("--device gpu") ==
        "millrace: device 'gpu' is not known; devices built in: cpu, hip, sim, isa; code generators built in: xbyak, "
        "llvm, interpreter; say 'cpu' for this host\n");
  CHECK(error("--device amdgpu:fast")
            .starts_with("millrace: device 'amdgpu:fast': target 'amdgpu:fast': gfx target 'fast' is not known, "
                         "expected one of: gfx90a, "));
  CHECK(error("--device amdgpu:gfx1100") ==
        "millrace: device 'amdgpu:gfx1100': code can be generated for it, but no device has this name; say "
        "hip:arch=gfx1100 to run it; say sim:gfx1100 to simulate it; say isa:gfx1100 to execute it; devices built in: "
        "cpu, hip, sim, isa; code generators built in: xbyak, llvm, interpreter\n");
  CHECK(error("--generator fast") ==
        "millrace: compile: generator 'fast' is not known; code generators built in: xbyak, llvm, interpreter; force "
        "one of these\n");
}

}  // namespace
}  // namespace millrace
