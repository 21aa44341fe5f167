// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/target_spec.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {
namespace {

constexpr std::array kAllIsaLevels = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

std::vector<IsaLevel> detect_isa_levels() {
  // These ask for every feature of the x86-64 micro-architecture level, and that the system saves the registers.
  __builtin_cpu_init();
  const bool supported[] = {static_cast<bool>(__builtin_cpu_supports("x86-64-v2")),
                            static_cast<bool>(__builtin_cpu_supports("x86-64-v3")),
                            static_cast<bool>(__builtin_cpu_supports("x86-64-v4"))};
  std::vector<IsaLevel> levels;
  for (IsaLevel level : kAllIsaLevels) {
    if (!supported[static_cast<std::size_t>(level)]) break;
    levels.push_back(level);
  }
  return levels;
}

Result<TargetSpec> parse_cpu(std::string_view text, std::string_view /*family*/, std::string_view level_text) {
  for (IsaLevel level : kAllIsaLevels) {
    if (level_text == to_text(level)) return TargetSpec{.family = "cpu", .isa = level};
  }
  return invalid_argument(
      fmt::format("target '{}': cpu level '{}' is not known, expected baseline, avx2 or avx512; "
                  "say cpu for the host's best",
                  text, level_text));
}

Result<TargetSpec> best_cpu(std::string_view /*family*/) {
  if (host_isa_levels().empty()) {
    return unavailable(
        "target 'cpu': this host lacks x86-64-v2, the least that code is generated for; say a level, "
        "such as cpu:baseline, to compile for another machine");
  }
  return TargetSpec{.family = "cpu", .isa = host_isa_levels().back()};
}

std::string known_gfx_targets() {
  std::string names;
  for (const GfxTarget& target : gfx_targets()) names += fmt::format("{}{}", names.empty() ? "" : ", ", target.name);
  return names;
}

/// The error for a GPU family without a target: this host cannot tell which GPU is meant.
Result<TargetSpec> refuse_gpu_alone(std::string_view family) {
  return invalid_argument(fmt::format("target '{}': which GPU is not said, expected one of: {}; say {}:{}", family,
                                      known_gfx_targets(), family, gfx_targets().front().name));
}

Result<TargetSpec> parse_gpu(std::string_view text, std::string_view family, std::string_view gfx) {
  if (find_gfx_target(gfx) != nullptr) return TargetSpec{.family = std::string(family), .gfx = std::string(gfx)};
  return invalid_argument(
      fmt::format("target '{}': gfx target '{}' is not known, expected one of: {}", text, gfx, known_gfx_targets()));
}

/// One row per family.
struct Family {
  std::string_view name;
  Result<TargetSpec> (*parse_alone)(std::string_view family);
  Result<TargetSpec> (*parse_variant)(std::string_view text, std::string_view family, std::string_view variant);
};
constexpr Family kFamilies[] = {
    {"cpu", best_cpu, parse_cpu}, {"amdgpu", refuse_gpu_alone, parse_gpu}, {"sim", refuse_gpu_alone, parse_gpu}};

std::string known_families() {
  std::string names;
  for (const Family& family : kFamilies) names += fmt::format("{}{}", names.empty() ? "" : ", ", family.name);
  return names;
}

}  // namespace

std::string_view to_text(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline:
      return "baseline";
    case IsaLevel::kAvx2:
      return "avx2";
    case IsaLevel::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::span<const IsaLevel> host_isa_levels() {
  static const std::vector<IsaLevel> kLevels = detect_isa_levels();
  return kLevels;
}

Result<TargetSpec> TargetSpec::parse(std::string_view text) try {
  const InsideGuard inside;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Family& family : kFamilies) {
    if (name != family.name) continue;
    return colon == std::string_view::npos ? family.parse_alone(name)
                                           : family.parse_variant(text, name, text.substr(colon + 1));
  }
  return not_found(fmt::format("target '{}': family '{}' is not known, expected one of: {}; say cpu for the host", text,
                               name, known_families()));
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("target");
}

std::string TargetSpec::to_text() const {
  if (is_cpu()) return fmt::format("cpu:{}", millrace::to_text(isa));
  return gfx.empty() ? family : fmt::format("{}:{}", family, gfx);
}

}  // namespace millrace
