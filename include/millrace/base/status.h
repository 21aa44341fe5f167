// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "millrace/base/check.h"

namespace millrace {

enum class StatusCode : unsigned char {
  kOk,
  kInvalidArgument,     // an argument that is wrong at any time
  kFailedPrecondition,  // a valid call at the wrong time
  kOutOfRange,          // an index found out of range at run time, such as a gather index
  kNotFound,            // a file, a device or a name
  kUnimplemented,       // no algorithm or generator accepts the request; the message lists each refusal
  kResourceExhausted,   // out of memory, or over a limit of the target
  kUnavailable,         // a driver or module is missing, or a file cannot be written
  kDataLoss,            // a file is damaged or cannot be read
  kCancelled,           // the caller cancelled it
  kDeadlineExceeded,    // a time limit passed; the work may still finish later
  kDeviceLost,          // the device is gone until the process ends
  kInternal,            // a bug in Millrace: please report it
};

std::string_view to_text(StatusCode);

/// Success, or a code and a message. A message reads "where: found, expected; what to do". Control characters in it
/// (from names in files) are escaped (printable.h). A successful Status is one null pointer. Copies share the code and
/// the message, so copying allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// Becomes out_of_memory() if there is no memory for the message.
  Status(StatusCode code, std::string message) noexcept;
  Status(const Status& other) noexcept : detail_(other.detail_) { retain(); }
  Status& operator=(const Status& other) noexcept { return *this = Status(other); }
  Status(Status&& other) noexcept : detail_(std::exchange(other.detail_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(detail_, other.detail_);
    return *this;
  }
  ~Status() {
    if (detail_ != nullptr) release();
  }

  /// kResourceExhausted, "out of memory". Allocates nothing.
  static Status out_of_memory() noexcept;

  bool ok() const { return detail_ == nullptr; }
  StatusCode code() const { return detail_ ? detail_->code : StatusCode::kOk; }
  /// Empty when ok.
  const std::string& message() const;
  /// Throws StatusError unless ok. Not inline, because code that is compiled without exceptions also includes this
  /// header.
  void throw_if_error() const;

 private:
  struct Detail {
    StatusCode code;
    std::string message;
    std::atomic<std::uint32_t> num_owners = 1;
  };
  void retain() const noexcept {
    if (detail_ != nullptr) detail_->num_owners.fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept;

  Detail* detail_ = nullptr;  // immutable except for the owner count
};

Status invalid_argument(std::string message);
Status failed_precondition(std::string message);
Status out_of_range(std::string message);
Status not_found(std::string message);
Status unimplemented(std::string message);
Status resource_exhausted(std::string message);
Status unavailable(std::string message);
Status cancelled(std::string message);
Status deadline_exceeded(std::string message);
Status device_lost(std::string message);
Status data_loss(std::string message);
Status internal_error(std::string message);

/// Thrown only by Result::value() and Status::throw_if_error(): the one exception that crosses the public API, because
/// the caller asked for it.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// Prints the error on stderr and aborts.
[[noreturn]] void value_missing(const Status& error);

/// A T, or the Status that says why there is none. On a temporary Result, value() returns the T itself, not a
/// reference, so `const auto& file = Safetensors::read(path).value();` does not dangle.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {
    MILLRACE_CHECK(!std::get<1>(state_).ok());
  }

  /// Accepts anything that converts to T.
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_convertible_v<U, Status>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  /// Precondition: ok(). Otherwise prints the error and aborts.
  T& operator*() & {
    if (!ok()) value_missing(std::get<1>(state_));
    return std::get<0>(state_);
  }
  const T& operator*() const& {
    if (!ok()) value_missing(std::get<1>(state_));
    return std::get<0>(state_);
  }
  T operator*() && {
    if (!ok()) value_missing(std::get<1>(state_));
    return std::get<0>(std::move(state_));
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  /// The value; throws StatusError if there is none.
  T& value() & {
    throw_if_error();
    return std::get<0>(state_);
  }
  const T& value() const& {
    throw_if_error();
    return std::get<0>(state_);
  }
  T value() && {
    throw_if_error();
    return std::get<0>(std::move(state_));
  }
  /// Throws StatusError unless ok; for callers that do not need the value.
  void throw_if_error() const {
    if (!ok()) std::get<1>(state_).throw_if_error();
  }

 private:
  std::variant<T, Status> state_;
};

}  // namespace millrace

#define MILLRACE_CONCAT_INNER(a, b) a##b
#define MILLRACE_CONCAT(a, b) MILLRACE_CONCAT_INNER(a, b)

/// Returns the Status of `expression` from the enclosing function unless it is ok.
#define MILLRACE_TRY(expression)                                                                          \
  do {                                                                                                    \
    if (::millrace::Status millrace_status = (expression); !millrace_status.ok()) return millrace_status; \
  } while (false)

/// `MILLRACE_TRY_ASSIGN(auto x, f());` declares x from the value of a Result, or returns its Status.
#define MILLRACE_TRY_ASSIGN(declaration, expression) \
  MILLRACE_TRY_ASSIGN_INNER(MILLRACE_CONCAT(millrace_result_, __COUNTER__), declaration, expression)
#define MILLRACE_TRY_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.status();                        \
  declaration = *std::move(result)
