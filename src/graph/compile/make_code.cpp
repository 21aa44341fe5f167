// SPDX-License-Identifier: Apache-2.0
// Generates the code of every planned kernel, or loads it from the cache, and links a GPU's kernels into one object.
#include "graph/compile/make_code.h"

#include <span>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/compile/node_of_kernel.h"
#include "graph/run/phase_timer.h"
#include "hal/host/work_shares.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {
namespace {

/// If no available generator can make the kernel, adds the node that the kernel computes to the message.
Status about_node(const LoweredGraph& lowered, std::size_t kernel, Status status) {
  if (status.code() != StatusCode::kUnavailable) return status;
  const auto index = static_cast<KernelIndex>(kernel);
  return unavailable(fmt::format("{}: {}", node_of_kernel(lowered, index), status.message()));
}

}  // namespace

Result<std::vector<ExecutableImage>> CodeMaker::make(LoweredGraph& lowered, const Target& target) {
  const PhaseTimer timer(lowered.report.code);
  begin_ = std::chrono::steady_clock::now();
  const bool is_linked = target.spec().is_gpu() && !target.spec().is_simulated();
  return is_linked ? make_code_object(lowered, target) : make_images(lowered, target);
}

Result<std::vector<ExecutableImage>> CodeMaker::make_setup(LoweredGraph& lowered, const Target& target) {
  Result<std::vector<ExecutableImage>> images = make(*lowered.setup, target);
  if (images.status().code() != StatusCode::kUnavailable) return images;
  return unavailable(fmt::format("constants prepared at load: {}", images.status().message()));
}

Result<std::vector<ExecutableImage>> CodeMaker::make_images(LoweredGraph& lowered, const Target& target) {
  const std::span<const PlannedKernel> kernels = lowered.schedule.kernels;
  std::vector<KernelReport>& reports = lowered.report.kernel_reports;
  for (const PlannedKernel& kernel : kernels) reports.push_back({kernel.name});
  std::vector<ExecutableImage> images(kernels.size());
  WorkFailure failure;
  const auto make_one = [&](std::size_t i) -> Status {
    const PlannedKernel& kernel = kernels[i];
    return guard_allocations(
        [&] { return fmt::format("compile: kernel '{}'", kernel.name); },
        [&]() -> Status {
          if (options_.stop.stop_requested()) {
            return cancelled(fmt::format("compile: stopped on request before kernel '{}'", kernel.name));
          }
          show_progress(kernel);
          const PhaseTimer timer(reports[i].time);
          reports[i].begin = std::chrono::steady_clock::now() - begin_;
          MILLRACE_TRY_ASSIGN(images[i], make_image(kernel, target));
          return {};
        });
  };
  const auto make_range = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (failure.is_before(i)) return;
      try {
        Status status = about_node(lowered, i, make_one(i));
        if (!status.ok()) failure.note(i, std::move(status));
      } catch (...) {
        failure.note(i, std::current_exception());
      }
    }
  };
  if (executor_ == nullptr || kernels.size() < 2) {
    make_range(0, kernels.size());
  } else {
    executor_->parallel_for(kernels.size(), 1, make_range);
  }
  MILLRACE_TRY(failure.take());
  return images;
}

/// Links all kernels into one object, because a GPU's driver loads one object per program. All images share its bytes.
Result<std::vector<ExecutableImage>> CodeMaker::make_code_object(LoweredGraph& lowered, const Target& target) {
  const std::span<const PlannedKernel> kernels = lowered.schedule.kernels;
  std::vector<ExecutableImage> images;
  if (kernels.empty()) return images;
  const auto link = [&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY_ASSIGN(const std::vector<ExecutableImage> parts, make_images(lowered, target));
    return link_images(parts);
  };
  SharedBytes code;
  if (context_.cache == nullptr) {
    MILLRACE_TRY_ASSIGN(code, link());
  } else {
    MILLRACE_TRY_ASSIGN(code, context_.cache->get_code_object(kernels, target, link));
  }
  const bool was_kept = lowered.report.kernel_reports.empty();
  for (const PlannedKernel& kernel : kernels) {
    if (was_kept) {
      show_progress(kernel);
      lowered.report.kernel_reports.push_back({kernel.name});
    }
    images.push_back({.format = ImageFormat::kGpuCode,
                      .target = target.to_text(),
                      .generator = kernel.generator,
                      .info = kernel.info,
                      .bytes = code,
                      .symbol = kernel_symbol(kernel)});
  }
  return images;
}

void CodeMaker::show_progress(const PlannedKernel& kernel) {
  if (!options_.progress) return;
  const std::lock_guard lock(mutex_);
  options_.progress({num_begun_++, num_kernels_, kernel.name});
}

Result<ExecutableImage> CodeMaker::make_image(const PlannedKernel& kernel, const Target& target) const {
  const KernelCompiler* generator = target.find_generator(kernel.generator);
  if (generator == nullptr) {
    return internal_error(
        fmt::format("generator '{}' planned a kernel, but the target has no such generator", kernel.generator));
  }
  if (context_.cache == nullptr) {
    Result<ExecutableImage> image = generator->emit(kernel, target.spec());
    if (image.status().code() != StatusCode::kUnavailable) return image;
    return unavailable(fmt::format("kernel '{}' for {} cannot be generated: {}; this context has no kernel cache",
                                   kernel.name, target.to_text(), image.status().message()));
  }
  MILLRACE_TRY_ASSIGN(std::shared_ptr<const ExecutableImage> image,
                      context_.cache->get(kernel, target.spec(), *generator));
  return *image;
}

}  // namespace millrace
