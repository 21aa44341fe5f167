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
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory_at(where);
  } catch (const std::length_error&) {
    return out_of_memory_at(where);
  }
}

}  // namespace millrace
