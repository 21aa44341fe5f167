// SPDX-License-Identifier: Apache-2.0
// Programs and sessions on HIP devices: the code that they get, the error if there is no code, and a warm start.
#include <array>
#include <cstdlib>
#include <optional>

#include <doctest/doctest.h>

#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/driver.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/hip_standin/standin.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/child_case.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/kernels/fake_generator.h"

namespace millrace {
namespace {

using namespace test;
using F = std::vector<float>;

CompileOptions on_hip(const std::string& rest, std::vector<std::string> targets = {}) {
  CompileOptions options;
  options.context = test_context();
  options.device = HipStandin::spec(rest);
  options.targets = std::move(targets);
  return options;
}

Graph affine_graph() {
  GraphBuilder builder;
  const Tensor x = builder.input("x", DType::kF32, {2});
  builder.output("y", x * 2.0 + builder.input("w", DType::kF32, {2}));
  return builder.finish().value();
}

std::string complaint_of(const CompileOptions& options) { return compile(affine_graph(), options).status().message(); }

/// {1, 2} * 2 + {3, 4}.
F run_affine(const Program& program) {
  F x{1, 2}, w{3, 4}, y(2);
  Session session = Session::create(program).value();
  REQUIRE(session.run(std::array{bind(x), bind(w)}, std::array{bind(y)}).message() == "");
  return y;
}

TEST_CASE("compile for a HIP device makes code for its architecture") {
  const HipStandin standin(two_architectures(1));
  for (const std::string gfx : {"gfx1100", "gfx90a"}) {
    const Program program = affine(on_hip(",arch=" + gfx));
    REQUIRE(program.variants().size() == 1);
    CHECK(program.variants()[0].target.to_text() == "amdgpu:" + gfx);
    CHECK(run_affine(program) == F{5, 8});
  }
}

TEST_CASE("a program moves between the CPU and the HIP devices of its targets") {
  const HipStandin standin(two_architectures(1));
  CompileOptions options = on_hip("", {"cpu:baseline", "amdgpu:gfx90a", "amdgpu:gfx1100"});
  const Program program = affine(options);
  CHECK(run_affine(program) == F{5, 8});
  for (const std::string& device : {std::string("cpu"), HipStandin::spec(",arch=gfx90a"), HipStandin::spec()}) {
    CAPTURE(device);
    CHECK(run_affine(program.on(options.context->device(device).value()).value()) == F{5, 8});
  }
}

TEST_CASE("a HIP device without a variant is refused, with the variants, its architecture and the option") {
  const HipStandin standin(two_architectures(1));
  const std::string message =
      "device 'hip:1' runs amdgpu:gfx90a, and the program is for cpu:baseline, amdgpu:gfx1100; add a target of the "
      "device to CompileOptions::targets, or use another device";
  CompileOptions options = on_hip(",arch=gfx90a", {"cpu:baseline", "amdgpu:gfx1100"});
  CHECK(complaint_of(options) == message);
  options.device = HipStandin::spec();
  const Program program = affine(options);
  CHECK(program.on(options.context->device(HipStandin::spec(",arch=gfx90a")).value()).status().message() == message);
}

TEST_CASE("a HIP device without a code generator is refused, with the missing and the built-in generators") {
  const HipStandin standin(two_architectures(1));
  CompileOptions options = on_hip("");
  const auto with = [&](std::vector<std::shared_ptr<const KernelCompiler>> generators) {
    options.context = std::make_shared<const Context>(Context{{hip_driver()}, std::move(generators), nullptr});
    return complaint_of(options);
  };
  CHECK(with({}) ==
        "compile for device 'hip:0': device 'amdgpu:gfx1100': target 'amdgpu:gfx1100' has no code generator; built in: "
        "none; give one that makes code for it; devices built in: hip; code generators built in: none");
  CHECK(with({fake_generator("xbyak", "cpu")}) ==
        "compile for device 'hip:0': device 'amdgpu:gfx1100': target 'amdgpu:gfx1100' has no code generator; built in: "
        "xbyak (makes code for cpu only); give one that makes code for it, or choose another target; devices built in: "
        "hip; code generators built in: xbyak");
}

TEST_CASE("an unknown HIP device is an error of compile(), which names the request") {
  const HipStandin standin(two_architectures(1));
  CompileOptions options = on_hip("");
  options.device = "hip:library=/nowhere/libamdhip64.so";
  CHECK(complaint_of(options) ==
        "device 'hip:library=/nowhere/libamdhip64.so': hip: /nowhere/libamdhip64.so cannot be opened "
        "(/nowhere/libamdhip64.so: cannot open shared object file: No such file or directory); give the path of a HIP "
        "runtime");
  options.context = std::make_shared<const Context>(Context{{cpu_driver()}, test_context()->generators, nullptr});
  CHECK(complaint_of(options) ==
        "device 'hip:library=/nowhere/libamdhip64.so' is not known; devices built in: cpu; code generators built in: "
        "xbyak, llvm, interpreter; say 'cpu' for this host");
}

TEST_CASE("every subset of HIP's options gives a program that runs, or an error that names the device") {
  const HipStandin standin(two_architectures(1));
  const std::vector<std::shared_ptr<const Context>> contexts = {
      test_context(), std::make_shared<const Context>(Context{{hip_driver()}, {}, nullptr})};
  std::size_t num_run = 0;
  for (const std::string word : {"", "0,", "1,", "2,", "fast,"}) {
    for (const std::string architecture : {"", "arch=gfx1100,", "arch=gfx90a,", "arch=gfx906,"}) {
      for (const std::string streams : {"", "streams=1,", "streams=0,", "streams=1,streams=1,"}) {
        for (const std::string limit : {"", "time_limit_ms=none,", "time_limit_ms=soon,"}) {
          for (const std::string& library : {HipStandin::library(), std::string("/nowhere.so")}) {
            CompileOptions options;
            options.device = "hip:" + word + architecture + streams + limit + "library=" + library;
            CAPTURE(options.device);
            for (const auto& context : contexts) {
              options.context = context;
              const Result<Program> program = compile(affine_graph(), options);
              if (program.ok()) {
                CHECK(run_affine(*program) == F{5, 8});
                ++num_run;
                continue;
              }
              const std::string& message = program.status().message();
              CHECK((message.starts_with("device 'hip:") || message.starts_with("compile for device 'hip:")));
            }
          }
        }
      }
    }
  }
  // With a generator and the library: a number or an architecture, but not both, and the allowed options.
  CHECK(num_run == (1 + 2 + 2) * 2 * 2);
}

/// y = x * table.
Program scaled(const CompileOptions& options, const F& table) {
  GraphBuilder builder;
  const auto size = static_cast<std::int64_t>(table.size());
  builder.output("y", builder.input("x", DType::kF32, {size}) * builder.constant<float>({size}, table));
  return compile(builder.finish().value(), options).value();
}

F run_scaled(const Program& program, std::size_t size) {
  F x(size, 3), y(size);
  Session session = Session::create(program).value();
  REQUIRE(session.run(std::array{bind(x)}, std::array{bind(y)}).message() == "");
  return y;
}

TEST_CASE("programs and sessions share the constants that they have in common on a HIP device") {
  constexpr std::size_t kSize = 3000;
  const HipStandin standin;
  CompileOptions options = on_hip("");
  options.on_device = standin.open().value();
  // How often at least one large piece of memory was uploaded, or allocated.
  const auto count_large = [&](std::string_view entry) {
    std::size_t count = 0;
    for (const hip_standin::Call& call : standin.control.calls()) {
      count += call.entry == entry && call.bytes >= 4 * kSize ? 1 : 0;
    }
    standin.control.clear_calls();
    return count;
  };
  F table(kSize, 2);
  const Program first = scaled(options, table);
  CHECK(count_large("hipMemcpyAsync") == 1);
  std::optional<Program> second = scaled(options, table);
  const Program third = second->on(options.on_device).value();
  CHECK(count_large("hipMallocFromPoolAsync") == 0);
  table.back() = 5;
  const Program other = scaled(options, table);
  CHECK(count_large("hipMallocFromPoolAsync") == 1);
  second.reset();
  F expected(kSize, 6);
  for (const Program& program : {first, third}) CHECK(run_scaled(program, kSize) == expected);
  expected.back() = 15;
  CHECK(run_scaled(other, kSize) == expected);
}

TEST_CASE("a loop of runs on a HIP device's buffers moves nothing through the host, and allocates nothing") {
  const HipStandin standin;
  CompileOptions options = on_hip("");
  options.on_device = standin.open().value();
  Device& device = *options.on_device;
  Session session = Session::create(ranked_sum(options)).value();
  const F values = counting_down(40);
  const auto x = to_device(device, values), y = to_device(device, F(40));
  const Extents extents = extents_of(values);
  const auto run = [&] {
    return session.submit(std::array{bind(*x, extents)}, std::array{bind(*y, extents)}).value().wait();
  };
  for (int i = 0; i < 2; ++i) REQUIRE(run().message() == "");  // allocates the memory that the next runs use again
  standin.control.clear_calls();
  constexpr std::size_t kRuns = 5;
  for (std::size_t i = 0; i < kRuns; ++i) REQUIRE(run().message() == "");
  CHECK(standin.control.num_calls("hipModuleLaunchKernel") == 2 * kRuns);
  CHECK(standin.control.num_calls("hipMemcpyAsync") == kRuns);  // the status words
  for (const hip_standin::Call& call : standin.control.calls()) {
    CHECK(call.entry.find("Malloc") == std::string_view::npos);
    CHECK(call.entry.find("Create") == std::string_view::npos);
  }
  CHECK(from_device(device, *y) == sums_up_to(40));
}

/// What a child finds in the cache of its parent's directory.
std::shared_ptr<const Context> shared_cache() {
  return make_default_context({.cache_directory = std::getenv("MILLRACE_TEST_DIRECTORY")});
}

TEST_CASE("child: compiles for HIP" * doctest::skip()) {
  const HipStandin standin;
  CompileOptions options = on_hip("");
  options.context = shared_cache();
  CHECK(run_affine(affine(options)) == F{5, 8});
  CHECK(options.context->cache->stats().misses == 2);  // the kernel and the code object
  CHECK(is_llvm_loaded());
}

TEST_CASE("child: finds code for HIP" * doctest::skip()) {
  const HipStandin standin;
  CompileOptions options = on_hip("");
  options.context = shared_cache();
  Session session = Session::create(affine(options)).value();
  CHECK(options.context->cache->stats().misses == 0);
  CHECK(options.context->cache->stats().disk_hits == 1);  // the code object, linked as it is
  F x{1, 2}, w{3, 4}, y(2);
  standin.control.hold_commands(true);  // the stand-in opens LLVM when it runs a kernel
  const auto end = session.submit(std::array{bind(x), bind(w)}, std::array{bind(y)});
  REQUIRE(end.status().message() == "");
  CHECK(standin.control.num_calls("hipModuleLaunchKernel") == 1);
  CHECK_FALSE(is_llvm_loaded());
  standin.control.hold_commands(false);
  CHECK(end->wait().ok());
  CHECK(y == F{5, 8});
}

TEST_CASE("a warm start on HIP maps no libLLVM and links nothing") {
  const TemporaryDirectory directory;
  const std::string environment = "MILLRACE_TEST_DIRECTORY='" + directory.path() + "'";
  CHECK(run_child(environment, "child: compiles for HIP") == 0);
  CHECK(run_child(environment, "child: finds code for HIP") == 0);
}

}  // namespace
}  // namespace millrace
