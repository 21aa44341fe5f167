// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/counts.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/graph/context.h"
#include "millrace/hal/device.h"

namespace millrace::tool {
namespace {

struct Column {
  std::string_view title;
  std::uint64_t SimCounts::* count;
};
constexpr Column kColumns[] = {{"groups", &SimCounts::num_groups},
                               {"instructions", &SimCounts::lane_instructions},
                               {"bytes read", &SimCounts::buffer_bytes_read},
                               {"bytes written", &SimCounts::buffer_bytes_written},
                               {"shared read", &SimCounts::workgroup_bytes_read},
                               {"shared written", &SimCounts::workgroup_bytes_written},
                               {"bank conflicts", &SimCounts::bank_conflicts},
                               {"barriers", &SimCounts::barriers}};

std::string line(std::string_view name, std::size_t width, const SimCounts& counts) {
  std::string text = fmt::format("{:<{}}", name, width);
  for (const Column& column : kColumns) {
    text += fmt::format("  {:>{}}", counts.*column.count, std::max<std::size_t>(column.title.size(), 10));
  }
  return text + "\n";
}

}  // namespace

Result<std::shared_ptr<SimDevice>> counting_device(const std::string& name) {
  MILLRACE_TRY_ASSIGN(const DeviceSpec spec, DeviceSpec::parse(name));
  if (spec.driver == sim_driver().name) return open_sim_device(spec);
  MILLRACE_TRY(make_default_context()->device(name).status());
  return invalid_argument(
      fmt::format("--counts: device '{}' counts nothing, expected a simulated one; say --device sim:gfx1100", name));
}

std::string counts_text(std::span<const SimDispatch> dispatches) {
  std::size_t width = std::string_view("kernel").size();
  for (const SimDispatch& dispatch : dispatches) width = std::max(width, dispatch.kernel.size());
  std::string text = fmt::format("{:<{}}", "kernel", width);
  for (const Column& column : kColumns) text += fmt::format("  {:>10}", column.title);
  text += "\n";
  SimCounts sum;
  for (const SimDispatch& dispatch : dispatches) {
    text += line(dispatch.kernel, width, dispatch.counts);
    sum += dispatch.counts;
  }
  return text + line("all", width, sum);
}

}  // namespace millrace::tool
