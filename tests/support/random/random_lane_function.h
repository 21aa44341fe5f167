// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "jit/lanes/lane_function.h"

namespace millrace::test {

/// A function of random operations, drawn from the table of lane ops. It reads vectors at argument 0, perhaps in a loop
/// that as many vectors as argument 3 says keep going, appends lanes at argument 4, and stores values at argument 1,
/// which is aligned to a vector: all of them, which live until then, so that long functions spill, or some, so that
/// registers are reused. Argument 2 is any integer. Lanes of 8 bits have few ops, and are appended instead of stored.
class RandomLaneFunction {
 public:
  static constexpr int kNumInputs = 4, kMaxIterations = 3;
  static constexpr std::size_t kInputBytes = (kNumInputs + kMaxIterations) * 64;
  static constexpr std::size_t kAppendedBytes = kMaxIterations * 64;

  /// `counts_bits`: whether the host has VPOPCNTDQ.
  RandomLaneFunction(IsaLevel, std::uint32_t seed, int lane_bits, bool counts_bits);

  const LaneFunction& function() const { return function_; }
  std::size_t output_bytes() const { return output_bytes_; }
  std::int64_t num_iterations() const { return num_iterations_; }

 private:
  std::uint32_t below(std::uint32_t end) { return random_() % end; }
  LaneElement random_element();
  LaneValue any_vector() { return vectors_[below(static_cast<std::uint32_t>(vectors_.size()))]; }
  LaneValue any_float();
  /// A few at a time, because masks do not spill.
  LaneValue any_mask() { return masks_.back(); }
  bool has_bytes() const { return b_.lane_bits() == 8; }
  LaneValue all_lanes() { return b_.binary(LaneOp::kAtMost, vectors_[0], vectors_[0]); }
  BitOrder any_order();
  std::int64_t any_immediate(std::uint32_t fields);
  bool can_draw(LaneOp) const;
  void add(LaneOp);
  void add_some();
  void change_integer();
  void append_bytes();
  void add_loop();
  void finish();

  std::mt19937 random_;
  LaneBuilder b_;
  bool counts_bits_;
  std::vector<LaneOp> ops_;
  std::vector<LaneValue> vectors_, masks_;
  std::int64_t num_iterations_ = 0;
  std::size_t output_bytes_ = 0;
  LaneFunction function_;
};

}  // namespace millrace::test
