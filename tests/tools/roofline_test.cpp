// SPDX-License-Identifier: Apache-2.0
// How explain --measure prints the share of the machine's limits that a step reaches.
#include "tools/millrace/roofline.h"

#include <doctest/doctest.h>

using millrace::tool::share_text;

TEST_CASE("a share is of the nearer limit, and no share is above 100 %") {
  CHECK(share_text({10e9, 30e9}, {40e9, 60e9}) == "50 % of the peak, 60 GFLOP/s");
  CHECK(share_text({30e9, 30e9}, {40e9, 60e9}) == "75 % of the 40 GB/s that memory reaches at this size");
  CHECK(share_text({40.19e9, 0}, {40e9, 60e9}) == "100 % of the 40 GB/s that memory reaches at this size");
  CHECK(share_text({41e9, 0}, {40e9, 60e9}) ==
        "above the 40 GB/s that memory reaches at this size: a faster cache holds some of it, or the machine was busy "
        "when that was measured");
  CHECK(share_text({1e9, 66e9}, {40e9, 60e9}) ==
        "above the peak, 60 GFLOP/s: the machine was busy when that was measured");
}
