// SPDX-License-Identifier: Apache-2.0
// The driver "cpu": parses its options, and opens devices that run host code on this machine's threads.
#include "hal/cpu/cpu_device.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "hal/cpu/cpu_recording.h"
#include "hal/cpu/shared_pools.h"
#include "hal/device_errors.h"
#include "hal/device_options.h"
#include "hal/host/inline_device.h"
#include "millrace/hal/device.h"

namespace millrace {
namespace {

std::uint64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) : 0;
}

/// See CpuDeviceOptions::stream_from_bytes. A virtual machine can report no caches, or the L3 cache of the whole host.
std::uint64_t usual_stream_bytes() {
  constexpr std::uint64_t kUsualL2 = 1 << 20;
  const auto size_of = [](int name) { return static_cast<std::uint64_t>(std::max(sysconf(name), 0L)); };
  const std::uint64_t l2 = size_of(_SC_LEVEL2_CACHE_SIZE), l3 = size_of(_SC_LEVEL3_CACHE_SIZE);
  const std::uint64_t bytes = 4 * (l2 == 0 ? kUsualL2 : l2);
  return l3 == 0 ? bytes : std::min(l3 / 2, bytes);
}

/// Defaults for options that the caller leaves out.
ThreadPoolOptions usual_threads() {
  return {.num_threads = std::min(num_physical_cores(), ThreadPoolOptions::kMaxThreads)};
}

DeviceInfo cpu_info(const TargetSpec& best, std::uint32_t num_threads) {
  DeviceInfo info{.name = "cpu",
                  .description = fmt::format("this host, {}{}", to_text(best.isa), to_text(best.features)),
                  .memory_bytes = host_memory_bytes()};
  if (num_threads > 1) info.description += fmt::format(", {} threads", num_threads);
  if (best != best.plain()) info.targets.push_back(best);
  for (int level = static_cast<int>(best.isa); level >= 0; --level) {
    info.targets.push_back({.family = "cpu", .isa = static_cast<IsaLevel>(level)});
  }
  return info;
}

/// `executor` may be null. If the options chose the thread pool, the device's name includes them, so that opening that
/// name gives the same device.
DeviceInfo info_with(const TargetSpec& best, const Executor* executor, bool is_usual) {
  DeviceInfo info = cpu_info(best, executor == nullptr ? 1 : executor->concurrency());
  if (const auto* pool = dynamic_cast<const ThreadPool*>(executor); pool != nullptr && !is_usual) {
    info.name += fmt::format(":threads={}{}", pool->concurrency(), pool->options().is_pinned ? ",pinned=on" : "");
  }
  return info;
}

class CpuDevice final : public InlineDevice<Device> {
 public:
  CpuDevice(DeviceInfo info, const CpuDeviceOptions& options, const CodeSymbols& symbols)
      : InlineDevice(std::move(info)), options_(options), symbols_(symbols) {
    if (options_.stream_from_bytes == 0) options_.stream_from_bytes = usual_stream_bytes();
  }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable,
                          CpuExecutable::load(id(), targets().front(), images, symbols_));
      return executable;
    });
  }

  std::shared_ptr<Executor> executor() const override { return options_.executor; }

 private:
  Result<std::shared_ptr<InlineRecording>> make_recording(const CommandList& list,
                                                          std::shared_ptr<Executable> executable) const override {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<InlineRecording> recording,
                        CpuRecording::create(list, std::static_pointer_cast<const CpuExecutable>(std::move(executable)),
                                             *this, options_));
    return recording;
  }

  CpuDeviceOptions options_;
  CodeSymbols symbols_;
};

struct ParsedOptions {
  ThreadPoolOptions threads = usual_threads();
  bool are_usual = true;
  CodeSymbols symbols;
  std::vector<DeviceSpec::Option> tune;  // a part of the target
};

Status host_is_supported() { return TargetSpec::parse("cpu").status(); }

Result<std::vector<DeviceInfo>> enumerate_cpu() {
  MILLRACE_TRY_ASSIGN(const TargetSpec best, TargetSpec::parse("cpu"));
  return std::vector<DeviceInfo>{cpu_info(best, usual_threads().num_threads)};
}

Result<ParsedOptions> parse_options(const DeviceSpec& spec) {
  ParsedOptions parsed;
  ThreadPoolOptions& threads = parsed.threads;
  for (const DeviceSpec::Option& option : spec.options) {
    parsed.are_usual &= option.key != "threads" && option.key != "pinned";
    if (option.key == "threads") {
      MILLRACE_TRY_ASSIGN(threads.num_threads, parse_count(spec, option, ThreadPoolOptions::kMaxThreads, ""));
    } else if (option.key == "pinned") {
      MILLRACE_TRY_ASSIGN(threads.is_pinned, parse_switch(spec, option));
    } else if (option.key == "symbols") {
      MILLRACE_TRY_ASSIGN(parsed.symbols, parse_code_symbols(spec, option));
    } else if (option.key == "tune") {
      parsed.tune.push_back(option);
    } else {
      return invalid_argument(fmt::format(
          "device '{}': option '{}' is not known; cpu takes a level (baseline, avx2, avx512 or avx512+FEATURE), "
          "tune, threads, pinned and symbols",
          spec.to_text(), option.key));
    }
  }
  return parsed;
}

Result<std::shared_ptr<Device>> open_cpu(const DeviceSpec& spec, SharedPools& pools) {
  if (spec.words.size() > 1) {
    const bool may_be_feature = spec.words[0].starts_with(to_text(IsaLevel::kAvx512));
    return invalid_argument(fmt::format("device '{}': '{}' after level '{}', expected one level{}", spec.to_text(),
                                        spec.words[1], spec.words[0],
                                        may_be_feature ? "; join it with + if it is a feature" : ""));
  }
  MILLRACE_TRY_ASSIGN(const ParsedOptions options, parse_options(spec));
  const DeviceSpec target{.driver = spec.driver, .words = spec.words, .options = options.tune};
  const Result<TargetSpec> best = TargetSpec::parse(target.to_text());
  if (!best.ok()) return about_device(spec.to_text(), best.status());
  if (options.threads.num_threads == 1) return create_cpu_device(*best, {}, options.symbols);
  const Result<std::shared_ptr<ThreadPool>> pool = pools.get(options.threads);
  if (!pool.ok()) return about_device(spec.to_text(), pool.status());
  return create_cpu_device(*best, {.executor = *pool}, options.symbols, options.are_usual);
}

}  // namespace

Status check_host_executes(const TargetSpec& spec, std::span<const IsaLevel> levels, const CpuFeatures& features) {
  if (!spec.is_cpu()) {
    return invalid_argument(
        fmt::format("device 'cpu': target is {}, expected a level of cpu; open a device of the target's "
                    "family",
                    spec.to_text()));
  }
  const bool has_features = features.covers(spec.features) && (spec.isa == IsaLevel::kAvx512 || !spec.features.any());
  if (std::ranges::find(levels, spec.isa) != levels.end() && has_features) return {};
  std::vector<std::string> executable;
  for (IsaLevel level : levels) executable.push_back(TargetSpec{.isa = level}.to_text());
  if (features.any()) executable.push_back(TargetSpec{.isa = levels.back(), .features = features}.to_text());
  return unavailable(fmt::format("device 'cpu': target is {}, but this host executes {}; say one of these",
                                 spec.to_text(),
                                 executable.empty() ? "none" : fmt::format("{}", fmt::join(executable, ", "))));
}

Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& best, const CpuDeviceOptions& options) {
  return create_cpu_device(best, options, CodeSymbols());
}

Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& best, const CpuDeviceOptions& options,
                                                  const CodeSymbols& symbols, bool is_usual) {
  return guard_allocations([&]() -> Result<std::shared_ptr<Device>> {
    MILLRACE_TRY(check_host_executes(best, host_isa_levels(), host_cpu_features()));
    if (options.max_groups_per_call == 0) {
      return invalid_argument("device 'cpu': max_groups_per_call is 0, expected at least 1");
    }
    if (options.executor != nullptr && options.executor->concurrency() == 0) {
      return invalid_argument("device 'cpu': the executor's concurrency is 0, expected at least 1");
    }
    DeviceInfo info = info_with(best, options.executor.get(), is_usual);
    return std::shared_ptr<Device>(std::make_shared<CpuDevice>(std::move(info), options, symbols));
  });
}

Driver cpu_driver() {
  const auto open = [pools = std::make_shared<SharedPools>()](const DeviceSpec& spec) {
    return open_cpu(spec, *pools);
  };
  return {.name = "cpu", .available = host_is_supported, .enumerate = enumerate_cpu, .open = open};
}

}  // namespace millrace
