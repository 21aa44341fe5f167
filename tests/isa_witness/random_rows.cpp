// SPDX-License-Identifier: Apache-2.0
// The rows of words that random functions of LLVM IR read.
#include <bit>
#include <random>

#include "random_ir.h"
#include "random_values.h"

namespace millrace::test {

std::vector<std::uint64_t> make_rows(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words;
  for (std::uint32_t row = 0; row <= kNumThreads; ++row) {
    for (std::uint32_t word = 0; word < kWordsPerRow; ++word) {
      const IrType type = static_cast<IrType>(1 + word % 7);
      std::uint64_t bits = sample_integer(random);
      if (type == IrType::kF32) bits = std::bit_cast<std::uint32_t>(sample_number<float>(random));
      if (type == IrType::kF64) bits = std::bit_cast<std::uint64_t>(sample_number<double>(random));
      words.push_back(bits);
    }
  }
  return words;
}

}  // namespace millrace::test
