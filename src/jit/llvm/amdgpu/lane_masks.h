// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <utility>

namespace millrace {

/// A 32-bit register that may hold a mask of lanes. The caller assigns ids to registers.
enum class MaskId : std::uint32_t {};

/// A mask operand: a register or a constant.
struct MaskSource {
  enum class Kind : std::uint8_t { kRegister, kAll, kUnknown };
  Kind kind = Kind::kUnknown;
  MaskId id{};
  static MaskSource of(MaskId id) { return {Kind::kRegister, id}; }
  static MaskSource all() { return {Kind::kAll, {}}; }
  static MaskSource unknown() { return {}; }
};

enum class MaskOp : std::uint8_t { kMove, kNot, kAnd, kOr, kXor, kAndNot, kOrNot };  // kAndNot: a & ~b

/// The facts about masks at one place in machine code: which masks have every lane set, and which pairs of masks have
/// every lane set in their union. This is enough to follow the code that a compiler generates for divergent branches
/// and loops: a branch splits EXEC in two; a loop moves lanes from EXEC to a mask of the lanes that have left the loop;
/// the code that follows sets EXEC to the union. The analysis is conservative: every fact is true, but some true facts
/// are missing.
class LaneMasks {
 public:
  bool has_all(MaskId a) const { return facts_.contains({a, a}); }
  bool have_all(MaskId a, MaskId b) const;

  /// Forgets `count` masks with consecutive ids.
  void forget(MaskId first, std::uint32_t count = 1);
  void set_all(MaskId);
  /// Sets `to` to op(a, b). kMove and kNot use only `a`.
  void assign(MaskId to, MaskOp op, MaskSource a, MaskSource b = {});
  /// Keeps only the facts that hold in both states, for a place where two paths meet.
  void meet(const LaneMasks&);

  friend bool operator==(const LaneMasks&, const LaneMasks&) = default;

 private:
  void learn(MaskId a, MaskId b);
  bool have_all(MaskSource a, MaskSource b) const;
  bool have_all(MaskSource a, MaskId b) const { return have_all(a, MaskSource::of(b)); }
  bool has_all_after(MaskOp op, MaskSource a, MaskSource b) const;
  bool have_all_after(MaskOp op, MaskSource a, MaskSource b, MaskId other) const;

  std::set<std::pair<MaskId, MaskId>> facts_;  // lower id first; two equal ids if one mask has every lane set
};

}  // namespace millrace
