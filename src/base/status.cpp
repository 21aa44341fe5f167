// SPDX-License-Identifier: Apache-2.0
// Status, and the messages that a broken invariant or a misused Result prints before the process ends.
#include "millrace/base/status.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "millrace/base/printable.h"

namespace millrace {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: millrace: internal check failed: %s\n", file, line, condition);
  std::abort();
}

void value_missing(const Status& error) {
  const std::string_view code = to_text(error.code());
  std::fprintf(stderr,
               "millrace: the value of a failed Result was used, %.*s: %s; test ok() before, or call value(), "
               "which throws\n",
               static_cast<int>(code.size()), code.data(), error.message().c_str());
  std::abort();
}

void Status::throw_if_error() const {
  if (!ok()) throw StatusError(*this);
}

std::string_view to_text(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kFailedPrecondition:
      return "failed precondition";
    case StatusCode::kOutOfRange:
      return "out of range";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kUnimplemented:
      return "unimplemented";
    case StatusCode::kResourceExhausted:
      return "resource exhausted";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kDataLoss:
      return "data loss";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kDeadlineExceeded:
      return "deadline exceeded";
    case StatusCode::kDeviceLost:
      return "device lost";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message) noexcept {
  if (code == StatusCode::kOk) return;
  try {
    detail_ = new Detail{code, printable_message(message)};
  } catch (const std::bad_alloc&) {
    *this = out_of_memory();
  }
}

Status Status::out_of_memory() noexcept {
  // The text fits the string's inline storage, so nothing is allocated. The first reference is never released, so the
  // Detail is never destroyed.
  alignas(Detail) static std::byte storage[sizeof(Detail)];
  static Detail* const detail = new (storage) Detail{StatusCode::kResourceExhausted, "out of memory"};
  Status status;
  status.detail_ = detail;
  status.retain();
  return status;
}

void Status::release() noexcept {
  if (detail_->num_owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete detail_;
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return detail_ ? detail_->message : kEmpty;
}

Status invalid_argument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
Status failed_precondition(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }
Status out_of_range(std::string message) { return {StatusCode::kOutOfRange, std::move(message)}; }
Status not_found(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
Status unimplemented(std::string message) { return {StatusCode::kUnimplemented, std::move(message)}; }
Status resource_exhausted(std::string message) { return {StatusCode::kResourceExhausted, std::move(message)}; }
Status unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
Status cancelled(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }
Status deadline_exceeded(std::string message) { return {StatusCode::kDeadlineExceeded, std::move(message)}; }
Status device_lost(std::string message) { return {StatusCode::kDeviceLost, std::move(message)}; }
Status data_loss(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }
Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

}  // namespace millrace
