// SPDX-License-Identifier: Apache-2.0
// The driver of op cases must be able to fail: faults at guards, written gaps and wrong values are detected.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/ops/op_driver.h"

using namespace millrace;
using namespace millrace::test;
using reference::make_tensor;
using reference::Tensor;

namespace {

/// Whether a child process that runs f dies of it. Its complaint is not shown.
template <class F>
bool is_fatal(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    f();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void touch(std::byte* address) { *const_cast<volatile std::byte*>(address) = std::byte{1}; }
void look(const std::byte* address) {
  [[maybe_unused]] const auto value = *const_cast<const volatile std::byte*>(address);
}

}  // namespace

TEST_CASE("a guarded buffer faults one byte past its guarded end, and only there") {
  for (const std::size_t bytes : {0, 1, 100, 4096, 5000}) {
    const GuardedBuffer after(bytes, GuardedBuffer::Guard::kAfter), before(bytes, GuardedBuffer::Guard::kBefore);
    CHECK(is_fatal([&] { look(after.data() + bytes); }));
    CHECK(is_fatal([&] { look(before.data() - 1); }));
    if (bytes == 0) continue;
    CHECK(!is_fatal([&] { touch(after.data() + bytes - 1); }));
    CHECK(!is_fatal([&] { touch(before.data()); }));
  }
}

TEST_CASE("a guarded buffer that is read-only faults when written") {
  GuardedBuffer buffer(16, GuardedBuffer::Guard::kAfter);
  buffer.make_read_only();
  CHECK(!is_fatal([&] { look(buffer.data()); }));
  CHECK(is_fatal([&] { touch(buffer.data()); }));
}

TEST_CASE("a write outside of a buffer or between elements is detected") {
  const GuardedBuffer buffer(16, GuardedBuffer::Guard::kAfter);
  CHECK(buffer.is_slack_intact());
  touch(buffer.data() - 1);
  CHECK(!buffer.is_slack_intact());

  const Shape shape = {2, 3};
  const KernelTensor padded = {"y", {DType::kF32, shape}, make_layout(shape, Strides::kPadded)};
  const GuardedTensor tensor(padded, GuardedBuffer::Guard::kAfter);
  const std::int64_t row = padded.layout.strides[0].constant();
  auto* data = static_cast<std::byte*>(tensor.binding().data);
  touch(data + 5 * 4);
  CHECK(tensor.is_rest_intact());
  touch(data + (5 + row - 1) * 4);
  CHECK(!tensor.is_rest_intact());
}

TEST_CASE("a difference is reported in bits, ulp or by the bound") {
  const Tensor one = make_tensor<double>(DType::kF32, {2}, {1, 1});
  const Tensor near = make_tensor<double>(DType::kF32, {2}, {1, 1 + 0x1p-22});
  const long double bounds[] = {0, 0x1p-23L};
  CHECK(find_difference(one, one, {}) == "");
  CHECK(find_difference(near, one, {}) ==
        "element 1: found 1.000000238418579 (0x3f800002), expected 1 (0x3f800000): not the same bits");
  CHECK(find_difference(near, one, {.max_ulp = 2}) == "");
  CHECK(find_difference(near, one, {.max_ulp = 1}) ==
        "element 1: found 1.000000238418579 (0x3f800002), expected 1 (0x3f800000): 2 ulp, at most 1");
  CHECK(find_difference(near, one, {.bounds = bounds}) ==
        "element 1: found 1.000000238418579 (0x3f800002), expected 1 (0x3f800000): at most 1.1920928955078125e-07 "
        "away");
  const Tensor zero = make_tensor<double>(DType::kF32, {1}, {0.0}),
               minus = make_tensor<double>(DType::kF32, {1}, {-0.0});
  CHECK(find_difference(minus, zero, {}) != "");
}

TEST_CASE("the driver fails if the expected value is wrong, for every generator and algorithm") {
  const Tensor x = make_tensor<double>(DType::kF32, {37}, std::vector<double>(37, 2));
  std::vector<Tensor> wrong = reference::evaluate(Op::neg, NoAttrs{}, {&x, 1});
  wrong[0] = make_tensor<double>(DType::kF32, {37}, [] {
    std::vector<double> values(37, -2);
    values[36] = -3;
    return values;
  }());
  for (const std::string& generator : generator_names(host_targets().back())) {
    if (generator == "xbyak") continue;  // does not take this
    DriverTally tally;
    OpTrial trial = {Op::neg, NoAttrs{}, {&x, 1}, 0, {}, "neg"};
    trial.options.run.target = host_targets().back();
    trial.options.run.force_generator = generator;
    run_trial(trial, wrong, tally);
    REQUIRE(tally.failures.size() == 1);
    CHECK(tally.failures[0] == "neg on " + host_targets().back().to_text() + " force '" + generator +
                                   "' strides 0 guard 0: result 0: element 36: found -2 (0xc0000000), expected -3 "
                                   "(0xc0400000): not the same bits");
  }
}
