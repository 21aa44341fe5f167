// SPDX-License-Identifier: Apache-2.0
// Shows the progress of long compiles on a terminal.
#include "tools/millrace/progress_line.h"

#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::tool {

ProgressLine::ProgressLine(std::FILE* file, Clock clock)
    : file_(file), clock_(std::move(clock)), is_terminal_(isatty(fileno(file)) == 1), start_(clock_()) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) write("\r\033[K");
}

void ProgressLine::show(const CompileProgress& progress) {
  if (!is_terminal_ || clock_() - start_ < kPatience) return;
  write(fmt::format("\rcompiling kernel {} of {}: {}\033[K", progress.kernel + 1, progress.num_kernels,
                    printable(progress.name)));
  is_shown_ = true;
}

void ProgressLine::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file_);
  std::fflush(file_);
}

}  // namespace millrace::tool
