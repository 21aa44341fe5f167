// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tests/jit/cache/temporary_directory.h"

namespace millrace::test {

/// What one call of `millrace` left.
struct ToolRun {
  int exit_code = -1;
  std::string out, error;
};

/// A directory of its own in which `millrace` runs, with graphs in it:
///
/// * top.mr: the 3 best of each row of twice %x, f32[rows in 1..64, 10]: values, indices
/// * two.mr: the same in two dispatches, because it returns twice %x too
/// * net.mr: the tanh of the product of %x, f32[16x32], and %w, f32[32x24]: h; and its columns' maxima: best
/// * some.mr: the k best, k in 0..8, of %x, f32[n in 8..100]
///
/// Kernels are cached for all of them together.
class Workplace {
 public:
  Workplace();
  /// The cache's directory; it may not be there yet.
  static std::string kernels();
  /// Empties the cache.
  static void forget_kernels();
  /// Runs "millrace <arguments>" in a shell.
  ToolRun run(const std::string& arguments) const;
  /// Runs any command in a shell.
  ToolRun run_command(const std::string& command) const;
  /// The error message of a run that must exit with `exit_code` and print nothing.
  std::string error_of(const std::string& arguments, int exit_code = 1) const;
  /// The output of a run that must succeed without a word on standard error.
  std::string output_of(const std::string& arguments) const;

  std::string path(std::string_view name) const { return directory_.path() + "/" + std::string(name); }
  void write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;

 private:
  TemporaryDirectory directory_;
};

bool contains(std::string_view text, std::string_view part);

}  // namespace millrace::test
