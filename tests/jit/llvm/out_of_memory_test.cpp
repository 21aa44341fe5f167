// SPDX-License-Identifier: Apache-2.0
// Failing allocations of the thread that calls LLVM. tests/llvm_memory tests LLVM's own allocations.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "jit/llvm_client/open_module.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"
#include "tests/support/allocation_count.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

PlannedKernel storing_kernel(const KernelCompiler& generator, const TargetSpec& spec) {
  MachineBuilder b("store");
  if (spec.is_gpu()) b.set_workgroup(32, 32);
  b.store(b.buffer("y", DType::kI32, BufferAccess::kWrite), b.i64(0), b.i32(1));
  return generator.plan(b.finish(), spec).value();
}

struct Call {
  std::string what;
  std::function<Status()> make;
};

TEST_CASE("a call into LLVM without memory left reports it, and LLVM stays usable" * test::Sliced()) {
  const auto generator = make_llvm_generator();
  const TargetSpec host = TargetSpec::parse("cpu:baseline").value();
  const TargetSpec gpu = TargetSpec::parse("amdgpu:gfx1100").value();
  const PlannedKernel kernel = storing_kernel(*generator, host), gpu_kernel = storing_kernel(*generator, gpu);
  const ExecutableImage image = generator->emit(kernel, host).value();
  const std::vector<ExecutableImage> objects = {generator->emit(gpu_kernel, gpu).value()};
  const std::vector<std::byte> linked = link_images(objects).value();
  const Call calls[] = {
      {"emit", [&] { return generator->emit(kernel, host).status(); }},
      {"listing", [&] { return generator->listing(gpu_kernel, gpu, ListingKind::kAssembly).status(); }},
      {"disassemble", [&] { return disassemble_with_llvm(image.bytes, host).status(); }},
      {"link", [&] { return link_images(objects).status(); }},
      {"read", [&] { return read_code_object(linked).status(); }},
      {"decode", [&] { return decode_code_object(linked).status(); }},
  };
  for (const Call& call : calls) {
    CAPTURE(call.what);
    const std::uint64_t before = num_allocations();
    REQUIRE(call.make().message() == "");
    const std::uint64_t num = num_allocations() - before;
    std::uint64_t num_refused = 0;
    for (const Failing which : {Failing::kOne, Failing::kAllFromThere}) {
      for (std::uint64_t n = 0; n < num; ++n) {
        Status status;
        {
          const FailingAllocation failing(n, which);
          status = call.make();
        }
        CHECK((status.ok() || status.code() == StatusCode::kResourceExhausted));
        num_refused += status.ok() ? 0 : 1;
      }
    }
    CHECK(num_refused > 0);
    CHECK(call.make().message() == "");
  }
}

}  // namespace
}  // namespace millrace
