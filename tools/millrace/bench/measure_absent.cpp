// SPDX-License-Identifier: Apache-2.0
// Replaces measure_google.cpp in builds without Google Benchmark.
#include "tools/millrace/bench/measure.h"

namespace millrace::tool {

Status measure(std::span<const Measurement>, const MeasureOptions&) {
  return unimplemented(
      "bench: this build has no Google Benchmark; install libbenchmark-dev and build again, or say 'millrace run "
      "--repeat'");
}

}  // namespace millrace::tool
