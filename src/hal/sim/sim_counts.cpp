// SPDX-License-Identifier: Apache-2.0
// Adds and prints the counts of what simulated kernels do.
#include <fmt/format.h>

#include "millrace/hal/sim_device.h"

namespace millrace {
namespace {

struct Field {
  std::string_view name;
  std::uint64_t SimCounts::* count;
};
constexpr Field kFields[] = {{"groups", &SimCounts::num_groups},
                             {"lane instructions", &SimCounts::lane_instructions},
                             {"buffer bytes read", &SimCounts::buffer_bytes_read},
                             {"buffer bytes written", &SimCounts::buffer_bytes_written},
                             {"workgroup bytes read", &SimCounts::workgroup_bytes_read},
                             {"workgroup bytes written", &SimCounts::workgroup_bytes_written},
                             {"bank conflicts", &SimCounts::bank_conflicts},
                             {"barriers", &SimCounts::barriers}};
static_assert(sizeof(SimCounts) == std::size(kFields) * sizeof(std::uint64_t));

}  // namespace

SimCounts& SimCounts::operator+=(const SimCounts& other) {
  for (const Field& field : kFields) this->*field.count += other.*field.count;
  return *this;
}

std::string to_text(const SimCounts& counts) {
  std::string text;
  for (const Field& field : kFields) text += fmt::format("{:<24}{}\n", field.name, counts.*field.count);
  return text;
}

}  // namespace millrace
