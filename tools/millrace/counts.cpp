// SPDX-License-Identifier: Apache-2.0
// The table of `millrace run --counts`, for the devices that simulate a GPU.
#include "tools/millrace/counts.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "millrace/hal/command_list.h"
#include "millrace/hal/sim_device.h"
#include "millrace/isa/driver.h"

namespace millrace::tool {
namespace {

template <class Counts>
struct Column {
  std::string_view title;
  std::uint64_t Counts::* count;
};
constexpr Column<SimCounts> kSimColumns[] = {{"groups", &SimCounts::num_groups},
                                             {"instructions", &SimCounts::lane_instructions},
                                             {"bytes read", &SimCounts::buffer_bytes_read},
                                             {"bytes written", &SimCounts::buffer_bytes_written},
                                             {"shared read", &SimCounts::workgroup_bytes_read},
                                             {"shared written", &SimCounts::workgroup_bytes_written},
                                             {"bank conflicts", &SimCounts::bank_conflicts},
                                             {"barriers", &SimCounts::barriers}};
constexpr Column<IsaCounts> kIsaColumns[] = {{"groups", &IsaCounts::num_groups},
                                             {"waves", &IsaCounts::num_waves},
                                             {"vector", &IsaCounts::vector_instructions},
                                             {"lanes", &IsaCounts::lane_instructions},
                                             {"scalar", &IsaCounts::scalar_instructions},
                                             {"scalar loads", &IsaCounts::scalar_loads},
                                             {"global", &IsaCounts::global_instructions},
                                             {"local", &IsaCounts::local_instructions},
                                             {"branches", &IsaCounts::branches},
                                             {"waits", &IsaCounts::waits},
                                             {"barriers", &IsaCounts::barriers},
                                             {"other", &IsaCounts::other_instructions},
                                             {"bytes read", &IsaCounts::global_bytes_read},
                                             {"bytes written", &IsaCounts::global_bytes_written},
                                             {"local read", &IsaCounts::local_bytes_read},
                                             {"local written", &IsaCounts::local_bytes_written},
                                             {"bank conflicts", &IsaCounts::bank_conflicts}};

template <class Counts>
std::string line(std::string_view name, std::size_t width, const Counts& counts,
                 std::span<const Column<Counts>> columns) {
  std::string text = fmt::format("{:<{}}", name, width);
  for (const Column<Counts>& column : columns) {
    text += fmt::format("  {:>{}}", counts.*column.count, std::max<std::size_t>(column.title.size(), 10));
  }
  return text + "\n";
}

template <class Dispatch, class Counts>
std::string table(const std::vector<Dispatch>& dispatches, std::span<const Column<Counts>> columns) {
  std::size_t width = std::string_view("kernel").size();
  for (const Dispatch& dispatch : dispatches) width = std::max(width, labelled(dispatch.kernel, dispatch.label).size());
  std::string text = fmt::format("{:<{}}", "kernel", width);
  for (const Column<Counts>& column : columns) text += fmt::format("  {:>10}", column.title);
  text += "\n";
  Counts sum;
  for (const Dispatch& dispatch : dispatches) {
    text += line(labelled(dispatch.kernel, dispatch.label), width, dispatch.counts, columns);
    sum += dispatch.counts;
  }
  return text + line("all", width, sum, columns);
}

template <class CountedDevice, class Counts, std::size_t kNumColumns>
CountingDevice counting(std::shared_ptr<CountedDevice> device, const Column<Counts> (&columns)[kNumColumns]) {
  const std::span<const Column<Counts>> shown = columns;
  return {device, [device, shown] { return table(device->dispatches(), shown); }};
}

}  // namespace

Result<CountingDevice> open_counting_device(const Context& context, const std::string& name) {
  MILLRACE_TRY_ASSIGN(const DeviceSpec spec, DeviceSpec::parse(name));
  if (spec.driver == sim_driver().name) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<SimDevice> device, open_sim_device(spec));
    return counting(std::move(device), kSimColumns);
  }
  if (spec.driver == isa_driver().name) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<IsaDevice> device, open_isa_device(spec));
    return counting(std::move(device), kIsaColumns);
  }
  MILLRACE_TRY(context.device(name).status());
  return invalid_argument(fmt::format(
      "--counts: device '{}' counts nothing, expected a GPU of sim or isa; say --device sim:gfx1100 or isa:gfx1100",
      name));
}

}  // namespace millrace::tool
