// SPDX-License-Identifier: Apache-2.0
// Parses and prints device specs; the context finds their drivers.
#include "millrace/hal/device_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

Status invalid_spec(std::string_view text, const std::string& reason) {
  return invalid_argument(fmt::format(
      "device '{}': {}; say a driver and its options, such as cpu, cpu:avx2 or trace(cpu)", printable(text), reason));
}

Status add_part(std::string_view text, std::string_view part, DeviceSpec& spec) {
  if (part.empty()) return invalid_spec(text, "a part is empty");
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) {
    spec.words.emplace_back(part);
    return {};
  }
  const std::string_view key = part.substr(0, equals);
  if (key.empty()) return invalid_spec(text, fmt::format("'{}' has no key before its '='", printable(part)));
  if (std::ranges::find(spec.options, key, &DeviceSpec::Option::key) != spec.options.end()) {
    return invalid_spec(text, fmt::format("option '{}' is given twice", printable(key)));
  }
  spec.options.push_back({std::string(key), std::string(part.substr(equals + 1))});
  return {};
}

}  // namespace

Result<DeviceSpec> DeviceSpec::parse(std::string_view text) {
  return guard_allocations([&]() -> Result<DeviceSpec> {
    constexpr std::size_t kMaxBytes = 8192;  // the longest path has 4096 bytes
    if (text.size() > kMaxBytes) {
      return invalid_spec(text, fmt::format("it has {} bytes, expected at most {}", text.size(), kMaxBytes));
    }
    DeviceSpec spec;
    const std::size_t end_of_name = std::min(text.find_first_of(":("), text.size());
    spec.driver = text.substr(0, end_of_name);
    if (spec.driver.empty()) return invalid_spec(text, "it has no driver");
    if (end_of_name == text.size()) return spec;
    if (text[end_of_name] == '(') {
      if (text.back() != ')') return invalid_spec(text, "its '(' is not closed at the end");
      spec.inner = text.substr(end_of_name + 1, text.size() - end_of_name - 2);
      if (spec.inner.empty()) return invalid_spec(text, "nothing is between '(' and ')'");
      return spec;
    }
    for (std::string_view rest = text.substr(end_of_name + 1);;) {
      const std::size_t comma = rest.find(',');
      MILLRACE_TRY(add_part(text, rest.substr(0, comma), spec));
      if (comma == std::string_view::npos) return spec;
      rest.remove_prefix(comma + 1);
    }
  });
}

std::string DeviceSpec::to_text() const {
  if (!inner.empty()) return fmt::format("{}({})", driver, inner);
  std::string text = driver;
  char separator = ':';
  const auto add = [&](const std::string& part) {
    text += separator + part;
    separator = ',';
  };
  for (const std::string& word : words) add(word);
  for (const Option& option : options) add(option.key + "=" + option.value);
  return text;
}

}  // namespace millrace
