// SPDX-License-Identifier: Apache-2.0
// Random functions of LLVM IR without undefined behaviour, whose results are the same on every target, bit by bit,
// except for the bits of NaN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::test {

/// Values of kF16 are made of the others, and end in others: the table of semantics converts and compares halves, and
/// has no arithmetic on them.
enum class IrType : std::uint8_t { kI1, kI8, kI16, kI32, kI64, kF32, kF64, kV2I16, kF16 };
inline constexpr std::size_t kNumIrTypes = 9;

/// A thread reads a row of words of 8 bytes, each the bits of a value of any type, and all read one more row, which
/// comes behind those of the threads. It writes a row of results.
inline constexpr std::uint32_t kNumThreads = 64, kWordsPerRow = 24, kNumResults = 10;

struct RandomFunction {
  std::string body;             // of both targets' functions
  std::vector<IrType> results;  // of its words, in order
};

/// `num_steps` random operations. The same seed with fewer steps gives a function that begins the same way.
/// `pointer` is the type of pointers to the rows: %in, %out; %thread is the thread's number, an i64.
RandomFunction make_random_function(std::uint64_t seed, std::uint32_t num_steps, const std::string& pointer);

/// The rows of a seed.
std::vector<std::uint64_t> make_rows(std::uint64_t seed);

}  // namespace millrace::test
