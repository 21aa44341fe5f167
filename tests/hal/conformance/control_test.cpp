// SPDX-License-Identifier: Apache-2.0
// Loops and conditions, on every device.
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

/// The commands that `add` appends, as a block.
template <class Add>
std::shared_ptr<const CommandBlock> block(ListBuilder& b, Add&& add) {
  std::vector<Command> before = std::move(b.list.commands);
  b.list.commands.clear();
  add();
  auto made = std::make_shared<const CommandBlock>(CommandBlock{std::move(b.list.commands)});
  b.list.commands = std::move(before);
  return made;
}

/// A tape of bytes that a loop reads one after another: its condition is the first, and each round moves the tape by
/// one and appends `digit` to `y`. So it runs as many rounds as there are bytes that are not 0 at the beginning.
struct Tape {
  explicit Tape(ListBuilder& builder, const TargetSpec& target) : b(builder), append(append_on(target)) {
    tape = b.binding("tape", BindingKind::kTransient, 16);
    moved = b.binding("moved", BindingKind::kTransient, 16);
    y = b.output("y", 4);
    kernel = b.kernel(append.info);
  }
  void append_digit(std::uint32_t digit) { b.dispatch(kernel, 1, {b.range(y, 0, 4)}, {digit}); }
  void move() {
    b.copy(b.range(tape, 1, 15), b.range(moved, 0, 15));
    b.barrier();
    b.copy(b.range(moved, 0, 15), b.range(tape, 0, 15));
  }
  void loop(std::uint32_t digit) {
    b.list.commands.emplace_back(LoopCommand{b.range(tape, 0, 1), block(b, [&] {
                                               append_digit(digit);
                                               move();
                                             })});
  }

  ListBuilder& b;
  ExecutableImage append;
  BindingIndex tape{}, moved{}, y{};
  KernelIndex kernel{};
};

struct Memory {
  Memory(Device& on, const std::vector<unsigned char>& bytes)
      : device(on), tape(on.allocate(16).value()), moved(on.allocate(16).value()), y(on, {0}) {
    std::vector<unsigned char> padded = bytes;
    padded.resize(16);
    const std::vector<unsigned char> zeros(16);
    MILLRACE_CHECK(upload(on, *tape, std::as_bytes(std::span(padded))).ok());
    MILLRACE_CHECK(upload(on, *moved, std::as_bytes(std::span(zeros))).ok());
  }
  std::vector<BufferBinding> bindings() const { return {tape->binding(), moved->binding(), y.binding()}; }
  Device& device;
  std::shared_ptr<Buffer> tape, moved;
  Words y;
};

}  // namespace

TEST_CASE(
    "device: a loop runs while its condition is not 0, each iteration may change it, and the loop may run again") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    tape.append_digit(7);
    b.barrier();
    tape.loop(1);
    b.barrier();
    tape.append_digit(8);
    const Replay replay(device.raw(), b, {tape.append});
    for (const std::vector<unsigned char>& bytes :
         {std::vector<unsigned char>{}, {1}, {1, 255, 2}, {1, 0, 1}, {9, 9, 9, 9, 9, 9}}) {
      const Memory memory(device.raw(), bytes);
      REQUIRE(wait_for(replay, memory.bindings()).message() == "");
      std::uint32_t expected = 7;
      for (std::size_t i = 0; i < bytes.size() && bytes[i] != 0; ++i) expected = expected * 10 + 1;
      CHECK(memory.y.read() == W{expected * 10 + 8});
    }
  });
}

TEST_CASE("device: a condition runs one of its two blocks, and blocks may hold further loops and conditions") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    // while (tape[0]) { if (tape[8]) y 2 else { y 3 }; move }
    b.list.commands.emplace_back(LoopCommand{b.range(tape.tape, 0, 1), block(b, [&] {
                                               const auto yes = block(b, [&] { tape.append_digit(2); });
                                               const auto no = block(b, [&] { tape.append_digit(3); });
                                               b.list.commands.emplace_back(
                                                   CondCommand{b.range(tape.tape, 8, 1), yes, no});
                                               b.barrier();
                                               tape.move();
                                             })});
    const Replay replay(device.raw(), b, {tape.append});
    const Memory memory(device.raw(), {1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0});
    REQUIRE(wait_for(replay, memory.bindings()).message() == "");
    CHECK(memory.y.read() == W{3223});
  });
}

TEST_CASE("device: a list with a loop waits for its semaphores, and work that waits for it sees its end") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    tape.loop(1);
    const Replay replay(device.raw(), b, {tape.append}), four = append_digit(device.raw(), 4);
    const Memory memory(device.raw(), {1, 1, 1});
    const auto gate = timeline(device.raw()), looped = timeline(device.raw()), done = timeline(device.raw());
    REQUIRE(replay.submit(memory.bindings(), {{gate, 1}}, {{looped, 1}}).message() == "");
    REQUIRE(four.submit({memory.y.binding()}, {{looped, 1}}, {{done, 1}}).message() == "");
    CHECK(looped->query().value() == 0);
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).message() == "");
    CHECK(memory.y.read() == W{1114});
  });
}

TEST_CASE("device: an endless loop stops on request, and one whose wait fails never begins") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    b.list.commands.emplace_back(
        LoopCommand{b.range(tape.tape, 0, 1), block(b, [&] { b.fill(b.range(tape.moved, 0, 4), 1, 4); })});
    const Replay replay(device.raw(), b, {tape.append});
    const Memory memory(device.raw(), {1});
    const std::vector<BufferBinding> bindings = memory.bindings();
    const auto gate = timeline(device.raw()), done = timeline(device.raw()), failed = timeline(device.raw());
    const auto other = timeline(device.raw());
    std::stop_source stop;
    const Timepoint wait{gate, 1}, signal{done, 1};
    REQUIRE(device.raw()
                .submit(*replay.recording, {.bindings = bindings,
                                            .sizes = replay.sizes,
                                            .wait = {&wait, 1},
                                            .signal = {&signal, 1},
                                            .stop = stop.get_token()})
                .message() == "");
    // The signal may come back only when the loop has ended, so another thread stops it.
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.request_stop();
    });
    (void)gate->signal(1);
    const Status status = done->wait(1);
    CHECK(status.code() == StatusCode::kCancelled);
    CHECK(status.message().ends_with("stopped on request; what it should have written is unspecified"));
    REQUIRE(replay.submit(bindings, {{failed, 1}}, {{other, 1}}).message() == "");
    failed->fail(out_of_range("no such thing"));
    CHECK(other->wait(1).message().find("no such thing") != std::string::npos);
  });
}

TEST_CASE("device: a kernel that fails in a loop is explained by its number in the whole list") {
  struct Explainer final : FailureExplainer {
    Status explain(const DispatchFailure& found, Status) override {
      failure = found;
      return out_of_range("explained");
    }
    DispatchFailure failure;
  };
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    const ExecutableImage failing = fail_index_on(device.target());
    const KernelIndex fails = b.kernel(failing.info);
    tape.append_digit(1);
    b.barrier();
    b.list.commands.emplace_back(LoopCommand{b.range(tape.tape, 0, 1), block(b, [&] {
                                               tape.append_digit(2);
                                               b.barrier();
                                               b.dispatch(fails, 1, {});
                                             })});
    const Replay replay(device.raw(), b, {tape.append, failing});
    const Memory memory(device.raw(), {1});
    const std::vector<BufferBinding> bindings = memory.bindings();
    const auto done = timeline(device.raw());
    const Timepoint signal{done, 1};
    Explainer explainer;
    (void)device.raw().submit(
        *replay.recording,
        {.bindings = bindings, .sizes = replay.sizes, .signal = {&signal, 1}, .explainer = &explainer});
    CHECK(done->wait(1).message() == "explained");
    CHECK(explainer.failure.command == CommandId{5});  // append, barrier, loop, append, barrier, fail
    CHECK(explainer.failure.kernel == fails);
  });
}

TEST_CASE("device: a message about a command in nested blocks has its number in the whole list") {
  on_every_host_kernel_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    const ExecutableImage throws = host_kernel_image(
        device.target(), {.name = "throws"},
        [](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status { throw std::runtime_error("out of tune"); });
    const KernelIndex kernel = b.kernel(throws.info);
    const BufferRange condition = b.range(tape.tape, 0, 1);
    const auto inner = block(b, [&] { b.dispatch(kernel, 1, {}); });
    const auto yes = block(b, [&] {
      tape.append_digit(2);
      b.barrier();
      b.list.commands.emplace_back(LoopCommand{condition, inner});
    });
    const auto no = block(b, [&] { tape.append_digit(3); });
    tape.append_digit(1);
    b.barrier();
    b.list.commands.emplace_back(
        LoopCommand{condition, block(b, [&] { b.list.commands.emplace_back(CondCommand{condition, yes, no}); })});
    const Replay replay(device.raw(), b, {tape.append, throws});
    const Memory memory(device.raw(), {1});
    // append, barrier, loop, if, append, barrier, loop, throws
    CHECK(wait_for(replay, memory.bindings()).message() ==
          "submit: command 7 (dispatch 'throws'): its kernel threw an exception: out of tune; catch it in the kernel");
    CHECK(memory.y.read() == W{12});
  });
}

TEST_CASE("device: a measured list counts a loop as one command, between those around it") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    tape.append_digit(1);
    b.barrier();
    tape.loop(2);
    b.barrier();
    tape.append_digit(3);
    const Replay replay(device.raw(), b, {tape.append});
    const Memory memory(device.raw(), {1, 1});
    const std::vector<BufferBinding> bindings = memory.bindings();
    const auto done = timeline(device.raw());
    const Timepoint signal{done, 1};
    SubmissionTimes times;
    REQUIRE(device.raw()
                .submit(*replay.recording,
                        {.bindings = bindings, .sizes = replay.sizes, .signal = {&signal, 1}, .times = &times})
                .message() == "");
    REQUIRE(done->wait(1).message() == "");
    REQUIRE(times.commands.size() == 3);
    const CommandId numbers[] = {CommandId{0}, CommandId{2},
                                 CommandId{8}};  // append, barrier, loop {append, copy, barrier, copy}, barrier, append
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(times.commands[i].command == numbers[i]);
      CHECK(times.commands[i].begin_ns <= times.commands[i].end_ns);
    }
    CHECK(times.commands[0].begin_ns <= times.commands[1].begin_ns);
    CHECK(times.commands[1].end_ns <= times.commands[2].end_ns);
    CHECK(memory.y.read() == W{1223});
  });
}

TEST_CASE("device: a list measured with its blocks says each time that a command in them ran") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    tape.append_digit(1);
    b.barrier();
    tape.loop(2);
    b.barrier();
    tape.append_digit(3);
    const Replay replay(device.raw(), b, {tape.append});
    const Memory memory(device.raw(), {1, 1});
    const std::vector<BufferBinding> bindings = memory.bindings();
    const auto done = timeline(device.raw());
    const Timepoint signal{done, 1};
    SubmissionTimes times{.commands = {}, .has_blocks = true};
    REQUIRE(device.raw()
                .submit(*replay.recording,
                        {.bindings = bindings, .sizes = replay.sizes, .signal = {&signal, 1}, .times = &times})
                .message() == "");
    REQUIRE(done->wait(1).message() == "");
    // append, barrier, loop {append, copy, barrier, copy}, barrier, append; the loop's body runs twice
    const std::uint32_t numbers[] = {0, 2, 3, 4, 6, 3, 4, 6, 8};
    REQUIRE(times.commands.size() == std::size(numbers));
    for (std::size_t i = 0; i < std::size(numbers); ++i) {
      CHECK(times.commands[i].command == CommandId{numbers[i]});
      CHECK(times.commands[i].begin_ns <= times.commands[i].end_ns);
    }
    CHECK(times.commands[1].end_ns >= times.commands[7].end_ns);
    CHECK(times.commands[1].end_ns <= times.commands[8].end_ns);
    CHECK(memory.y.read() == W{1223});
  });
}

TEST_CASE("device: the memory of a list with loops is checked before anything runs") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    Tape tape(b, device.target());
    tape.loop(1);
    const Replay replay(device.raw(), b, {tape.append});
    const Memory memory(device.raw(), {});
    std::vector<BufferBinding> bindings = memory.bindings();
    bindings.pop_back();
    CHECK(wait_for(replay, bindings).message() == "submit: 2 bindings, expected 3 like the command list");
  });
}

}  // namespace millrace
