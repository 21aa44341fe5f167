// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/status.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include <doctest/doctest.h>

namespace millrace {
namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return invalid_argument("half_of: " + std::to_string(value) + " is odd, expected an even value");
  return value / 2;
}

Status check_quarter(int value, int& quarter) {
  MILLRACE_TRY_ASSIGN(const int half, half_of(value));
  MILLRACE_TRY_ASSIGN(quarter, half_of(half));
  return {};
}

Status check_both(int a, int b) {
  MILLRACE_TRY(half_of(a).status());
  MILLRACE_TRY(half_of(b).status());
  return {};
}

/// What a child process that runs `f` writes to stderr before it aborts; empty when it does not abort.
template <class F>
std::string abort_message(F f) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int state = 0;
  waitpid(child, &state, 0);
  return WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT ? text : "";
}

}  // namespace

TEST_CASE("a successful status is one null pointer without a message") {
  const Status status;
  CHECK(status.ok());
  CHECK(status.code() == StatusCode::kOk);
  CHECK(status.message().empty());
  CHECK(sizeof(Status) == sizeof(void*));
  CHECK(Status(StatusCode::kOk, "dropped").ok());
}

TEST_CASE("each maker gives its code and keeps the message") {
  const std::pair<Status (*)(std::string), StatusCode> makers[] = {
      {invalid_argument, StatusCode::kInvalidArgument},
      {failed_precondition, StatusCode::kFailedPrecondition},
      {out_of_range, StatusCode::kOutOfRange},
      {not_found, StatusCode::kNotFound},
      {unimplemented, StatusCode::kUnimplemented},
      {resource_exhausted, StatusCode::kResourceExhausted},
      {unavailable, StatusCode::kUnavailable},
      {data_loss, StatusCode::kDataLoss},
      {cancelled, StatusCode::kCancelled},
      {deadline_exceeded, StatusCode::kDeadlineExceeded},
      {device_lost, StatusCode::kDeviceLost},
      {internal_error, StatusCode::kInternal},
  };
  for (const auto& [make, code] : makers) {
    const Status status = make("x: found 1, expected 2");
    CHECK(!status.ok());
    CHECK(status.code() == code);
    CHECK(status.message() == "x: found 1, expected 2");
  }
}

TEST_CASE("every code has its own text") {
  const std::pair<StatusCode, const char*> texts[] = {
      {StatusCode::kOk, "ok"},
      {StatusCode::kInvalidArgument, "invalid argument"},
      {StatusCode::kFailedPrecondition, "failed precondition"},
      {StatusCode::kOutOfRange, "out of range"},
      {StatusCode::kNotFound, "not found"},
      {StatusCode::kUnimplemented, "unimplemented"},
      {StatusCode::kResourceExhausted, "resource exhausted"},
      {StatusCode::kUnavailable, "unavailable"},
      {StatusCode::kDataLoss, "data loss"},
      {StatusCode::kCancelled, "cancelled"},
      {StatusCode::kDeadlineExceeded, "deadline exceeded"},
      {StatusCode::kDeviceLost, "device lost"},
      {StatusCode::kInternal, "internal error"},
  };
  for (const auto& [code, text] : texts) CHECK(to_text(code) == text);
}

TEST_CASE("a copied status is independent, a moved one leaves ok behind") {
  Status original = not_found("a.txt: no such file");
  Status copy = original;
  const Status moved = std::move(original);
  CHECK(original.ok());
  CHECK(copy.message() == "a.txt: no such file");
  CHECK(moved.message() == "a.txt: no such file");
  const Status& alias = copy;
  copy = alias;
  CHECK(copy.message() == "a.txt: no such file");
  copy = Status();
  CHECK(copy.ok());
  CHECK(moved.code() == StatusCode::kNotFound);
}

TEST_CASE("a result is its value") {
  Result<int> result = half_of(8);
  REQUIRE(result.ok());
  CHECK(result.status().ok());
  CHECK(*result == 4);
  CHECK(result.value() == 4);
  *result = 5;
  CHECK(std::as_const(result).value() == 5);
}

TEST_CASE("a result without a value gives its status, and throws it from value()") {
  Result<int> result = half_of(7);
  REQUIRE(!result.ok());
  CHECK(result.status().message() == "half_of: 7 is odd, expected an even value");
  CHECK_THROWS_WITH_AS(result.value(), "half_of: 7 is odd, expected an even value", StatusError);
  CHECK_THROWS_AS(std::as_const(result).value(), StatusError);
  CHECK_THROWS_AS(half_of(7).value(), StatusError);
  try {
    result.value();
  } catch (const StatusError& error) {
    CHECK(error.status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("the value of a temporary result lives as long as the reference that it is bound to") {
  static_assert(std::is_same_v<decltype(half_of(8).value()), int>);
  static_assert(std::is_same_v<decltype(*half_of(8)), int>);
  const auto make = [](char letter) -> Result<std::string> { return std::string(100, letter); };
  const auto& a = make('a').value();
  const auto& b = *make('b');
  CHECK(a == std::string(100, 'a'));
  CHECK(b == std::string(100, 'b'));
}

TEST_CASE("throw_if_error throws an error status, and does nothing for ok") {
  CHECK_NOTHROW(check_both(2, 4).throw_if_error());
  CHECK_NOTHROW(half_of(2).throw_if_error());
  CHECK_THROWS_WITH_AS(check_both(2, 5).throw_if_error(), "half_of: 5 is odd, expected an even value", StatusError);
  CHECK_THROWS_WITH_AS(half_of(5).throw_if_error(), "half_of: 5 is odd, expected an even value", StatusError);
  try {
    not_found("a.txt: no such file").throw_if_error();
  } catch (const StatusError& error) {
    CHECK(error.status().code() == StatusCode::kNotFound);
  }
}

TEST_CASE("a result moves a value that cannot be copied, and copies others") {
  Result<std::unique_ptr<int>> owner = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(owner);
  CHECK(*taken == 3);
  CHECK(half_of(6).value() == 3);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);

  const Result<std::string> text = std::string("abc");
  const Result<std::string> copy = text;
  CHECK(copy->size() == 3);
  CHECK(*text == *copy);
}

TEST_CASE("MILLRACE_TRY returns the first failure") {
  CHECK(check_both(2, 4).ok());
  CHECK(check_both(2, 5).message() == "half_of: 5 is odd, expected an even value");
  CHECK(check_both(3, 5).message() == "half_of: 3 is odd, expected an even value");
}

TEST_CASE("MILLRACE_TRY_ASSIGN declares or assigns the value, or returns the failure") {
  int quarter = 0;
  CHECK(check_quarter(12, quarter).ok());
  CHECK(quarter == 3);
  CHECK(check_quarter(6, quarter).message() == "half_of: 3 is odd, expected an even value");
  CHECK(quarter == 3);
}

TEST_CASE("a broken promise of ours prints place and condition and aborts, in every build") {
  const std::string text = abort_message([] { MILLRACE_CHECK(1 + 1 == 3); });
  CHECK(text.find("status_test.cpp:") != std::string::npos);
  CHECK(text.find(": millrace: internal check failed: 1 + 1 == 3\n") != std::string::npos);
  CHECK(abort_message([] { MILLRACE_CHECK(1 + 1 == 2); }).empty());
  CHECK(!abort_message([] { static_cast<void>(Result<int>(Status())); }).empty());
}

TEST_CASE("taking the value of an error prints that error and aborts") {
  const std::string message =
      "millrace: the value of a failed Result was used, invalid argument: half_of: 7 is odd, expected an even "
      "value; test ok() before, or call value(), which throws\n";
  Result<int> result = half_of(7);
  const Result<std::string> text = invalid_argument("half_of: 7 is odd, expected an even value");
  CHECK(abort_message([] { static_cast<void>(*half_of(7)); }) == message);
  CHECK(abort_message([&] { *result = 1; }) == message);
  CHECK(abort_message([&] { static_cast<void>(*std::as_const(result)); }) == message);
  CHECK(abort_message([&] { static_cast<void>(text->size()); }) == message);
}

TEST_CASE("control characters in a message are escaped, except line ends and tabs") {
  CHECK(not_found("input 'a\x1b[2Jb\x7f\r': no file\n\tx").message() == "input 'a\\x1b[2Jb\\x7f\\x0d': no file\n\tx");
}

}  // namespace millrace
