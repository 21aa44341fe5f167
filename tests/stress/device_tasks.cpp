// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/hal/list_builder.h"
#include "tests/hal/test_kernels.h"
#include "tests/stress/stress.h"

namespace millrace::stress {
namespace {

enum class Way : std::uint8_t { kSucceeds, kFails, kThrows, kIsOutOfMemory, kReports };

/// A dispatch that writes its groups' numbers, shifted, to words of its own, or fails at one group.
struct Dispatch {
  Way way = Way::kSucceeds;
  std::uint32_t num_groups = 1, failing_group = 0, first_word = 0, stage = 0;
  std::size_t command = 0;

  std::uint32_t word(std::uint32_t group) const { return group * 3 + first_word + 1; }
};

Status run_groups_of(const Dispatch& dispatch, const KernelArgs& args, std::uint32_t first, std::uint32_t end) {
  auto* words = static_cast<std::uint32_t*>(args.buffers[0]);
  for (std::uint32_t group = first; group < end; ++group) {
    words[group] = dispatch.word(group);
    if (dispatch.way == Way::kSucceeds || group != dispatch.failing_group) continue;
    switch (dispatch.way) {
      case Way::kFails:
        return internal_error("it is asked to");
      case Way::kThrows:
        throw std::runtime_error("it is asked to");
      case Way::kIsOutOfMemory:
        throw std::bad_alloc();
      default:
        std::atomic_ref<std::uint32_t>(*args.status).fetch_or(1);
    }
  }
  return {};
}

std::string message_of(const Dispatch& failed) {
  switch (failed.way) {
    case Way::kFails:
      return "kernel 'k': it is asked to";
    case Way::kThrows:
      return fmt::format(
          "submit: command {} (dispatch 'k'): its kernel threw an exception: it is asked to; catch it in the kernel",
          failed.command);
    case Way::kIsOutOfMemory:
      return "out of memory";
    default:
      return "kernel 'k': index out of range; give indices within the axis that they select from";
  }
}

struct List {
  std::vector<Dispatch> dispatches;
  std::uint32_t num_words = 0, num_stages = 0;
  ListBuilder builder;
  std::vector<ExecutableImage> images;

  const Dispatch* first_failure() const {
    for (const Dispatch& each : dispatches) {
      if (each.way != Way::kSucceeds) return &each;
    }
    return nullptr;
  }
};

List make_list(Random& random) {
  List list;
  list.num_stages = static_cast<std::uint32_t>(random.from_to(1, 4));
  for (std::uint32_t stage = 0; stage < list.num_stages; ++stage) {
    for (std::int64_t i = random.from_to(1, 6); i > 0; --i) {
      Dispatch dispatch{.num_groups = static_cast<std::uint32_t>(random.from_to(1, random.chance(50) ? 3 : 200)),
                        .first_word = list.num_words,
                        .stage = stage};
      dispatch.failing_group = static_cast<std::uint32_t>(random.below(dispatch.num_groups));
      if (random.chance(8)) dispatch.way = static_cast<Way>(random.from_to(1, 4));
      list.num_words += dispatch.num_groups;
      list.dispatches.push_back(dispatch);
    }
  }
  ListBuilder& b = list.builder;
  const BindingIndex y = b.output("y", 4 * std::int64_t{list.num_words});
  std::uint32_t stage = 0;
  for (Dispatch& dispatch : list.dispatches) {
    if (dispatch.stage != stage) b.barrier();
    stage = dispatch.stage;
    dispatch.command = b.list.commands.size();
    list.images.push_back(host_kernel_image({.name = "k", .num_buffers = 1, .buffer_is_written = {true}},
                                            [dispatch](const KernelArgs& args, std::uint32_t first, std::uint32_t end) {
                                              return run_groups_of(dispatch, args, first, end);
                                            }));
    b.dispatch(b.kernel(list.images.back().info), dispatch.num_groups,
               {b.range(y, 4 * std::int64_t{dispatch.first_word}, 4 * std::int64_t{dispatch.num_groups})});
  }
  return list;
}

/// Every word of the stages before `end_stage`.
std::string compare(const List& list, const std::vector<std::uint32_t>& words, std::uint32_t end_stage) {
  for (const Dispatch& dispatch : list.dispatches) {
    for (std::uint32_t group = 0; group < dispatch.num_groups && dispatch.stage < end_stage; ++group) {
      if (words[dispatch.first_word + group] != dispatch.word(group)) {
        return fmt::format("command {} has left word {} wrong", dispatch.command, group);
      }
    }
  }
  return {};
}

}  // namespace

std::string run_list(Shared& shared, Random& random) {
  const List list = make_list(random);
  Device& device = *shared.device;
  const auto recording = device.record(list.builder.list, device.load(list.images).value()).value();
  const std::vector<std::int64_t> sizes = list.builder.evaluate();
  const Dispatch* failure = list.first_failure();
  for (int run = 0; run < 5; ++run) {
    std::vector<std::uint32_t> words(list.num_words);
    const BufferBinding binding{.data = words.data(), .size_bytes = 4 * words.size()};
    std::optional<LaterStop> stop;
    if (random.chance(25)) stop.emplace(std::chrono::microseconds(random.below(200)));
    const Status status = device.submit(
        *recording, {.bindings = {&binding, 1}, .sizes = sizes, .stop = stop ? stop->token() : std::stop_token()});
    std::string wrong;
    if (stop && status.code() == StatusCode::kCancelled && status.message().ends_with(kStopped)) {
      ++shared.tally.lists_stopped;
    } else if (failure == nullptr) {
      ++shared.tally.lists_right;
      wrong = status.ok() ? compare(list, words, list.num_stages) : "submit failed: " + status.message();
    } else {
      ++shared.tally.lists_failed;
      wrong = status.message() == message_of(*failure)
                  ? compare(list, words, failure->stage)
                  : fmt::format("found '{}', expected '{}'", status.message(), message_of(*failure));
    }
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string fail_allocation(Shared& shared, Random& random) {
  const std::size_t size_bytes = (std::size_t{1} << 63) + random.below(1000);  // no object may be so large
  const Status status = shared.device->allocate(size_bytes).status();
  ++shared.tally.allocations_failed;
  const std::string expected =
      fmt::format("buffer: {} bytes of host memory cannot be allocated; free memory, or ask for less", size_bytes);
  if (status.message() == expected) return {};
  return fmt::format("found '{}', expected '{}'", status.message(), expected);
}

}  // namespace millrace::stress
