// SPDX-License-Identifier: Apache-2.0
// Stores the result of a sort's or scan's load to scratch, for algorithms that can read their input only from memory.
#include "jit/algorithms/stored_load.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/ir/affine.h"

namespace millrace {
namespace {

/// Whether dim i of the domain is dim i of the result.
bool stores_in_order(const LoopKernel& load) {
  const Shape& shape = load.results[0].type.shape;
  if (load.domain.size() != shape.rank()) return false;
  for (std::size_t d = 0; d < load.domain.size(); ++d) {
    if (load.domain[d].extent != shape[d] || load.stores[0].indices[d] != dim_index(shape.rank(), d)) return false;
  }
  return true;
}

Status check_map(const LoopKernel& load, const KernelTensor& input, const std::string& name) {
  const auto refuse = [&](std::string why) { return invalid_argument(fmt::format("lower '{}': {}", name, why)); };
  if (const Status status = unguarded(verify(load)); !status.ok()) return refuse("its load: " + status.message());
  if (!load.terms.empty() || load.results.size() != 1) {
    return refuse(fmt::format("its load has {} passes and {} results, expected a map to one result", load.terms.size(),
                              load.results.size()));
  }
  const KernelTensor& result = load.results[0];
  if (result.type != input.type || result.layout != input.layout) {
    return refuse(fmt::format("its load computes {} with {}, expected its input, {} with {}", result.type.to_text(),
                              result.layout.to_text(), input.type.to_text(), input.layout.to_text()));
  }
  if (stores_in_order(load)) return {};
  return refuse(
      "its load stores to other indices than the domain's, expected to store point [i, j, ...] at [i, j, ...]");
}

}  // namespace

Status check_load(const KernelRequest& request) {
  const LoopKernel* const load = load_of(request);
  if (load == nullptr) return {};
  if (const auto* sort = std::get_if<SortDescriptor>(&request)) {
    if (sort->input_indices) {
      return invalid_argument(
          fmt::format("lower '{}': both a load and input indices, expected at most one; "
                      "store the load's result, and sort that",
                      sort->name));
    }
    return check_map(*load, sort->input, sort->name);
  }
  const auto& scan = std::get<ScanDescriptor>(request);
  return check_map(*load, scan.input, scan.name);
}

const LoopKernel* load_of(const KernelRequest& request) {
  const std::optional<LoopKernel>* load = nullptr;
  if (const auto* sort = std::get_if<SortDescriptor>(&request)) load = &sort->load;
  if (const auto* scan = std::get_if<ScanDescriptor>(&request)) load = &scan->load;
  return load != nullptr && *load ? &**load : nullptr;
}

KernelRequest without_load(KernelRequest request) {
  if (auto* sort = std::get_if<SortDescriptor>(&request)) sort->load.reset();
  if (auto* scan = std::get_if<ScanDescriptor>(&request)) scan->load.reset();
  return request;
}

Result<KernelSequence> with_stored_load(const LoopKernel& load, KernelSequence sequence, const Target& target,
                                        const LowerOptions& options) {
  // A forced algorithm is meant for the sort or scan, not for the load.
  LowerOptions any_loop = options;
  any_loop.force_algorithm.clear();
  MILLRACE_TRY_ASSIGN(KernelSequence stored, lower_verified(load, target, any_loop));
  const auto first_scratch = static_cast<std::uint32_t>(stored.scratch.size());
  stored.scratch.push_back({"loaded", size_bytes(load.results[0].type)});
  const SequenceOperand loaded = {SequenceOperand::Kind::kScratch, first_scratch};
  for (SequenceKernel& entry : stored.kernels) {
    for (SequenceOperand& buffer : entry.buffers) {
      if (buffer.kind == SequenceOperand::Kind::kResult) buffer = loaded;
    }
  }
  stored.scratch.insert(stored.scratch.end(), sequence.scratch.begin(), sequence.scratch.end());
  for (SequenceKernel& entry : sequence.kernels) {
    for (SequenceOperand& buffer : entry.buffers) {
      if (buffer.kind == SequenceOperand::Kind::kScratch) {
        buffer.index += first_scratch + 1;
      } else if (buffer.kind == SequenceOperand::Kind::kOperand) {
        buffer = loaded;
      }
    }
    stored.kernels.push_back(std::move(entry));
  }
  return stored;
}

}  // namespace millrace
