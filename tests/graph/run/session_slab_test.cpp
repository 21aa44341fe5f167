// SPDX-License-Identifier: Apache-2.0
// A session's slab: as large as the packing of the largest binding so far, and packed anew when sizes change.
#include <utility>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/support/allocation_count.h"
#include "tests/support/counts_allocations.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_network.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// Notes the sizes of the buffers that are asked of a device.
class NotingDevice final : public Device {
 public:
  explicit NotingDevice(std::shared_ptr<Device> inner) : Device(inner->info(), inner->id()), inner_(std::move(inner)) {}

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override {
    sizes.push_back(size_bytes);
    return inner_->allocate(size_bytes);
  }
  Result<std::shared_ptr<Buffer>> import_host(void* data, std::size_t size_bytes, Buffer::Deleter deleter) override {
    return inner_->import_host(data, size_bytes, std::move(deleter));
  }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial_value) override {
    return inner_->create_semaphore(initial_value);
  }
  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return inner_->load(images);
  }
  Result<std::shared_ptr<Recording>> record_straight(const CommandList& list,
                                                     std::shared_ptr<Executable> executable) override {
    return inner_->record(list, std::move(executable));
  }
  Status submit_straight(Recording& recording, const Submission& submission) override {
    return inner_->submit(recording, submission);
  }

  std::vector<std::size_t> sizes;

 private:
  std::shared_ptr<Device> inner_;
};

/// Values of three sizes, each of which is large under a different binding.
Graph branches() {
  const Dim n = Dim("n").at_least(1), m = Dim("m").at_least(1);
  GraphBuilder graph("branches");
  const Tensor x = graph.input("x", DType::kF32, {n, 16}), y = graph.input("y", DType::kF32, {m, 16});
  Tensor a = cumulative_sum(x), b = cumulative_sum(y);
  for (int i = 0; i < 3; ++i) {
    a = softmax(cumulative_sum(a));
    b = softmax(cumulative_sum(b));
  }
  graph.output("z", reduce_sum(a, {0}) + reduce_sum(b, {0}));
  return graph.finish().value();
}

struct BranchRun {
  BranchRun(std::int64_t n, std::int64_t m)
      : x(static_cast<std::size_t>(n * 16), 1.0f), y(static_cast<std::size_t>(m * 16), 1.0f), z(16) {
    inputs = {bind(x, {n, 16}), bind(y, {m, 16})};
    outputs = {bind(z)};
  }
  std::vector<float> x, y, z;
  std::vector<TensorBinding> inputs, outputs;
};

struct NotedProgram {
  NotedProgram() : device(std::make_shared<NotingDevice>(test::test_context()->device("cpu").value())) {
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = device;
    program.emplace(compile(branches(), options).value());
    device->sizes.clear();
  }
  std::size_t peak(std::int64_t n, std::int64_t m) const {
    return static_cast<std::size_t>(*measure_schedule(program->lowered().schedule, {{"n", n}, {"m", m}}).peak_bytes);
  }
  std::shared_ptr<NotingDevice> device;
  std::optional<Program> program;
};

TEST_CASE("a slab grows to the size that the largest binding needs, and not a byte more") {
  const NotedProgram noted;
  Session session = Session::create(*noted.program).value();
  std::vector<std::size_t> expected;
  constexpr std::int64_t kSizes[][2] = {{10, 20}, {20, 10}, {5, 5}, {300, 7}, {8, 299}, {301, 300}};
  for (const auto& [n, m] : kSizes) {
    CAPTURE(n);
    BranchRun run(n, m);
    REQUIRE(session.run(run.inputs, run.outputs).message() == "");
    const std::size_t needed = noted.peak(n, m);
    CHECK(needed < static_cast<std::size_t>(noted.program->report().slab_bytes.evaluate({{"n", n}, {"m", m}}).value()));
    if (expected.empty() || needed > expected.back()) expected.push_back(needed);
    CHECK(noted.device->sizes == expected);
  }
  CHECK(expected.size() == 3);
}

TEST_CASE("runs of changing sizes allocate nothing once the slab is large enough" * CountsAllocations()) {
  const NotedProgram noted;
  Session session = Session::create(*noted.program).value();
  BranchRun large(100, 120), wide(90, 3), high(2, 110);
  REQUIRE(session.run(large.inputs, large.outputs).message() == "");
  const std::uint64_t before = num_allocations();
  bool all_ok = true;
  for (int i = 0; i < 10; ++i) {
    for (BranchRun* run : {&wide, &high, &large}) all_ok &= session.run(run->inputs, run->outputs).ok();
  }
  CHECK(num_allocations() == before);
  CHECK(all_ok);
}

TEST_CASE("values are right in slabs that are packed when sizes are bound" * test::Sliced()) {
  CompileOptions options;
  options.context = test::test_context();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const Graph graph = test::make_random_network(seed, true);
    if (seed == 6) options.device = "sim:gfx1100";
    const SymbolValues bindings[] = {{{"n", 1}, {"m", 40}}, {{"n", 33}, {"m", 2}}};
    for (const SymbolValues& values : bindings) CHECK(test::check_graph(graph, values, options, seed) == "");
  }
}

}  // namespace
}  // namespace millrace
