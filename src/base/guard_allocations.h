// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "millrace/base/status.h"

namespace millrace {

// Each public function that allocates runs its body in guard_allocations(). Internal functions let std::bad_alloc pass,
// unless nobody could catch it: on a thread of the library, in a callback, in a destructor.

/// Runs `body`, which returns a Status or a Result. Running out of memory, or asking a container for more elements than
/// it can hold, returns Status::out_of_memory() instead of throwing.
template <class Body>
std::invoke_result_t<Body> guard_allocations(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory();
  } catch (const std::length_error&) {
    return Status::out_of_memory();
  }
}

/// "npy 'w.npy': out of memory; free memory, or ask for less"; Status::out_of_memory() if there is no memory for that.
Status out_of_memory(std::string_view where) noexcept;

/// Whether the status is Status::out_of_memory(), which does not say where memory ran out.
bool is_plain_out_of_memory(const Status&);
template <class T>
bool is_plain_out_of_memory(const Result<T>& result) {
  return !result.ok() && is_plain_out_of_memory(result.status());
}

/// Undoes the guard of a public function, for internal callers that treat its other failures differently: throws
/// std::bad_alloc for Status::out_of_memory().
template <class Returned>
Returned unguarded(Returned returned) {
  if (is_plain_out_of_memory(returned)) throw std::bad_alloc();
  return returned;
}

/// Guards a body whose caller cannot tell what needed the memory, such as one of many files or kernels. The message
/// begins with `where`: text, or a function that returns text and is called only on failure. If guards are nested, the
/// message has the innermost `where`.
template <class Where, class Body>
std::invoke_result_t<Body> guard_allocations(const Where& where, Body&& body) {
  std::invoke_result_t<Body> returned = guard_allocations(body);
  if (!is_plain_out_of_memory(returned)) return returned;
  return guard_allocations([&]() -> Status {
    if constexpr (std::convertible_to<const Where&, std::string_view>) {
      return out_of_memory(where);
    } else {
      return out_of_memory(where());
    }
  });
}

}  // namespace millrace
