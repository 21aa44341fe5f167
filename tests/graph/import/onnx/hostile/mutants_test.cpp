// SPDX-License-Identifier: Apache-2.0
// A million damaged models. Each process tests a slice of them (see tested_slice); all of them run with sanitizers in
// scripts/test.sh nightly.
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/hostile/mutate_model.h"
#include "tests/graph/import/onnx/hostile/seed_models.h"
#include "tests/support/slice.h"

namespace millrace::test {
namespace {

/// The bytes in hexadecimal, to copy into a test.
std::string digits_of(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

}  // namespace

TEST_CASE("ONNX: the models that are mutated can be imported") {
  for (const SeedModel& seed : seed_models()) {
    CAPTURE(seed.name);
    CHECK(import_onnx("m", seed.model.file()).status().message() == "");
  }
}

TEST_CASE("the matrix of mutants of ONNX models: each gives an error or a valid graph") {
  constexpr std::size_t kNumMutants = 1'000'000;
  const std::vector<SeedModel> seeds = seed_models();
  const Slice slice = tested_slice();
  std::size_t num_imported = 0, num_tested = 0;
  for (std::size_t i = slice.index; i < kNumMutants; i += slice.count) {
    std::mt19937 random(static_cast<std::uint32_t>(i));
    const std::string& model = seeds[random() % seeds.size()].model.bytes();
    const std::string& donor = seeds[random() % seeds.size()].model.bytes();
    const std::string bytes = mutate_model(model, donor, random);
    const Result<OnnxModel> imported = import_onnx("m", MessageWriter().raw(bytes).file());
    const std::string wrong = imported.ok() ? verify(imported->graph).message()
                              : imported.status().message().starts_with("onnx 'm': ") ? ""
                                                                                      : imported.status().message();
    CHECK_MESSAGE(wrong == "", "mutant ", i, ": ", wrong, "\n", digits_of(bytes));
    num_imported += imported.ok() ? 1 : 0;
    ++num_tested;
  }
  // The mutator is of use as long as some of its models are imported and many fail after they are decoded.
  CHECK(num_imported > num_tested / 50);
  CHECK(num_imported < num_tested / 2);
  MESSAGE("slice ", to_text(slice), ": ", num_imported, " of ", num_tested, " mutants are models");
}

}  // namespace millrace::test
