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

/// "compile: out of memory; free memory, or ask for less"; Status::out_of_memory() if the message cannot be allocated.
Status out_of_memory(std::string_view where) noexcept;

/// Call it in the std::bad_alloc handler of a public function that the library also calls itself. Inside an outer
/// guard, which knows more about the place, it rethrows; otherwise it returns out_of_memory(where). A function that
/// calls others of this kind must first create its own InsideGuard.
Status out_of_memory_outside_guards(std::string_view where);

/// Marks this thread as inside a guard while it lives.
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

/// `where` is text, or a function that returns text.
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

/// Runs `body`, which returns a Status or a Result. Every public entry point uses it: running out of memory, or asking
/// a container for more elements than it can hold, returns kResourceExhausted instead of throwing. `where` begins the
/// message: text, or a function returning text that is called only on failure.
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
