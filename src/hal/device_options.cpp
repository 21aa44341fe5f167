// SPDX-License-Identifier: Apache-2.0
// Parses the values of device options, with one message per kind of value.
#include "hal/device_options.h"

#include <charconv>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {

Result<std::uint64_t> parse_seed(const DeviceSpec& spec, const DeviceSpec::Option& option) {
  const std::string& text = option.value;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return invalid_argument(fmt::format("device '{}': seed is '{}', expected a number, 0 or more",
                                      printable(spec.to_text()), printable(text)));
}

Result<std::uint32_t> parse_count(const DeviceSpec& spec, const DeviceSpec::Option& option, std::uint32_t max_count,
                                  std::string_view or_else) {
  const std::string& text = option.value;
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= max_count) return count;
  return invalid_argument(fmt::format("device '{}': {} is '{}', expected a number from 1 to {}{}{}",
                                      printable(spec.to_text()), option.key, printable(text), max_count,
                                      or_else.empty() ? "" : ", ", or_else));
}

Result<bool> parse_switch(const DeviceSpec& spec, const DeviceSpec::Option& option) {
  if (option.value == "on" || option.value == "off") return option.value == "on";
  return invalid_argument(fmt::format("device '{}': {} is '{}', expected on or off", printable(spec.to_text()),
                                      option.key, printable(option.value)));
}

}  // namespace millrace
