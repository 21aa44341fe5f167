// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hip_standin/control.h"

namespace millrace::hip_standin {

TEST_CASE("the control is there") { CHECK(open_control(MILLRACE_HIP_STANDIN).findings().empty()); }

}  // namespace millrace::hip_standin
