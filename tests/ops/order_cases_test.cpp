// SPDX-License-Identifier: Apache-2.0
// Sort and TopK: every subset of results, edge values of k, ties and special values, in every dtype.
#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Extents;
using reference::Tensor;

namespace {

enum class Pattern { kSpecials, kTies, kAnyBits };

Tensor make_keys(DType dtype, const Extents& extents, Pattern pattern, std::mt19937_64& random) {
  if (pattern == Pattern::kSpecials) return sample_specials(dtype, extents, random);
  Tensor keys(dtype, extents);
  for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
    if (pattern == Pattern::kTies || dtype == DType::kBool) {
      reference::write_element(dtype, static_cast<double>(random() % (dtype == DType::kBool ? 2 : 4)), keys.element(i));
    } else {
      // Any bits: unsigned values with the high bit, NaN of every payload and sign, subnormals.
      const std::uint64_t bits = random();
      std::memcpy(keys.element(i), &bits, size_bytes(dtype));
    }
  }
  return keys;
}

OpTrial make_trial(Op op, const Attributes& attributes, const Tensor& keys, std::uint32_t used_results) {
  OpTrial trial = {op, attributes, {&keys, 1}, 0, {}, ""};
  trial.options.run.target = host_targets().back();
  trial.options.used_results = used_results;
  trial.label = std::string(to_text(op)) + " " + keys.type.to_text() + " " + to_text(attributes) + " used results " +
                std::to_string(used_results);
  return trial;
}

void check_none(const DriverTally& tally) {
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  CHECK(fmt::format("{}", fmt::join(refusals(tally), "\n")) == "");
}

constexpr std::uint32_t kValues = 1, kIndices = 2, kBoth = 3;

}  // namespace

TEST_CASE("topk gives each subset of its results for every k, direction, dtype and pattern" * test::Sliced()) {
  constexpr std::int64_t kExtent = 1003;
  std::mt19937_64 random(30);
  DriverTally tally;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : {Pattern::kSpecials, Pattern::kTies, Pattern::kAnyBits}) {
      const Tensor keys = make_keys(dtype, {2, kExtent}, pattern, random);
      for (const std::int64_t k : {0L, 1L, 2L, 31L, 32L, 33L, 1000L, kExtent}) {
        for (const bool largest : {true, false}) {
          for (const bool sorted : {true, false}) {
            const Attributes attributes = TopKAttrs{.k = k, .largest = largest, .sorted = sorted};
            const std::vector<Tensor> expected = reference::evaluate(Op::topk, attributes, {&keys, 1});
            for (const std::uint32_t used : {kValues, kIndices, kBoth}) {
              run_trial(make_trial(Op::topk, attributes, keys, used), expected, tally);
            }
          }
        }
      }
    }
  }
  check_none(tally);
}

TEST_CASE("every generator and ISA level gives each subset of sort's and topk's results" * test::Sliced()) {
  std::mt19937_64 random(31);
  DriverTally tally;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kU64, DType::kI8}) {
    const Tensor keys = make_keys(dtype, {3, 65, 2}, Pattern::kSpecials, random);
    for (const auto& [op, attributes] : std::vector<std::pair<Op, Attributes>>{
             {Op::sort, SortAttrs{.axis = 1}},
             {Op::sort, SortAttrs{.axis = 0, .descending = true}},
             {Op::topk, TopKAttrs{.k = 17, .axis = 1}},
             {Op::topk, TopKAttrs{.k = 17, .axis = 1, .largest = false, .sorted = false}}}) {
      const std::vector<Tensor> expected = reference::evaluate(op, attributes, {&keys, 1});
      for (const std::uint32_t used : {kValues, kIndices, kBoth}) {
        OpTrial trial = make_trial(op, attributes, keys, used);
        for (const TargetSpec& target : host_targets()) {
          trial.options.run.target = target;
          for (const std::string& generator : generator_names(target)) {
            trial.options.run.force_generator = generator;
            trial.options.strides = static_cast<Strides>(tally.ran % 3);
            run_trial(trial, expected, tally);
          }
        }
      }
    }
  }
  check_none(tally);
}

TEST_CASE("sort orders rows of every length near powers of two, and long ones") {
  std::mt19937_64 random(32);
  DriverTally tally;
  for (const std::int64_t extent : {2,  3,  4,  5,   7,   8,   9,   15,  16,  17,   31,   32,   33,
                                    63, 64, 65, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097, 70001}) {
    const Pattern pattern = extent % 2 == 0 ? Pattern::kSpecials : Pattern::kAnyBits;
    const Tensor keys = make_keys(DType::kF32, {extent}, pattern, random);
    const Attributes attributes = SortAttrs{.axis = 0, .descending = extent % 3 == 0};
    const std::vector<Tensor> expected = reference::evaluate(Op::sort, attributes, {&keys, 1});
    run_trial(make_trial(Op::sort, attributes, keys, kBoth), expected, tally);
  }
  check_none(tally);
}

TEST_CASE("an unused result has no buffer, and no used results need no kernel") {
  const std::vector<TensorType> operands = {{DType::kF32, {4, 100}}};
  for (const std::uint32_t used : {0u, kValues, kIndices, kBoth}) {
    const auto requests = build_requests(Op::topk, TopKAttrs{.k = 7}, operands, Strides::kDense, used);
    REQUIRE(requests.ok());
    CHECK(requests->size() == (used == 0 ? 0 : 1));
    for (const KernelRequest& request : *requests) {
      const auto sequence = plan_request(request, {host_targets().back()});
      REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
      const std::uint32_t num_results = used == kBoth ? 2 : 1;
      for (const SequenceKernel& kernel : sequence->kernels) {
        for (const SequenceOperand& buffer : kernel.buffers) {
          CHECK((buffer.kind != SequenceOperand::Kind::kResult || buffer.index < num_results));
        }
      }
    }
  }
}

TEST_CASE("a thousand repeats of one topk are equal bit for bit") {
  std::mt19937_64 random(33);
  const Tensor keys = make_keys(DType::kF32, {3, 500}, Pattern::kTies, random);
  const Attributes attributes = TopKAttrs{.k = 33};
  const std::vector<Tensor> expected = reference::evaluate(Op::topk, attributes, {&keys, 1});
  OpRunOptions options;
  options.run.target = host_targets().back();
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const auto run = run_op(Op::topk, attributes, {&keys, 1}, options);
    REQUIRE_MESSAGE(run.ok(), run.status().message());
    for (std::size_t i = 0; i < 2; ++i) REQUIRE(run->results[i].bytes == expected[i].bytes);
  }
}
