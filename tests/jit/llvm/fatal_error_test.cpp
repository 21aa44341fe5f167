// SPDX-License-Identifier: Apache-2.0
// Fatal errors of LLVM. Each case needs a process of its own, because LLVM is unusable afterwards: it is skipped, and
// its parent runs it in a child.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/jit/llvm/emit_support.h"

namespace millrace {
namespace {

const TargetSpec kSpec{.isa = IsaLevel::kBaseline};

/// Whether this program, run with one skipped case, passes just that case and then exits with 0.
bool child_passes(const std::string& environment, const std::string& test_case) {
  char self[4096] = {};
  REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
  const std::string command =
      "text=$(" + environment + " '" + self + "' --no-skip -tc='" + test_case +
      "' 2>&1) && echo \"$text\" | grep -Eq 'test cases: +1 \\| +1 passed' || { echo \"$text\"; false; }";
  return std::system(command.c_str()) == 0;
}

/// A vector of more elements than the 65,535 operands that a node of LLVM's instruction selection can have.
PlannedKernel fatal_kernel() {
  MachineBuilder b("wide");
  const MemoryHandle y = b.buffer("y", DType::kI8, BufferAccess::kWrite);
  b.store(y, b.i64(0), b.lane_iota(DType::kI8, 1u << 17));
  return make_llvm_generator()->plan(b.finish(), kSpec).value();
}

PlannedKernel good_kernel(const std::string& name, int factor) {
  MachineBuilder b(name);
  const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kReadWrite);
  MachineValue x = b.load(y, b.i64(0));
  for (int i = 1; i < factor; ++i) x = b.add(x, b.load(y, b.i64(0)));
  b.store(y, b.i64(0), x);
  return make_llvm_generator()->plan(b.finish(), kSpec).value();
}

const std::string kMessage =
    "llvm: kernel 'wide': LLVM ERROR: SmallVector unable to grow. Requested capacity (18446744073709486080) is larger "
    "than maximum value for size type (4294967295); restart the process to compile more, and please report it";

void check_failure(const Status& status) {
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message() == kMessage);
}

std::int64_t run(const ExecutableImage& image, std::int64_t y) {
  const MappedCode code = MappedCode::map(image.bytes, image.code_bytes).value();
  void* buffers[] = {&y};
  std::uint32_t status = 0;
  const KernelArgs args{&status, nullptr, buffers, nullptr};
  entry_of(code, image)(&args, 0, 1);
  return y;
}

TEST_CASE("child: meets a fatal error" * doctest::skip()) {
  const auto generator = make_llvm_generator();
  KernelCache cache({.directory = std::getenv("MILLRACE_TEST_DIRECTORY")});
  const auto before = cache.get(good_kernel("before", 3), kSpec, *generator).value();
  check_failure(cache.get(fatal_kernel(), kSpec, *generator).status());
  // Every call into LLVM fails with the same status and returns, because nothing waits for the stuck thread; calls that
  // need no LLVM still work.
  check_failure(cache.get(good_kernel("after", 4), kSpec, *generator).status());
  check_failure(cache.get(fatal_kernel(), kSpec, *generator).status());
  check_failure(disassemble_with_llvm({}, kSpec).status());
  check_failure(link_with_llvm({}).status());
  check_failure(read_code_object({}).status());
  CHECK(run(*before, 5) == 15);
  KernelCache on_disk({.directory = std::getenv("MILLRACE_TEST_DIRECTORY")});
  CHECK(run(*on_disk.get(good_kernel("before", 3), kSpec, *generator).value(), 6) == 18);
  CHECK(on_disk.stats().disk_hits == 1);
}

TEST_CASE("a fatal error of LLVM fails the compile call and later ones; the process goes on and ends normally") {
  const TemporaryDirectory directory;
  CHECK(child_passes("MILLRACE_TEST_DIRECTORY='" + directory.path() + "'", "child: meets a fatal error"));
}

TEST_CASE("child: meets a fatal error while other threads compile" * doctest::skip()) {
  const auto generator = make_llvm_generator();
  std::atomic<int> num_good = 0, num_wrong = 0;
  std::atomic<bool> has_failed = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int factor = 1; factor < 1000 && !has_failed; ++factor) {
        const auto image = generator->emit(good_kernel("good" + std::to_string(t), factor % 20 + 1), kSpec);
        if (image.ok()) {
          (run(*image, 7) == 7 * (factor % 20 + 1) ? num_good : num_wrong)++;
        } else {
          num_wrong += image.status().message() == kMessage ? 0 : 1;
        }
      }
    });
  }
  while (num_good == 0 && num_wrong == 0) std::this_thread::yield();
  check_failure(generator->emit(fatal_kernel(), kSpec).status());
  has_failed = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(num_wrong == 0);
  check_failure(generator->emit(good_kernel("after", 2), kSpec).status());
}

TEST_CASE("kernels that other threads compile during a fatal error of LLVM are complete or fail with the same status") {
  CHECK(child_passes("", "child: meets a fatal error while other threads compile"));
}

}  // namespace
}  // namespace millrace
