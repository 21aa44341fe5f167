// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <utility>

namespace millrace {

/// A 32-bit register that may hold a mask of lanes. Which one is for the user to say.
enum class MaskId : std::uint32_t {};

/// A mask that is read: a register, or a constant.
struct MaskSource {
  enum class Kind : std::uint8_t { kRegister, kAll, kUnknown };
  Kind kind = Kind::kUnknown;
  MaskId id{};
  static MaskSource of(MaskId id) { return {Kind::kRegister, id}; }
  static MaskSource all() { return {Kind::kAll, {}}; }
  static MaskSource unknown() { return {}; }
};

enum class MaskOp : std::uint8_t { kMove, kNot, kAnd, kOr, kXor, kAndNot, kOrNot };  // kAndNot: a & ~b

/// What is known of masks at a place of machine code: which have every lane, alone or two of them together. That is
/// what it takes to follow the structured branches that a compiler makes of divergent ones: a branch splits EXEC in
/// two, a loop moves lanes from EXEC to a mask of those that left, and what stands behind takes the union.
/// Everything that is said holds; not everything that holds is said.
class LaneMasks {
 public:
  bool has_all(MaskId a) const { return facts_.contains({a, a}); }
  bool have_all(MaskId a, MaskId b) const;

  /// Forgets `count` masks with consecutive ids.
  void forget(MaskId first, std::uint32_t count = 1);
  void set_all(MaskId);
  /// `to` becomes op(a, b). kMove and kNot take `a` alone.
  void assign(MaskId to, MaskOp op, MaskSource a, MaskSource b = {});
  /// Keeps what holds in both: paths that meet.
  void meet(const LaneMasks&);

  friend bool operator==(const LaneMasks&, const LaneMasks&) = default;

 private:
  void learn(MaskId a, MaskId b);
  bool have_all(MaskSource a, MaskSource b) const;
  bool have_all(MaskSource a, MaskId b) const { return have_all(a, MaskSource::of(b)); }
  bool has_all_after(MaskOp op, MaskSource a, MaskSource b) const;
  bool have_all_after(MaskOp op, MaskSource a, MaskSource b, MaskId other) const;

  std::set<std::pair<MaskId, MaskId>> facts_;  // the lower id first; twice the same: that mask alone
};

}  // namespace millrace
