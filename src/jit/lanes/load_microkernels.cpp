// SPDX-License-Identifier: Apache-2.0
// Builds the microkernel that computes the elements that a sort, TopK or scan reads.
#include "jit/lanes/load_microkernels.h"

#include <fmt/format.h>

#include "hal/host/routines/row_loader.h"
#include "jit/lanes/body_lanes.h"
#include "jit/lanes/element_lanes.h"

namespace millrace {
namespace {

/// The maximum length of a body. Code for a longer body could exceed the size of the image, and fusing it gains little:
/// computing it takes longer than storing and loading its result.
constexpr std::size_t kMaxBodyInstructions = 128;
/// The number of vectors per iteration of a loop with a short body, so that the overhead of the loop is small.
constexpr int kVectorsAtOnce = 4;
constexpr std::size_t kMaxInstructionsOfShort = 16;

MicrokernelCode<ComputeElements> build_elements(IsaLevel isa, int lane_bits, const ComputedElements& elements) {
  enum { kTo, kCount, kFirstSource };
  LaneBuilder b(isa, lane_bits);
  ComputedLanes lanes(b, elements, kFirstSource);
  const int result_bytes = b.vector_bytes(element_of(elements.dtype));
  const auto compute = [&](int num_vectors, LaneValue mask) {
    for (int i = 0; i < num_vectors; ++i) {
      b.store(kTo, i * result_bytes, element_of(elements.dtype), lanes.vector(i, mask), mask);
    }
    lanes.advance(num_vectors);
    b.advance(kTo, num_vectors * result_bytes);
  };
  if (is_short(elements)) {
    b.for_blocks(kCount, kVectorsAtOnce, [&] { compute(kVectorsAtOnce, kNoLaneValue); });
  }
  b.for_vectors(kCount, [&](LaneValue mask) { compute(1, mask); });
  return {b.finish_with(kTo)};
}

}  // namespace

bool is_short(const ComputedElements& elements) { return elements.body.instructions.size() <= kMaxInstructionsOfShort; }

ComputedLanes::ComputedLanes(LaneBuilder& b, const ComputedElements& elements, int first_pointer)
    : b_(b), elements_(elements), first_pointer_(first_pointer) {
  for (std::size_t i = 0; i < elements.sources.size(); ++i) {
    spread_.push_back(elements.sources[i].is_spread ? spread(i) : kNoLaneValue);
  }
}

/// The source's single element, in every lane.
LaneValue ComputedLanes::spread(std::size_t source) {
  const DType dtype = elements_.sources[source].dtype;
  const LaneValue first = b_.binary(LaneOp::kLess, b_.numbers(), b_.constant(1));
  const LaneValue x = b_.load_masked(pointer(source), 0, element_of(dtype), first, b_.constant(0));
  return widen_element(b_, b_.unary(LaneOp::kSpread, x, 0), dtype);
}

LaneValue ComputedLanes::load(std::size_t source, int number, LaneValue mask) {
  const DType dtype = elements_.sources[source].dtype;
  const int offset = number * b_.vector_bytes(element_of(dtype));
  const bool is_whole = mask == kNoLaneValue;
  if (is_whole && !elements_.sources[source].is_repeated) b_.prefetch_ahead(pointer(source), offset);
  const LaneValue others = is_whole ? kNoLaneValue : b_.constant(0);
  return widen_element(b_, b_.load_masked(pointer(source), offset, element_of(dtype), mask, others), dtype);
}

LaneValue ComputedLanes::vector(int number, LaneValue mask) {
  std::vector<LaneValue> loads = spread_;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] == kNoLaneValue) loads[i] = load(i, number, mask);
  }
  return narrow_element(b_, append_body(b_, elements_.body, loads).value(), elements_.dtype);
}

void ComputedLanes::advance(int num_vectors) {
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    if (spread_[i] != kNoLaneValue) continue;
    b_.advance(pointer(i), num_vectors * b_.vector_bytes(element_of(elements_.sources[i].dtype)));
  }
}

Result<MicrokernelCode<ComputeElements>> compute_elements_function(IsaLevel isa, const ComputedElements& elements) {
  if (elements.sources.size() > kMaxRowSources) {
    return unimplemented(fmt::format("{} loads, expected at most {}", elements.sources.size(), kMaxRowSources));
  }
  if (elements.body.instructions.size() > kMaxBodyInstructions) {
    return unimplemented(fmt::format("{} body instructions, expected at most {}", elements.body.instructions.size(),
                                     kMaxBodyInstructions));
  }
  MILLRACE_TRY_ASSIGN(const int lane_bits, lane_bits_of(elements.body));
  LaneBuilder trial(isa, lane_bits);
  const std::vector<LaneValue> loads(elements.sources.size(), trial.numbers());
  MILLRACE_TRY(append_body(trial, elements.body, loads).status());
  return build_elements(isa, lane_bits, elements);
}

}  // namespace millrace
