// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/graph/onnx.h"

namespace millrace {
namespace {

TEST_CASE("without protozero, importing a model says what to install") {
  const Status status = import_onnx("m.onnx", SharedBytes()).status();
  CHECK(status.code() == StatusCode::kUnimplemented);
  CHECK(status.message() ==
        "onnx 'm.onnx': this build of Millrace does not read ONNX; install protozero (Debian: libprotozero-dev) and "
        "build it again");
}

}  // namespace
}  // namespace millrace
