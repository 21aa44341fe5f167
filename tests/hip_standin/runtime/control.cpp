// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/control.h"

#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip_standin {
namespace {

class StandIn final : public Control {
 public:
  void reset(const Options& options) override {
    const std::lock_guard lock(state().mutex);
    hip_standin::reset(state(), options);
  }

  std::vector<std::string_view> entries() const override { return {kEntryNames.begin(), kEntryNames.end()}; }
  void fail_calls(std::string_view entry, std::uint64_t number, hip::Error error, std::uint64_t count) override {
    const std::lock_guard lock(state().mutex);
    state().journal.ask_failures(entry, number, error, count);
  }
  bool have_failed() const override {
    const std::lock_guard lock(state().mutex);
    return state().journal.have_failed();
  }
  void lose_device(int ordinal) override {
    const std::lock_guard lock(state().mutex);
    lose(state(), ordinal);
  }
  void hold_commands(bool is_held) override {
    const std::lock_guard lock(state().mutex);
    state().holds_commands = is_held;
  }
  void hang_device(int ordinal) override {
    const std::lock_guard lock(state().mutex);
    state().devices[static_cast<std::size_t>(ordinal)].is_hung = true;
  }
  void hang_launch(std::uint64_t number) override {
    const std::lock_guard lock(state().mutex);
    state().num_launches_until_hang = number;
  }

  std::vector<Call> calls() const override {
    const std::lock_guard lock(state().mutex);
    return state().journal.calls();
  }
  std::uint64_t num_calls(std::string_view entry) const override {
    const std::lock_guard lock(state().mutex);
    return state().journal.num_calls(entry);
  }
  void clear_calls() override {
    const std::lock_guard lock(state().mutex);
    state().journal.clear_calls();
  }
  std::uint64_t num_hidden_waits() const override {
    const std::lock_guard lock(state().mutex);
    return state().num_hidden_waits;
  }
  std::uint64_t thread_ns() const override { return TimeInside::total_ns(); }

  std::vector<std::string> findings() const override {
    const std::lock_guard lock(state().mutex);
    return state().journal.findings();
  }
  std::vector<std::string> take_findings() override {
    const std::lock_guard lock(state().mutex);
    return std::exchange(state().journal.findings(), {});
  }
  std::vector<std::string> live_objects() const override {
    const std::lock_guard lock(state().mutex);
    return hip_standin::live_objects(state());
  }
  std::uint64_t num_queued_commands() const override {
    const std::lock_guard lock(state().mutex);
    std::uint64_t sum = 0;
    for (const auto& [number, stream] : state().streams) sum += stream->commands.size();
    return sum;
  }

  void run_all() override {
    const std::lock_guard lock(state().mutex);
    while (run_one(state())) continue;
  }
  std::vector<std::byte> peek(const void* device_address, std::size_t num_bytes) const override {
    const std::lock_guard lock(state().mutex);
    const auto address = reinterpret_cast<std::uint64_t>(device_address);
    const auto allocation = state().memory.find(address);
    MILLRACE_CHECK(allocation != nullptr);
    const Place place = find_device(state(), allocation->device, address, num_bytes, When::kRunning);
    MILLRACE_CHECK(place.is_ok());
    return {place.bytes, place.bytes + num_bytes};
  }

 private:
  static State& state() { return the_state(); }
};

/// A row of the table without a definition fails to link.
[[gnu::used]] const auto kDefinitions = std::to_array<const void*>({
#define MILLRACE_HIP(need, result, name, parameters) reinterpret_cast<const void*>(&hip::name),
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
});

}  // namespace
}  // namespace millrace::hip_standin

extern "C" millrace::hip_standin::Control* millrace_hip_standin() {
  static millrace::hip_standin::StandIn control;
  return &control;
}
