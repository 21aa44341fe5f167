// SPDX-License-Identifier: Apache-2.0
// In place of measure_google.cpp where there is no Google Benchmark.
#include "tools/millrace/measure.h"

namespace millrace::tool {

Status measure(std::span<const Measurement>, const MeasureOptions&) {
  return unimplemented(
      "bench: this build has no Google Benchmark; install libbenchmark-dev and build again, or say 'millrace run "
      "--repeat'");
}

}  // namespace millrace::tool
