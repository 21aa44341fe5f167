// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace {

inline constexpr int kPageBytes = 4096;  // on every x86-64 system

template <class Integer>
constexpr Integer round_up_to_page(Integer bytes) {
  return (bytes + Integer{kPageBytes} - 1) / Integer{kPageBytes} * Integer{kPageBytes};
}

}  // namespace millrace
