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

/// Generates the code of variants: kernel by kernel, on the threads of `executor` or, where that is null, on its own.
class CodeMaker {
 public:
  CodeMaker(const Context& context, const CompileOptions& options, std::shared_ptr<Executor> executor,
            std::size_t num_kernels)
      : context_(context), options_(options), executor_(std::move(executor)), num_kernels_(num_kernels) {}

  /// One image per kernel of the schedule, in its order. Adds a row per kernel to the report. Of several failures it
  /// returns that of the first kernel, whatever the number of threads.
  Result<std::vector<ExecutableImage>> make(LoweredGraph&, const Target&);
  /// The same of LoweredGraph::setup, which must not be null.
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
  std::chrono::steady_clock::time_point begin_ = {};  // of the variant's code
  std::mutex mutex_;
  std::size_t num_begun_ = 0;  // under the lock
};

}  // namespace millrace
