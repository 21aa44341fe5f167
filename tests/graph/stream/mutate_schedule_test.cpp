// SPDX-License-Identifier: Apache-2.0
// Mistakes are put into the schedules of random graphs, some with variables. verify() refuses each, unless it is
// harmless: unless, byte by byte under every binding tried,
// * steps that touch the same bytes, where one writes, are in the graph's order, with a barrier between them;
// * each kernel gets the bytes that it got before;
// * transients that are in use at the same time share no bytes of the slab and stay inside it;
// * transients live from their first to their last use.
#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/random/random_network.h"
#include "tests/support/random/random_state.h"
#include "tests/support/random/random_tree.h"

namespace millrace {
namespace {

struct Bytes {
  std::int64_t begin = 0, end = 0;
  bool meet(const Bytes& other) const { return std::max(begin, other.begin) < std::min(end, other.end); }
};

/// What is harmful about a damaged schedule, found by comparing everything with everything.
class Harm {
 public:
  Harm(const Schedule& right, const Schedule& damaged, const SymbolValues& values)
      : right_(right), damaged_(damaged), values_(values) {}

  std::string find() {
    for (const Step& step : right_.steps) right_steps_[step.number] = &step;
    return find_wrong_order() + find_wrong_part() + find_wrong_place();
  }

 private:
  std::int64_t number(const SizeExpr& size) const { return size.evaluate(values_).value(); }
  Bytes bytes(const ByteRange& range) const {
    const std::int64_t begin = number(range.offset_bytes);
    return {begin, begin + number(range.length_bytes)};
  }

  std::vector<Bytes> rows(const ByteRange& range) const {
    std::vector<Bytes> result = {bytes(range)};
    for (const auto& [pitch, row] : range.rows) {
      std::vector<Bytes> inner;
      for (const Bytes& around : result) {
        for (std::int64_t begin = around.begin; begin < around.end; begin += number(pitch)) {
          inner.push_back({begin, begin + number(row)});
        }
      }
      result = std::move(inner);
    }
    return result;
  }

  bool conflict(const Step& a, const Step& b) const {
    for (const ResourceUse& x : a.uses) {
      for (const ResourceUse& y : b.uses) {
        if (x.resource != y.resource || !right_.resources[x.resource].is_computed()) continue;
        if (!x.is_written && !y.is_written) continue;
        for (const Bytes& in_x : rows(right_.touched_bytes(x))) {
          for (const Bytes& in_y : rows(right_.touched_bytes(y))) {
            if (in_x.meet(in_y)) return true;
          }
        }
      }
    }
    return false;
  }

  std::string find_wrong_order() const {
    for (std::uint32_t i = 0; i < damaged_.steps.size(); ++i) {
      const Step& first = damaged_.steps[StepId{i}];
      for (std::uint32_t k = i + 1; k < damaged_.steps.size(); ++k) {
        const Step& second = damaged_.steps[StepId{k}];
        if (second.timepoint < first.timepoint) return "timepoints fall";
        const bool is_right = first.number < second.number && first.timepoint < second.timepoint;
        if (!is_right && conflict(*right_steps_.at(first.number), *right_steps_.at(second.number))) return "order";
      }
    }
    return "";
  }

  std::string find_wrong_part() const {
    for (const Step& step : damaged_.steps) {
      const Step& right = *right_steps_.at(step.number);
      for (std::size_t i = 0; i < step.uses.size(); ++i) {
        if (!right.uses[i].part) continue;
        const ByteRange a = damaged_.kernel_buffer_bytes(step.uses[i]), b = right_.kernel_buffer_bytes(right.uses[i]);
        if (number(b.length_bytes) == 0) continue;
        if (number(a.offset_bytes) != number(b.offset_bytes) || !has_all(a, b)) return "part";
      }
    }
    return "";
  }

  bool has_all(const ByteRange& a, const ByteRange& b) const {
    const std::vector<Bytes> rows_of_a = rows(a);
    return std::ranges::all_of(rows(b), [&](const Bytes& in_b) {
      return std::ranges::any_of(rows_of_a,
                                 [&](const Bytes& in_a) { return in_a.begin <= in_b.begin && in_b.end <= in_a.end; });
    });
  }

  std::string find_wrong_place() const {
    std::map<ResourceId, std::pair<std::uint32_t, std::uint32_t>> lives;
    for (const Step& step : damaged_.steps) {
      for (const ResourceUse& use : step.uses) {
        if (damaged_.resources[use.resource].lifetime != Lifetime::kTransient) continue;
        auto& [first, last] = lives.try_emplace(use.resource, step.timepoint, step.timepoint).first->second;
        first = std::min(first, step.timepoint);
        last = std::max(last, step.timepoint);
      }
    }
    const std::int64_t slab = number(damaged_.slab_bytes);
    for (const auto& [id, life] : lives) {
      const Resource& resource = damaged_.resources[id];
      const Bytes place = bytes({resource.offset_bytes, resource.size_bytes});
      if (place.begin == place.end) continue;
      if (place.begin < 0 || place.end > slab) return "outside";
      if (resource.first_timepoint > life.first || resource.last_timepoint < life.second) return "life";
      for (const auto& [other, other_life] : lives) {
        if (other == id || other_life.second < life.first || life.second < other_life.first) continue;
        const Resource& next = damaged_.resources[other];
        if (place.meet(bytes({next.offset_bytes, next.size_bytes}))) return "overlap";
      }
    }
    return "";
  }

  const Schedule& right_;
  const Schedule& damaged_;
  const SymbolValues& values_;
  std::map<std::uint32_t, const Step*> right_steps_;
};

class Mistakes {
 public:
  Mistakes(const Schedule& right, std::uint64_t seed) : right_(right), random_(seed) {
    for (std::uint32_t i = 0; i < right.resources.size(); ++i) {
      if (right.resources[ResourceId{i}].lifetime == Lifetime::kTransient) transients_.push_back(ResourceId{i});
    }
    for (std::uint32_t i = 0; i < right.steps.size(); ++i) {
      for (std::uint32_t k = 0; k < right.steps[StepId{i}].uses.size(); ++k) {
        const ResourceUse& use = right.steps[StepId{i}].uses[k];
        if (use.touched && use.is_written) ranges_.emplace_back(i, k);
      }
    }
  }

  /// Nothing if the schedule has no place for the mistake.
  std::optional<Schedule> make(std::string_view kind) {
    Schedule damaged = right_;
    const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random_() % end); };
    const auto some_distance = [&](std::int64_t unit) {
      const std::int64_t distance = below(8) == 0 ? unit * 7 : unit;
      return below(2) == 0 ? distance : -distance;
    };
    if (kind == "offset") {
      if (transients_.empty()) return {};
      Resource& resource = damaged.resources[transients_[below(transients_.size())]];
      const Resource& other = right_.resources[transients_[below(transients_.size())]];
      resource.offset_bytes = below(2) == 0 ? other.offset_bytes : resource.offset_bytes + some_distance(64);
      if (resource.offset_bytes == right_.resources[transients_[0]].offset_bytes && transients_.size() == 1) return {};
    } else if (kind == "life") {
      if (transients_.empty()) return {};
      Resource& resource = damaged.resources[transients_[below(transients_.size())]];
      if (resource.first_timepoint == resource.last_timepoint) return {};
      below(2) == 0 ? ++resource.first_timepoint : --resource.last_timepoint;
    } else if (kind == "barrier") {
      const std::uint32_t last = std::ranges::max(right_.steps, {}, &Step::timepoint).timepoint;
      if (last == 0) return {};
      const std::size_t barrier = 1 + below(last);
      const auto drop = [&](std::uint32_t& timepoint) { timepoint -= timepoint >= barrier ? 1 : 0; };
      for (Step& step : damaged.steps) drop(step.timepoint);
      for (Resource& resource : damaged.resources) drop(resource.first_timepoint), drop(resource.last_timepoint);
    } else if (kind == "steps") {
      if (right_.steps.size() < 2) return {};
      const auto a = StepId(below(right_.steps.size())), b = StepId(below(right_.steps.size()));
      if (a == b) return {};
      std::swap(damaged.steps[a], damaged.steps[b]);
      std::swap(damaged.steps[a].timepoint, damaged.steps[b].timepoint);
    } else {
      const std::size_t count = ranges_.size() + right_.parts.size();
      if (count == 0) return {};
      const std::size_t chosen = below(count);
      ByteRange* range = nullptr;
      if (chosen < right_.parts.size()) {
        range = &damaged.parts[PartId(chosen)].bytes;
      } else {
        const auto [step, number] = ranges_[chosen - right_.parts.size()];
        range = &*damaged.steps[StepId{step}].uses[number].touched;
      }
      std::vector<SizeExpr*> sizes = {&range->offset_bytes, &range->length_bytes};
      for (auto& [pitch, row] : range->rows) sizes.insert(sizes.end(), {&pitch, &row});
      SizeExpr& changed = *sizes[below(sizes.size())];
      changed = changed + some_distance(4);
    }
    return damaged;
  }

 private:
  const Schedule& right_;
  std::mt19937_64 random_;
  std::vector<ResourceId> transients_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;
};

struct Tally {
  int refused = 0, harmless = 0;
};

TEST_CASE("mistakes in the schedules of random graphs are refused unless they are harmless") {
  constexpr std::string_view kKinds[] = {"offset", "life", "barrier", "steps", "range"};
  constexpr ScheduleOrder kOrders[] = {ScheduleOrder::kStrict, ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency};
  std::map<std::string_view, Tally> tallies;
  int num_schedules = 0;
  for (std::uint64_t seed = 1; seed <= 280; ++seed) {
    CAPTURE(seed);
    test::RandomGraph random = test::make_random_graph(seed);
    if (seed % 7 == 1) {
      test::RandomChoice choice(seed);
      random = {test::make_state_graph(choice), {}, {}};
    }
    if (seed % 7 == 2) random = {test::make_random_tree(seed), {{{"n", 1}}, {{"n", 3}}}, {}};
    if (seed % 4 == 0) random = {test::make_random_network(seed, seed % 8 == 0), {{{"n", 3}, {"m", 50}}}, {}};
    const Target target = test::test_context()->target(seed % 5 == 0 ? "sim:gfx1100" : "cpu:baseline").value();
    const Result<LoweredGraph> lowered = lower_graph(random.graph, target, {}, {}, kOrders[seed % 3]);
    REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
    const Schedule& right = lowered->schedule;
    if (right.steps.empty()) continue;
    ++num_schedules;
    REQUIRE(verify(right).message() == "");
    const std::vector<SymbolValues> bindings =
        random.bindings.empty() ? std::vector<SymbolValues>{{}} : random.bindings;
    for (const SymbolValues& values : bindings) REQUIRE(Harm(right, right, values).find() == "");
    Mistakes mistakes(right, seed);
    for (const std::string_view kind : kKinds) {
      CAPTURE(kind);
      for (int i = 0; i < 8; ++i) {
        const std::optional<Schedule> damaged = mistakes.make(kind);
        if (!damaged) continue;
        if (!verify(*damaged).ok()) {
          ++tallies[kind].refused;
          continue;
        }
        ++tallies[kind].harmless;
        for (const SymbolValues& values : bindings) {
          const std::string harm = Harm(right, *damaged, values).find();
          CHECK_MESSAGE(harm == "", harm, "\n", to_text(right), "\n", to_text(*damaged), memory_plan_text(*damaged));
        }
      }
    }
  }
  CHECK(num_schedules > 200);
  for (const std::string_view kind : kKinds) {
    const Tally& tally = tallies[kind];
    MESSAGE(kind, ": ", tally.refused, " refused, ", tally.harmless, " harmless");
    CHECK(tally.refused > 50);
  }
}

}  // namespace
}  // namespace millrace
