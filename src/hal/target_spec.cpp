// SPDX-License-Identifier: Apache-2.0
// Parses and prints targets, and detects what this host's CPU can execute.
#include "millrace/hal/target_spec.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/feature_sets.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::array kAllIsaLevels = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

std::vector<IsaLevel> detect_isa_levels() {
  // These builtins check every feature of the level, and that the operating system saves its registers.
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

/// One row per feature, in the order of a target's text.
struct Feature {
  std::string_view name;
  bool CpuFeatures::* is_on;
  bool (*host_has)();
};
constexpr Feature kFeatures[] = {
    {"vbmi2", &CpuFeatures::vbmi2, [] { return __builtin_cpu_supports("avx512vbmi2") != 0; }},
    {"vpopcntdq", &CpuFeatures::vpopcntdq, [] { return __builtin_cpu_supports("avx512vpopcntdq") != 0; }},
};

CpuFeatures detect_features() {
  CpuFeatures features;
  if (host_isa_levels().empty() || host_isa_levels().back() != IsaLevel::kAvx512) return features;
  for (const Feature& feature : kFeatures) features.*feature.is_on = feature.host_has();
  return features;
}

struct Tune {
  std::string_view name;
  CpuTune tune;
};
constexpr Tune kTunes[] = {{"generic", CpuTune::kGeneric}, {"intel", CpuTune::kIntel}};

std::string known_features() {
  std::string names;
  for (const Feature& feature : kFeatures) names += fmt::format("{}{}", names.empty() ? "" : ", ", feature.name);
  return names;
}

/// Parses "vbmi2+vpopcntdq".
Result<CpuFeatures> parse_features(std::string_view text, std::string_view names) {
  CpuFeatures features;
  while (true) {
    const std::size_t end = names.find('+');
    const std::string_view name = names.substr(0, end);
    const Feature* const found = std::ranges::find(kFeatures, name, &Feature::name);
    if (found == std::end(kFeatures)) {
      return invalid_argument(fmt::format("target '{}': cpu feature '{}' is not known; leave it out or say one of: {}",
                                          printable(text), printable(name), known_features()));
    }
    features.*found->is_on = true;
    if (end == std::string_view::npos) return features;
    names.remove_prefix(end + 1);
  }
}

/// `text` is a whole target, for messages.
Result<CpuTune> parse_tune(std::string_view text, std::string_view name) {
  if (name == "host") return host_cpu_tune();
  const Tune* const found = std::ranges::find(kTunes, name, &Tune::name);
  if (found != std::end(kTunes)) return found->tune;
  return invalid_argument(
      fmt::format("target '{}': tune is '{}', expected generic, intel or host", printable(text), printable(name)));
}

Result<TargetSpec> parse_level(std::string_view text, std::string_view variant) {
  const std::size_t plus = variant.find('+');
  const std::string_view level_text = variant.substr(0, plus);
  const auto level = std::ranges::find(kAllIsaLevels, level_text, [](IsaLevel each) { return to_text(each); });
  if (level == kAllIsaLevels.end()) {
    return invalid_argument(
        fmt::format("target '{}': cpu level '{}' is not known, expected baseline, avx2 or avx512; "
                    "say cpu for the host's best",
                    printable(text), printable(level_text)));
  }
  TargetSpec spec{.family = "cpu", .isa = *level};
  if (plus == std::string_view::npos) return spec;
  MILLRACE_TRY_ASSIGN(spec.features, parse_features(text, variant.substr(plus + 1)));
  if (spec.isa != IsaLevel::kAvx512) {
    return invalid_argument(
        fmt::format("target '{}': level {} takes no features, only avx512 does; say cpu:{} or cpu:avx512{}", text,
                    level_text, level_text, to_text(spec.features)));
  }
  return spec;
}

Result<TargetSpec> best_cpu(std::string_view /*family*/) {
  if (host_isa_levels().empty()) {
    return unavailable(
        "target 'cpu': this host lacks x86-64-v2, the minimum that code is generated for; say a level, "
        "such as cpu:baseline, to compile for another machine");
  }
  return TargetSpec{
      .family = "cpu", .isa = host_isa_levels().back(), .features = host_cpu_features(), .tune = host_cpu_tune()};
}

/// Parses "avx2", "avx2,tune=intel" or "tune=intel".
Result<TargetSpec> parse_cpu(std::string_view text, std::string_view family, std::string_view variant) {
  constexpr std::string_view kTune = ",tune=";
  const bool is_tune_alone = variant.starts_with(kTune.substr(1));
  const std::size_t comma = is_tune_alone ? 0 : variant.find(kTune);
  MILLRACE_TRY_ASSIGN(TargetSpec spec, is_tune_alone ? best_cpu(family) : parse_level(text, variant.substr(0, comma)));
  if (comma == std::string_view::npos) return spec;
  const std::size_t name = comma + kTune.size() - (is_tune_alone ? 1 : 0);
  MILLRACE_TRY_ASSIGN(spec.tune, parse_tune(text, variant.substr(name)));
  return spec;
}

std::string known_gfx_targets() {
  std::string names;
  for (const GfxTarget& target : gfx_targets()) names += fmt::format("{}{}", names.empty() ? "" : ", ", target.name);
  return names;
}

/// The error for a target that names a GPU family but no GPU. Unlike for "cpu", the host does not decide the default.
Result<TargetSpec> refuse_gpu_alone(std::string_view family) {
  return invalid_argument(fmt::format("target '{}': no GPU is named, expected one of: {}; say {}:{}", family,
                                      known_gfx_targets(), family, gfx_targets().front().name));
}

Result<TargetSpec> parse_gpu(std::string_view text, std::string_view family, std::string_view gfx) {
  if (find_gfx_target(gfx) != nullptr) return TargetSpec{.family = std::string(family), .gfx = std::string(gfx)};
  return invalid_argument(fmt::format("target '{}': gfx target '{}' is not known, expected one of: {}", printable(text),
                                      printable(gfx), known_gfx_targets()));
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

bool CpuFeatures::covers(const CpuFeatures& others) const {
  return std::ranges::all_of(kFeatures,
                             [&](const Feature& feature) { return this->*feature.is_on || !(others.*feature.is_on); });
}

std::string to_text(const CpuFeatures& features) {
  std::string text;
  for (const Feature& feature : kFeatures) {
    if (features.*feature.is_on) text += fmt::format("+{}", feature.name);
  }
  return text;
}

CpuFeatures host_cpu_features() {
  static const CpuFeatures kHost = detect_features();
  return kHost;
}

std::string_view to_text(CpuTune tune) { return std::ranges::find(kTunes, tune, &Tune::tune)->name; }

CpuTune host_cpu_tune() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") ? CpuTune::kIntel : CpuTune::kGeneric;
}

bool TargetSpec::covers(const TargetSpec& other) const {
  return family == other.family && gfx == other.gfx && isa >= other.isa && features.covers(other.features);
}

std::vector<TargetSpec> with_feature_sets(const TargetSpec& spec) {
  std::vector<TargetSpec> targets = {spec};
  if (!spec.is_cpu() || spec.isa != IsaLevel::kAvx512 || spec.features.any()) return targets;
  for (const Feature& feature : kFeatures) {
    const std::size_t num_without = targets.size();
    for (std::size_t i = 0; i < num_without; ++i) {
      targets.push_back(targets[i]);
      targets.back().features.*feature.is_on = true;
    }
  }
  return targets;
}

Result<TargetSpec> TargetSpec::parse(std::string_view text) {
  return guard_allocations([&]() -> Result<TargetSpec> {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    for (const Family& family : kFamilies) {
      if (name != family.name) continue;
      return colon == std::string_view::npos ? family.parse_alone(name)
                                             : family.parse_variant(text, name, text.substr(colon + 1));
    }
    return not_found(fmt::format("target '{}': family '{}' is not known, expected one of: {}; say cpu for the host",
                                 printable(text), printable(name), known_families()));
  });
}

std::string TargetSpec::to_text() const {
  if (is_cpu()) {
    const std::string text = fmt::format("cpu:{}{}", millrace::to_text(isa), millrace::to_text(features));
    return tune == CpuTune::kGeneric ? text : fmt::format("{},tune={}", text, millrace::to_text(tune));
  }
  return gfx.empty() ? family : fmt::format("{}:{}", family, gfx);
}

}  // namespace millrace
