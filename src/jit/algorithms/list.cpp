// SPDX-License-Identifier: Apache-2.0
// The ordered list of algorithms, and lower_request(), which tries them in that order and collects their refusals.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/request_cases.h"
#include "jit/algorithms/stored_load.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr Algorithm kAlgorithms[] = {
    {"loop_pad_first", RequestKind::kLoop, AlgorithmTargets::kAll, lower_loop_pad_first},
    {"lane_arg_parts", RequestKind::kLoop, AlgorithmTargets::kCpu, lower_lane_arg_parts, lane_arg_parts_cases},
    {"reduce_parts", RequestKind::kLoop, AlgorithmTargets::kAll, lower_reduce_parts, reduce_parts_cases},
    {"loop_direct", RequestKind::kLoop, AlgorithmTargets::kAll, lower_loop_direct},
    {"row_network", RequestKind::kSort, AlgorithmTargets::kCpu, lower_row_network, row_network_cases},
    {"lane_topk_parts", RequestKind::kSort, AlgorithmTargets::kCpu, lower_lane_topk_parts, lane_topk_parts_cases, true},
    {"lane_sort_parts", RequestKind::kSort, AlgorithmTargets::kCpu, lower_lane_sort_parts, lane_sort_parts_cases},
    {"lane_sort", RequestKind::kSort, AlgorithmTargets::kCpu, lower_lane_sort, lane_sort_cases, true},
    {"topk_heap", RequestKind::kSort, AlgorithmTargets::kCpu, lower_topk_heap, topk_heap_cases},
    {"counting_sort", RequestKind::kSort, AlgorithmTargets::kCpu, lower_counting_sort, counting_sort_cases},
    {"radix_sort", RequestKind::kSort, AlgorithmTargets::kCpu, lower_radix_sort, radix_sort_cases},
    {"merge_sort", RequestKind::kSort, AlgorithmTargets::kCpu, lower_merge_sort},
    {"gpu_topk_lanes", RequestKind::kSort, AlgorithmTargets::kGpu, lower_gpu_topk_lanes, gpu_topk_lanes_cases},
    {"gpu_tile_sort", RequestKind::kSort, AlgorithmTargets::kGpu, lower_gpu_tile_sort, gpu_tile_sort_cases},
    {"gpu_topk_parts", RequestKind::kSort, AlgorithmTargets::kGpu, lower_gpu_topk_parts, gpu_topk_parts_cases},
    {"gpu_topk_select", RequestKind::kSort, AlgorithmTargets::kGpu, lower_gpu_topk_select},
    {"gpu_radix_sort", RequestKind::kSort, AlgorithmTargets::kGpu, lower_gpu_radix_sort},
    {"lane_scan_parts", RequestKind::kScan, AlgorithmTargets::kCpu, lower_lane_scan_parts, lane_scan_parts_cases},
    {"lane_scan", RequestKind::kScan, AlgorithmTargets::kCpu, lower_lane_scan, nullptr, true},
    {"scan_lines", RequestKind::kScan, AlgorithmTargets::kCpu, lower_scan_lines},
    {"gpu_scan_columns", RequestKind::kScan, AlgorithmTargets::kGpu, lower_gpu_scan_columns, gpu_scan_columns_cases},
    {"gpu_scan_rows", RequestKind::kScan, AlgorithmTargets::kGpu, lower_gpu_scan_rows, gpu_scan_rows_cases},
    {"gpu_scan_pieces", RequestKind::kScan, AlgorithmTargets::kGpu, lower_gpu_scan_pieces},
    {"scatter_lines", RequestKind::kScatter, AlgorithmTargets::kAll, lower_scatter_lines},
};

std::string_view plural_of(RequestKind kind) {
  constexpr std::string_view kPlurals[] = {"loops", "sorts", "scans", "scatters"};
  static_assert(std::size(kPlurals) == std::variant_size_v<KernelRequest>);
  return kPlurals[static_cast<std::size_t>(kind)];
}

bool serves(const Algorithm& algorithm, const TargetSpec& spec) {
  if (algorithm.targets == AlgorithmTargets::kAll) return true;
  return (algorithm.targets == AlgorithmTargets::kGpu) == spec.is_gpu();
}

const std::string& name_of_request(const KernelRequest& request) {
  return std::visit([](const auto& kind) -> const std::string& { return kind.name; }, request);
}

/// Lowers the case `one` of a request by one algorithm. If the algorithm cannot compute the request's load, another
/// kernel stores the load's result first.
Result<KernelSequence> lower_case(const Algorithm& algorithm, const KernelRequest& one, const KernelRequest& request,
                                  const Target& target, const LowerOptions& options, std::vector<Refusal>& refusals) {
  const LoopKernel* const load = load_of(request);
  if (load == nullptr) return algorithm.lower(one, target, options);
  std::optional<Refusal> refusal;
  if (algorithm.reads_loads) {
    Result<KernelSequence> sequence = unguarded(algorithm.lower(one, target, options));
    if (sequence.ok()) return sequence;
    refusal = {std::string(algorithm.name), sequence.status().message()};
  }
  Result<KernelSequence> sequence = algorithm.lower(without_load(one), target, options);
  if (!sequence.ok()) return sequence;
  if (refusal) refusals.push_back({refusal->who, "reading the load: " + refusal->reason});
  return with_stored_load(*load, *std::move(sequence), target, options);
}

std::string joined_names() {
  std::string text;
  for (const Algorithm& algorithm : kAlgorithms) text += (text.empty() ? "" : ", ") + std::string(algorithm.name);
  return text;
}

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

Result<KernelSequence> lower_request(const KernelRequest& request, const Target& target, const LowerOptions& options) {
  return guard_allocations([&]() -> Result<KernelSequence> {
    if (const auto* nest = std::get_if<LoopKernel>(&request)) MILLRACE_TRY(verify(*nest));
    MILLRACE_TRY(check_load(request));
    return lower_verified(request, target, options);
  });
}

Result<KernelSequence> lower_verified(const KernelRequest& request, const Target& target, const LowerOptions& options) {
  const std::string& forced = options.force_algorithm;
  const bool is_known = std::any_of(std::begin(kAlgorithms), std::end(kAlgorithms),
                                    [&](const Algorithm& algorithm) { return algorithm.name == forced; });
  if (!forced.empty() && !is_known) {
    return invalid_argument(fmt::format("lower '{}': unknown algorithm '{}'; expected one of {}",
                                        name_of_request(request), printable(forced), joined_names()));
  }
  std::vector<Refusal> refusals;
  CaseSequence all;
  const auto kind = static_cast<RequestKind>(request.index());
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!forced.empty() && algorithm.name != forced) continue;
    if (algorithm.takes != kind) {
      if (!forced.empty()) {
        refusals.push_back({forced, fmt::format("lowers {}, not {}", plural_of(algorithm.takes), plural_of(kind))});
      }
      continue;
    }
    if (!serves(algorithm, target.spec())) {
      if (!forced.empty()) {
        refusals.push_back(
            {forced, fmt::format("serves {}, not {}", algorithm.targets == AlgorithmTargets::kGpu ? "GPUs" : "CPUs",
                                 target.to_text())});
      }
      continue;
    }
    // A forced algorithm lowers all sizes.
    const auto cases =
        forced.empty() ? cases_of(algorithm, request, target.spec()) : std::vector{RequestCase{1, request}};
    for (const RequestCase& one : cases) {
      if (all.covers(one.margin)) continue;
      Result<KernelSequence> sequence =
          unguarded(lower_case(algorithm, one.request, request, target, options, refusals));
      if (!sequence.ok()) {
        refusals.push_back({std::string(algorithm.name), sequence.status().message()});
        continue;
      }
      all.append(*std::move(sequence), algorithm.name, one.margin);
      if (!all.covers(1)) continue;
      KernelSequence complete = all.finish();
      complete.refusals = std::move(refusals);
      MILLRACE_TRY(verify_step(complete));
      return complete;
    }
  }
  std::string reasons;
  for (const Refusal& refusal : refusals) reasons += fmt::format("; {}: {}", refusal.who, refusal.reason);
  return unimplemented(
      fmt::format("lower '{}' for {}: no algorithm lowers it{}", name_of_request(request), target.to_text(), reasons));
}

}  // namespace millrace
