// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "millrace/base/status.h"

namespace millrace {

/// "compile: out of memory; free memory, or ask for less", or Status::out_of_memory() when there is none for that.
Status out_of_memory(std::string_view where) noexcept;

/// For the handler of std::bad_alloc of a public function that the library calls too, inside of guards that know more
/// of the place: there the exception goes on to them, elsewhere this is out_of_memory(where). Such a function makes an
/// InsideGuard of its own first, if it calls others of its kind.
Status out_of_memory_outside_guards(std::string_view where);

/// While it lives, this thread is inside of a guard.
class InsideGuard {
 public:
  InsideGuard() { ++depth_; }
  InsideGuard(const InsideGuard&) = delete;
  InsideGuard& operator=(const InsideGuard&) = delete;
  ~InsideGuard() { --depth_; }
  static bool is_any() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

/// `where` is text, or a function that makes it.
template <class Where>
Status out_of_memory_at(const Where& where) noexcept {
  if constexpr (std::convertible_to<const Where&, std::string_view>) {
    return out_of_memory(where);
  } else {
    try {
      return out_of_memory(where());
    } catch (const std::bad_alloc&) {
      return Status::out_of_memory();
    }
  }
}

/// What `body` returns, a Status or a Result. Every public entry runs in one: when there is no memory, or a container
/// is asked for more elements than there can be, that is kResourceExhausted and no exception. `where` begins the
/// message: text, or a function that makes it, called only then.
template <class Where, class Body>
std::invoke_result_t<Body> guard_allocations(const Where& where, Body&& body) {
  try {
    const InsideGuard inside;
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory_at(where);
  } catch (const std::length_error&) {
    return out_of_memory_at(where);
  }
}

}  // namespace millrace
