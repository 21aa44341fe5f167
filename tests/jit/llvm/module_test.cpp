// SPDX-License-Identifier: Apache-2.0
// Finding and opening the module.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "jit/cache/build_id.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/support/child_case.h"

namespace millrace {
namespace {

using test::is_llvm_loaded;
using test::run_child;

const TargetSpec kSpec{.isa = IsaLevel::kBaseline};

Kernel doubling_kernel() {
  MachineBuilder b("doubling");
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kReadWrite);
  const MachineValue x = b.load(y, b.i64(0), 4);
  b.store(y, b.i64(0), b.add(x, x));
  return b.finish();
}

/// Compiles through the cache and runs.
KernelCache::Stats run_cached(const std::string& directory) {
  const auto generator = make_llvm_generator();
  KernelCache cache({.directory = directory});
  const PlannedKernel kernel = generator->plan(doubling_kernel(), kSpec).value();
  const auto image = cache.get(kernel, kSpec, *generator).value();
  const MappedCode code = MappedCode::map(image->bytes, image->code_bytes).value();
  float y[4] = {1, 2, 3, 4};
  void* buffers[] = {y};
  std::uint32_t status = 0;
  const KernelArgs args{&status, nullptr, buffers, nullptr};
  entry_of(code, *image)(&args, 0, 1);
  CHECK(y[3] == 8);
  return cache.stats();
}

TEST_CASE("child: compiles" * doctest::skip()) {
  CHECK(run_cached(std::getenv("MILLRACE_TEST_DIRECTORY")).misses == 1);
  CHECK(is_llvm_loaded());
}

TEST_CASE("child: finds on disk" * doctest::skip()) {
  CHECK(run_cached(std::getenv("MILLRACE_TEST_DIRECTORY")).disk_hits == 1);
  CHECK_FALSE(is_llvm_loaded());
}

TEST_CASE("a kernel from the disk cache runs without libLLVM") {
  const TemporaryDirectory directory;
  const std::string environment = "MILLRACE_TEST_DIRECTORY='" + directory.path() + "'";
  CHECK(run_child(environment, "child: compiles") == 0);
  CHECK(run_child(environment, "child: finds on disk") == 0);
}

/// Links kernels that the cache does not hold.
KernelCache::Stats link_cached(const std::string& directory) {
  const std::shared_ptr<const KernelCompiler> generator = make_llvm_generator();
  const TargetSpec spec = TargetSpec::parse("amdgpu:gfx1100").value();
  const Target target = Target::create(spec, {generator}).value();
  KernelCache cache({.directory = directory});
  MachineBuilder b("store");
  b.set_workgroup(32, 32);
  b.store(b.buffer("y", DType::kI32, BufferAccess::kWrite), b.i64(0), b.i32(1));
  const std::vector<PlannedKernel> kernels = {generator->plan(b.finish(), spec).value()};
  const SharedBytes code =
      cache
          .get_code_object(kernels, target,
                           [&]() -> Result<std::vector<std::byte>> {
                             return link_images({{*cache.get(kernels[0], spec, *generator).value()}});
                           })
          .value();
  CHECK(code[1] == std::byte{'E'});
  return cache.stats();
}

TEST_CASE("child: links" * doctest::skip()) {
  CHECK(link_cached(std::getenv("MILLRACE_TEST_DIRECTORY")).misses == 2);
  CHECK(is_llvm_loaded());
}

TEST_CASE("child: finds linked" * doctest::skip()) {
  const KernelCache::Stats stats = link_cached(std::getenv("MILLRACE_TEST_DIRECTORY"));
  CHECK(stats.misses == 0);
  CHECK(stats.disk_hits == 1);  // the code object alone
  CHECK_FALSE(is_llvm_loaded());
}

TEST_CASE("a GPU's code object from the disk cache needs no libLLVM, nor the kernels' own images") {
  const TemporaryDirectory directory;
  const std::string environment = "MILLRACE_TEST_DIRECTORY='" + directory.path() + "'";
  CHECK(run_child(environment, "child: links") == 0);
  CHECK(run_child(environment, "child: finds linked") == 0);
}

TEST_CASE("child: has no module" * doctest::skip()) {
  const auto generator = make_llvm_generator();
  const std::string message =
      "llvm: libmillrace_llvm.so not found; looked in /no/such/module.so; put it there (millrace_deploy_module "
      "of the CMake package does), or name it in MILLRACE_LLVM_MODULE";
  CHECK(generator->supports(kSpec).ok());
  const PlannedKernel kernel = generator->plan(doubling_kernel(), kSpec).value();
  CHECK(generator->emit(kernel, kSpec).status().message() == message);
  CHECK_FALSE(is_llvm_loaded());
}

TEST_CASE("a child process that matches no test case fails") {
  CHECK(run_child("", "child: compiles, renamed") != 0);
  CHECK(run_child("", "a missing module is an error*") == 0);
}

TEST_CASE("a missing module is an error of emitting alone, and names where it was looked for") {
  CHECK(run_child("MILLRACE_LLVM_MODULE=/no/such/module.so", "child: has no module") == 0);
}

TEST_CASE("child: has a foreign module" * doctest::skip()) {
  const std::string path = std::getenv("MILLRACE_LLVM_MODULE");
  const auto generator = make_llvm_generator();
  CHECK(generator->supports(kSpec).ok());  // opens nothing
  const PlannedKernel kernel = generator->plan(doubling_kernel(), kSpec).value();
  const Status status = generator->emit(kernel, kSpec).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() == std::getenv("MILLRACE_TEST_MESSAGE"));
}

TEST_CASE("a module that cannot be used is refused, and named") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/module.so";
  std::ofstream(path) << "text";
  CHECK(run_child("MILLRACE_LLVM_MODULE='" + path + "' MILLRACE_TEST_MESSAGE='llvm: cannot open " + path + ": " + path +
                      ": file too short'",
                  "child: has a foreign module") == 0);
  const std::string pipe = directory.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(run_child("MILLRACE_LLVM_MODULE='" + pipe + "' MILLRACE_TEST_MESSAGE='llvm: " + pipe +
                      " is a pipe or a device, expected a file; name another'",
                  "child: has a foreign module") == 0);
  CHECK(run_child("MILLRACE_LLVM_MODULE=/lib/x86_64-linux-gnu/libm.so.6 MILLRACE_TEST_MESSAGE='llvm: "
                  "/lib/x86_64-linux-gnu/libm.so.6 is not a Millrace module: it lacks millrace_llvm_build_id or "
                  "millrace_llvm_emit'",
                  "child: has a foreign module") == 0);
}

/// The bytes of this build's module, where the table of its segments ends, and where the last segment does.
struct ModuleBytes {
  ModuleBytes() {
    std::ifstream from(find_llvm_module().value(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(from), {});
    const auto read = [&]<class T>(T value, std::size_t offset) {
      std::memcpy(&value, bytes.data() + offset, sizeof value);
      return value;
    };
    const auto header = read(Elf64_Ehdr(), 0);
    table_end = header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize;
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = read(Elf64_Phdr(), header.e_phoff + i * header.e_phentsize);
      if (segment.p_type == PT_LOAD) end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
    }
  }
  void write(const std::string& path, std::size_t size) const {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(size));
  }
  std::string bytes;
  std::size_t table_end = 0, end = 0;
};

TEST_CASE("a module that ends before its segments is refused, and a complete one is opened") {
  const ModuleBytes module;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/module.so";
  const std::string environment =
      "MILLRACE_LLVM_MODULE='" + path + "' MILLRACE_TEST_DIRECTORY='" + directory.path() + "/kernels'";
  for (const std::size_t size : {std::size_t{100}, std::size_t{4096}, module.end / 2, module.end - 1}) {
    CAPTURE(size);
    module.write(path, size);
    const std::size_t end = size < module.table_end ? module.table_end : module.end;  // as far as the file tells
    CHECK(run_child(environment + " MILLRACE_TEST_MESSAGE='llvm: " + path + " is truncated: it has " +
                        std::to_string(size) + " bytes, its segments end at " + std::to_string(end) +
                        "; install it again'",
                    "child: has a foreign module") == 0);
  }
  module.write(path, module.end);
  CHECK(run_child(environment, "child: compiles") == 0);
}

TEST_CASE("child: has no module of this name" * doctest::skip()) {
  const auto generator = make_llvm_generator();
  const std::string message = std::getenv("MILLRACE_TEST_MESSAGE");
  CHECK(find_llvm_module().status().message() == message);
  CHECK(generator->emit(generator->plan(doubling_kernel(), kSpec).value(), kSpec).status().message() == message);
}

TEST_CASE("a module's name without a slash is searched for like by dlopen, not in the working directory") {
  const ModuleBytes module;
  const TemporaryDirectory here, elsewhere;
  const std::string name = "libmillrace_test_module.so";
  const std::string environment = "cd '" + here.path() + "' && LD_LIBRARY_PATH='" + elsewhere.path() +
                                  "' MILLRACE_LLVM_MODULE=" + name + " MILLRACE_TEST_DIRECTORY='" + here.path() +
                                  "/kernels' MILLRACE_TEST_MESSAGE='llvm: ";
  module.write(here.path() + "/" + name, module.bytes.size());
  CHECK(run_child(environment + "cannot open " + name + ": " + name +
                      ": cannot open shared object file: No such file or directory'",
                  "child: has no module of this name") == 0);
  const std::string path = elsewhere.path() + "/" + name;
  module.write(path, module.end / 2);
  CHECK(run_child(environment + path + " is truncated: it has " + std::to_string(module.end / 2) +
                      " bytes, its segments end at " + std::to_string(module.end) + "; install it again'",
                  "child: has no module of this name") == 0);
  const std::string longer = "/" + std::string(10'000, 'n');
  CHECK(run_child("MILLRACE_LLVM_MODULE=" + longer +
                      " MILLRACE_TEST_MESSAGE='llvm: libmillrace_llvm.so not found; looked in " +
                      longer.substr(0, 160) + "..." + longer.substr(longer.size() - 64) +
                      "; put it there (millrace_deploy_module of the CMake package does), or name it in "
                      "MILLRACE_LLVM_MODULE'",
                  "child: has no module of this name") == 0);
  std::ofstream(here.path() + "/" + name) << "text";
  module.write(path, module.bytes.size());
  CHECK(run_child(environment + "'", "child: compiles") == 0);
}

/// The module with `id` wherever it holds the build's own.
void write_module_of_another_build(const std::string& path, const std::string& id) {
  std::string bytes = ModuleBytes().bytes;
  std::size_t num_replaced = 0;
  for (std::size_t at = 0; (at = bytes.find(build_id(), at)) != std::string::npos; ++num_replaced) {
    bytes.replace(at, id.size(), id);
  }
  REQUIRE(num_replaced > 0);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a module of another build is refused, with both builds and what to do") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/module.so";
  const std::string id(build_id().size(), 'f');
  write_module_of_another_build(path, id);
  CHECK(run_child("MILLRACE_LLVM_MODULE='" + path + "' MILLRACE_TEST_MESSAGE='llvm: " + path +
                      " is of another build: found build id " + id + ", expected " + std::string(build_id()) +
                      "; install the module that was built with this library'",
                  "child: has a foreign module") == 0);
}

TEST_CASE("the generator describes itself, and names the targets that it does not serve") {
  const auto generator = make_llvm_generator();
  CHECK(generator->name() == "llvm");
  CHECK(generator->version().starts_with("llvm 19."));
  CHECK(generator->supports({.family = "amdgpu"}).message() ==
        "target amdgpu is neither a CPU nor a known GPU; this generator makes x86-64 code and AMD GPU code objects");
}

TEST_CASE("a plan has all that a launch needs, and kernels that differ in names and sizes have one key text") {
  const auto generator = make_llvm_generator();
  auto build = [](const std::string& name, DType dtype, const SizeExpr& extent = Dim("n")) {
    MachineBuilder b(name);
    const MemoryHandle x = b.buffer("x_" + name, dtype, BufferAccess::kRead),
                       y = b.buffer("y_" + name, dtype, BufferAccess::kWrite);
    const MachineValue n = b.size(extent);
    b.store(y, n, b.load(x, n));
    b.set_num_groups(extent);
    return b.finish();
  };
  const PlannedKernel one = generator->plan(build("one", DType::kI32), kSpec).value();
  CHECK(one.generator == "llvm");
  CHECK(one.name == "one");
  CHECK(one.info == KernelInfo{.name = "one", .num_buffers = 2, .num_sizes = 1, .buffer_is_written = {false, true}});
  CHECK(one.num_groups == SizeExpr(Dim("n")));
  CHECK(one.sizes == std::vector<SizeExpr>{Dim("n")});
  CHECK(one.key_text == generator->plan(build("two", DType::kI32), kSpec).value().key_text);
  CHECK(one.key_text == generator->plan(build("one", DType::kI32, 3 * SizeExpr(Dim("m"))), kSpec).value().key_text);
  CHECK(one.key_text != generator->plan(build("one", DType::kF32), kSpec).value().key_text);
}

}  // namespace
}  // namespace millrace
