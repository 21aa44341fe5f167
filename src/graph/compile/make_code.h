// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "millrace/graph/compile.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/executor.h"

namespace millrace {

/// Generates the code of variants, kernel by kernel, on the threads of `executor`. If `executor` is null, generates it
/// on the calling thread.
class CodeMaker {
 public:
  CodeMaker(const Context& context, const CompileOptions& options, std::shared_ptr<Executor> executor,
            std::size_t num_kernels)
      : context_(context), options_(options), executor_(std::move(executor)), num_kernels_(num_kernels) {}

  /// Returns one image per kernel of the schedule, in its order, and adds one row per kernel to the report. If several
  /// kernels fail, returns the failure of the first, whatever the number of threads.
  Result<std::vector<ExecutableImage>> make(LoweredGraph&, const Target&);
  /// Does the same for LoweredGraph::setup, which must not be null.
  Result<std::vector<ExecutableImage>> make_setup(LoweredGraph&, const Target&);

 private:
  Result<std::vector<ExecutableImage>> make_images(LoweredGraph&, const Target&);
  Result<std::vector<ExecutableImage>> make_code_object(LoweredGraph&, const Target&);
  Result<ExecutableImage> make_image(const PlannedKernel&, const Target&) const;
  void show_progress(const PlannedKernel&);

  const Context& context_;
  const CompileOptions& options_;
  std::shared_ptr<Executor> executor_;
  std::size_t num_kernels_;
  std::chrono::steady_clock::time_point begin_ = {};  // when code generation for the variant began
  std::mutex mutex_;
  std::size_t num_begun_ = 0;  // guarded by mutex_
};

}  // namespace millrace
