// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/bit_order.h"

#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

/// The old numbers of the lanes of both vectors.
std::vector<int> sources(BitOrder order, int num_lanes) {
  std::vector<int> numbers;
  for (int number = 0; number < 2 * num_lanes; ++number) numbers.push_back(order.source(number));
  return numbers;
}

TEST_CASE("orders of bits are those of the instructions that regroup lanes") {
  CHECK(sources(BitOrder::interleaved(4), 4) == std::vector{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(sources(BitOrder::exchanged(4, 0), 4) == std::vector{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(sources(BitOrder::exchanged(4, 1), 4) == std::vector{0, 1, 4, 5, 2, 3, 6, 7});
  // vpunpckldq and vpunpckhdq, within blocks of four lanes; vshufps takes the even or the odd lanes.
  CHECK(sources(BitOrder::rotated_up(8, 0, 2), 8) == std::vector{0, 8, 1, 9, 4, 12, 5, 13, 2, 10, 3, 11, 6, 14, 7, 15});
  CHECK(sources(BitOrder::rotated_down(8, 0, 2), 8) ==
        std::vector{0, 2, 8, 10, 4, 6, 12, 14, 1, 3, 9, 11, 5, 7, 13, 15});
}

TEST_CASE("an order lists the bits at its places, and a rotation down undoes one up") {
  const std::vector<int> bits = {2, 0, 3, 1};
  const BitOrder order(bits);
  for (int place = 0; place < 4; ++place) CHECK(order.bit_at(place) == bits[static_cast<std::size_t>(place)]);
  CHECK(BitOrder(order.digits()) == order);
  for (int first = 0; first < 4; ++first) {
    for (int end = first + 1; end <= 4; ++end) {
      const BitOrder up = BitOrder::rotated_up(16, first, end), down = BitOrder::rotated_down(16, first, end);
      for (int number = 0; number < 32; ++number) CHECK(up.source(down.source(number)) == number);
    }
  }
}

}  // namespace
}  // namespace millrace
