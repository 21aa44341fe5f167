// SPDX-License-Identifier: Apache-2.0
// Groups steps into units and finds which units must precede which, before the order is chosen.
#include "graph/stream/work_units.h"

#include <algorithm>
#include <map>

#include "base/byte_rows.h"
#include "base/byte_set.h"

namespace millrace {
namespace {

bool is_constant(const ByteRange& range) {
  return range.offset_bytes.is_constant() && range.length_bytes.is_constant();
}

/// The units that have touched each byte of a resource, so far.
class UnitAccesses {
 public:
  /// Adds the units that have written some of the bytes to `writers`.
  void read(std::uint32_t unit, const ByteRange& bytes, std::vector<std::uint32_t>& writers) {
    enter(unit);
    own_.push_back({bytes, false});
    for (const auto& [writer, written] : other_writes_) {
      if (may_overlap(written, bytes)) writers.push_back(writer);
    }
    if (!is_constant(bytes)) {
      for (const auto& [begin, write] : writes_) writers.push_back(write.unit);
      return;
    }
    const std::int64_t begin = bytes.offset_bytes.constant(), end = begin + bytes.length_bytes.constant();
    // Writes that begin before this lower bound end before `begin`.
    for (auto at = writes_.lower_bound(begin - longest_write_); at != writes_.end() && at->first < end; ++at) {
      if (at->second.end > begin) writers.push_back(at->second.unit);
    }
  }

  /// Adds the units that have touched some of the bytes to `users`.
  void write(std::uint32_t unit, const ByteRange& bytes, std::vector<std::uint32_t>& users) {
    enter(unit);
    own_.push_back({bytes, true});
    if (read_.may_overlap(bytes) || written_.may_overlap(bytes)) {
      for (const auto& [user, touched] : earlier_) {
        if (may_overlap(touched, bytes)) users.push_back(user);
      }
    }
    if (bytes.has_rows() || !is_constant(bytes)) {
      other_writes_.emplace_back(unit, bytes);
    } else {
      const std::int64_t begin = bytes.offset_bytes.constant(), length = bytes.length_bytes.constant();
      writes_.emplace(begin, Write{unit, begin + length});
      longest_write_ = std::max(longest_write_, length);
    }
  }

 private:
  struct Write {
    std::uint32_t unit;
    std::int64_t end;
  };
  struct Access {
    ByteRange bytes;
    bool is_written;
  };
  /// Begins a unit: adds the accesses of the previous one. Accesses within a unit need no edges, because its steps keep
  /// their order.
  void enter(std::uint32_t unit) {
    if (unit_ != unit) {
      for (const Access& access : own_) {
        (access.is_written ? written_ : read_).add(access.bytes);
        earlier_.emplace_back(unit_, access.bytes);
      }
      own_.clear();
    }
    unit_ = unit;
  }

  ByteSet read_, written_;                                    // touched by units before `unit_`
  std::vector<std::pair<std::uint32_t, ByteRange>> earlier_;  // all accesses of units before `unit_`
  std::vector<Access> own_;
  std::uint32_t unit_ = 0;
  std::multimap<std::int64_t, Write> writes_;  // writes to constant bytes without gaps, keyed by begin
  std::int64_t longest_write_ = 0;
  std::vector<std::pair<std::uint32_t, ByteRange>> other_writes_;
};

/// The units that have used a variable, so far: each must see the value that it sees in the graph's order.
class VariableAccesses {
 public:
  void read(std::uint32_t unit, std::vector<std::uint32_t>& needs) {
    if (writer_) needs.push_back(*writer_);
    readers_.push_back(unit);
  }
  void write(std::uint32_t unit, std::vector<std::uint32_t>& needs) {
    needs.insert(needs.end(), readers_.begin(), readers_.end());
    if (writer_) needs.push_back(*writer_);
    readers_.clear();
    writer_ = unit;
  }

 private:
  std::optional<std::uint32_t> writer_;  // the last unit that wrote it
  std::vector<std::uint32_t> readers_;   // the units that have read it since then
};

std::vector<WorkUnit> cut_units(const Schedule& schedule) {
  std::vector<WorkUnit> units;
  const Step* before = nullptr;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[StepId{i}];
    const bool continues = before != nullptr && step.region && before->region == step.region;
    if (!continues) units.emplace_back().first_step = i;
    ++units.back().num_steps;
    before = &step;
  }
  return units;
}

}  // namespace

std::vector<WorkUnit> find_work_units(const Schedule& schedule) {
  std::vector<WorkUnit> units = cut_units(schedule);
  IdVector<ResourceId, UnitAccesses> accesses;
  accesses.resize(schedule.resources.size());
  IdVector<ResourceId, VariableAccesses> variables;
  variables.resize(schedule.resources.size());
  for (std::uint32_t i = 0; i < units.size(); ++i) {
    WorkUnit& unit = units[i];
    for (std::uint32_t k = 0; k < unit.num_steps; ++k) {
      for (const ResourceUse& use : schedule.steps[StepId{unit.first_step + k}].uses) {
        const ByteRange bytes = schedule.touched_bytes(use);
        if (!schedule.resources[use.resource].is_computed() || bytes.length_bytes.upper_bound() <= 0) continue;
        if (schedule.resources[use.resource].lifetime == Lifetime::kVariable) {
          VariableAccesses& variable = variables[use.resource];
          use.is_written ? variable.write(i, unit.needs) : variable.read(i, unit.needs);
        } else if (!use.is_written) {
          accesses[use.resource].read(i, bytes, unit.needs);
        } else {
          accesses[use.resource].write(i, bytes, unit.needs);
        }
      }
    }
    std::ranges::sort(unit.needs);
    const auto repeated = std::ranges::unique(unit.needs);
    unit.needs.erase(repeated.begin(), repeated.end());
    std::erase(unit.needs, i);
    for (const std::uint32_t needed : unit.needs) units[needed].readers.push_back(i);
  }
  return units;
}

}  // namespace millrace
