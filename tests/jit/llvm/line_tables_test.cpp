// SPDX-License-Identifier: Apache-2.0
// Line tables of code objects: from which line of the kernel's text each instruction comes.
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "jit/ir/instruction_lines.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/gpu/gpu_kernels.h"

namespace millrace {
namespace {

const TargetSpec kSpec{.family = "amdgpu", .gfx = "gfx1100"};

struct Lines {
  MachineKernel kernel = test::row_sum_kernel(DType::kF32, 32);
  std::shared_ptr<const KernelCompiler> generator = make_llvm_generator({.line_tables = true});
  PlannedKernel planned = generator->plan(kernel, kSpec).value();
};

TEST_CASE("each instruction of the assembly is listed under the line that it comes from") {
  const Lines lines;
  const std::string listing = lines.generator->listing(lines.planned, kSpec, ListingKind::kAssembly).value();
  unsigned line = 0, num_stores = 0, num_barriers = 0;
  for (std::size_t begin = 0, end = 0; (end = listing.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string text = listing.substr(begin, end - begin);
    unsigned file = 0, found = 0;
    if (std::sscanf(text.c_str(), " .loc %u %u", &file, &found) == 2) line = found;
    if (text.find("global_store") != std::string::npos) {
      ++num_stores;
      CHECK(text_of_line(lines.kernel, line).starts_with("store_vector @1"));
    }
    if (text.find("s_barrier") != std::string::npos) {
      ++num_barriers;
      CHECK(text_of_line(lines.kernel, line) == "barrier");
    }
  }
  CHECK(num_stores == 1);
  CHECK(num_barriers == 1);
}

TEST_CASE("line tables keep the kernel's text, and the object still matches its plan") {
  const Lines lines;
  const auto linked_text = [&](const KernelCompiler& generator) {
    const PlannedKernel planned = generator.plan(lines.kernel, kSpec).value();
    const std::vector<std::byte> object = link_images({{generator.emit(planned, kSpec).value()}}).value();
    CHECK(check_code_object(read_code_object(object).value(), planned, kSpec).ok());
    return std::string(reinterpret_cast<const char*>(object.data()), object.size());
  };
  CHECK(linked_text(*lines.generator).find(to_text(lines.kernel)) != std::string::npos);
  CHECK(linked_text(*make_llvm_generator()).find("store_vector") == std::string::npos);
}

TEST_CASE("images with and without line tables are two entries of a cache, only for GPUs") {
  const Lines lines;
  const auto plain = make_llvm_generator();
  CHECK(lines.planned.key_text != plain->plan(lines.kernel, kSpec).value().key_text);
  MachineBuilder b("nothing");
  const MachineKernel nothing = b.finish();
  CHECK(lines.generator->plan(nothing, {}).value().key_text == plain->plan(nothing, {}).value().key_text);
}

}  // namespace
}  // namespace millrace
