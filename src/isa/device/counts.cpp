// SPDX-License-Identifier: Apache-2.0
// Adds and prints the counts of executed instructions.
#include <fmt/format.h>

#include "millrace/isa/device.h"

namespace millrace {
namespace {

struct Field {
  std::string_view name;
  std::uint64_t IsaCounts::* count;
};
constexpr Field kFields[] = {{"groups", &IsaCounts::num_groups},
                             {"waves", &IsaCounts::num_waves},
                             {"vector instructions", &IsaCounts::vector_instructions},
                             {"scalar instructions", &IsaCounts::scalar_instructions},
                             {"scalar loads", &IsaCounts::scalar_loads},
                             {"global instructions", &IsaCounts::global_instructions},
                             {"local instructions", &IsaCounts::local_instructions},
                             {"branches", &IsaCounts::branches},
                             {"waits", &IsaCounts::waits},
                             {"barriers", &IsaCounts::barriers},
                             {"other instructions", &IsaCounts::other_instructions},
                             {"lane instructions", &IsaCounts::lane_instructions},
                             {"global bytes read", &IsaCounts::global_bytes_read},
                             {"global bytes written", &IsaCounts::global_bytes_written},
                             {"local bytes read", &IsaCounts::local_bytes_read},
                             {"local bytes written", &IsaCounts::local_bytes_written},
                             {"bank conflicts", &IsaCounts::bank_conflicts}};
static_assert(sizeof(IsaCounts) == std::size(kFields) * sizeof(std::uint64_t));

}  // namespace

IsaCounts& IsaCounts::operator+=(const IsaCounts& other) {
  for (const Field& field : kFields) this->*field.count += other.*field.count;
  return *this;
}

std::string to_text(const IsaCounts& counts) {
  std::string text;
  for (const Field& field : kFields) text += fmt::format("{:<24}{}\n", field.name, counts.*field.count);
  return text;
}

}  // namespace millrace
