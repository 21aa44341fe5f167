// SPDX-License-Identifier: Apache-2.0
// Finds an earlier loop nest that is equal but for its name, and copies its kernels under the new name.
#include "jit/algorithms/request_memo.h"

#include <algorithm>
#include <string>
#include <vector>
#include <xxhash.h>

namespace millrace {
namespace {

using Numbers = std::vector<std::uint64_t>;

void add_extent(Numbers& numbers, const SizeExpr& extent) {
  numbers.push_back(extent.is_constant() ? static_cast<std::uint64_t>(extent.constant()) : ~std::uint64_t{0});
}

void add_body(Numbers& numbers, const Body& body) {
  numbers.push_back(body.instructions.size());
  for (const BodyInstruction& instruction : body.instructions) {
    numbers.push_back(static_cast<std::uint64_t>(instruction.op));
    numbers.push_back(instruction.immediate);
  }
}

/// Equal for requests that differ only in their names. Symbolic extents and strides are left to operator==.
std::uint64_t hash_of(const LoopKernel& request) {
  Numbers numbers = {request.loads.size(), request.reductions.size()};
  for (const LoopDim& dim : request.domain) add_extent(numbers, dim.extent);
  for (const std::vector<KernelTensor>* tensors : {&request.operands, &request.results}) {
    for (const KernelTensor& tensor : *tensors) numbers.push_back(static_cast<std::uint64_t>(tensor.type.dtype));
  }
  for (const Body& term : request.terms) add_body(numbers, term);
  add_body(numbers, request.epilogue);
  return XXH3_64bits(numbers.data(), numbers.size() * sizeof(std::uint64_t));
}

/// Whether the sequence has the request's name only where rename() replaces it.
bool can_rename(const KernelSequence& sequence, const std::string& name) {
  const auto is_free = [&](const std::vector<Refusal>& refusals) {
    return std::ranges::none_of(refusals,
                                [&](const Refusal& refusal) { return refusal.reason.find(name) != std::string::npos; });
  };
  const auto begins = [&](const SequenceScratch& scratch) { return scratch.name.starts_with(name); };
  return is_free(sequence.refusals) && std::ranges::all_of(sequence.scratch, begins) &&
         std::ranges::all_of(sequence.kernels, [&](const SequenceKernel& entry) {
           return is_free(entry.refusals) && entry.kernel.name.starts_with(name);
         });
}

void rename(KernelSequence& sequence, const std::string& from, const std::string& to) {
  for (SequenceScratch& scratch : sequence.scratch) scratch.name.replace(0, from.size(), to);
  for (SequenceKernel& entry : sequence.kernels) {
    PlannedKernel& kernel = entry.kernel;
    kernel.name.replace(0, from.size(), to);
    kernel.info.name = kernel.name;
    auto* const machine = std::get_if<MachineKernel>(&kernel.mapped);
    if (machine == nullptr) continue;
    machine->name = kernel.name;
    for (auto& buffer : machine->buffers) {
      if (buffer.name.starts_with(from)) buffer.name.replace(0, from.size(), to);  // scratch
    }
  }
}

}  // namespace

Result<KernelSequence> RequestMemo::lower(const KernelRequest& request) {
  const auto* const nest = std::get_if<LoopKernel>(&request);
  if (nest == nullptr) return lower_request(request, target_, options_);
  LoopKernel unnamed = *nest;
  unnamed.name.clear();
  const std::uint64_t hash = hash_of(unnamed);
  const auto [first, last] = lowered_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Lowered& earlier = it->second;
    if (earlier.request != unnamed) continue;
    KernelSequence sequence = earlier.sequence;
    rename(sequence, earlier.name, nest->name);
    return sequence;
  }
  MILLRACE_TRY_ASSIGN(KernelSequence sequence, lower_request(request, target_, options_));
  if (can_rename(sequence, nest->name)) lowered_.emplace(hash, Lowered{std::move(unnamed), nest->name, sequence});
  return sequence;
}

}  // namespace millrace
