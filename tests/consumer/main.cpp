// SPDX-License-Identifier: Apache-2.0
// What an application outside this repository does; it sees public headers and one library.
#include <cstdio>
#include <cstdlib>

#include "millrace/base/status.h"

int main() {
  const millrace::Status status = millrace::not_found("weights.safetensors: no such file");
  std::printf("%s\n", status.message().c_str());
  return status.code() == millrace::StatusCode::kNotFound ? EXIT_SUCCESS : EXIT_FAILURE;
}
