// SPDX-License-Identifier: Apache-2.0
// Tracks, from instruction to instruction, which masks are known to have every lane set.
#include "jit/llvm/amdgpu/lane_masks.h"

#include <algorithm>

#include "millrace/base/ids.h"

namespace millrace {
namespace {

bool is(const MaskSource& source, MaskId id) { return source.kind == MaskSource::Kind::kRegister && source.id == id; }

}  // namespace

bool LaneMasks::have_all(MaskId a, MaskId b) const {
  return has_all(a) || has_all(b) || facts_.contains({std::min(a, b), std::max(a, b)});
}

bool LaneMasks::have_all(MaskSource a, MaskSource b) const {
  using Kind = MaskSource::Kind;
  if (a.kind == Kind::kAll || b.kind == Kind::kAll) return true;
  if (a.kind == Kind::kUnknown) return b.kind == Kind::kRegister && has_all(b.id);
  return b.kind == Kind::kUnknown ? has_all(a.id) : have_all(a.id, b.id);
}

void LaneMasks::forget(MaskId first, std::uint32_t count) {
  const auto is_among = [&](MaskId id) { return id >= first && index_of(id) - index_of(first) < count; };
  std::erase_if(facts_, [&](const auto& fact) { return is_among(fact.first) || is_among(fact.second); });
}

/// Adds a fact in a canonical form, so that equal sets of facts compare equal.
void LaneMasks::learn(MaskId a, MaskId b) {
  if (has_all(a) || has_all(b)) return;
  if (a == b) forget(a);  // drops the weaker facts
  facts_.insert({std::min(a, b), std::max(a, b)});
}

void LaneMasks::set_all(MaskId id) { learn(id, id); }

/// Whether op(a, b) has every lane set.
bool LaneMasks::has_all_after(MaskOp op, MaskSource a, MaskSource b) const {
  switch (op) {
    case MaskOp::kMove:
    case MaskOp::kOrNot:
      return have_all(a, a);
    case MaskOp::kAnd:
      return have_all(a, a) && have_all(b, b);
    case MaskOp::kOr:
      return have_all(a, b);
    case MaskOp::kNot:
    case MaskOp::kXor:
    case MaskOp::kAndNot:
      return false;
  }
  return false;
}

/// Whether the union of op(a, b) and `other` has every lane set. The operation does not change `other`.
bool LaneMasks::have_all_after(MaskOp op, MaskSource a, MaskSource b, MaskId other) const {
  switch (op) {
    case MaskOp::kMove:
      return have_all(a, other);
    case MaskOp::kNot:
      return is(a, other);
    case MaskOp::kAnd:
      return have_all(a, other) && have_all(b, other);
    case MaskOp::kOr:
      return have_all(a, other) || have_all(b, other);
    case MaskOp::kXor:  // (a ^ b) | a is a | b
      return (is(a, other) || is(b, other)) && have_all(a, b);
    case MaskOp::kAndNot:  // (a & ~b) | b is a | b
      return is(b, other) && have_all(a, b);
    case MaskOp::kOrNot:
      return is(b, other) || have_all(a, other);
  }
  return false;
}

void LaneMasks::assign(MaskId to, MaskOp op, MaskSource a, MaskSource b) {
  std::set<MaskId> others;
  for (const auto& [first, second] : facts_) others.insert({first, second});
  for (const MaskSource& source : {a, b}) {
    if (source.kind == MaskSource::Kind::kRegister) others.insert(source.id);
  }
  others.erase(to);
  std::erase_if(others, [&](MaskId other) { return !have_all_after(op, a, b, other); });
  const bool has_every_lane = has_all_after(op, a, b);
  forget(to);
  if (has_every_lane) learn(to, to);
  for (const MaskId other : others) learn(to, other);
}

void LaneMasks::meet(const LaneMasks& that) {
  LaneMasks both;
  const auto keep = [&](const LaneMasks& from, const LaneMasks& other) {
    for (const auto& [first, second] : from.facts_) {
      if (other.have_all(first, second)) both.learn(first, second);
    }
  };
  keep(*this, that);
  keep(that, *this);
  *this = std::move(both);
}

}  // namespace millrace
