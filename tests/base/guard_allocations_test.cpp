// SPDX-License-Identifier: Apache-2.0
#include "base/guard_allocations.h"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/allocation_count.h"

namespace millrace {
namespace {

TEST_CASE("an error is copied and passed on without an allocation, and outlives the first of its kind") {
  auto first = std::make_unique<Status>(not_found("a message that is longer than a string holds inline"));
  const std::uint64_t before = num_allocations();
  Status copy = *first;
  Status other;
  other = copy;
  const Status& same = copy;
  copy = same;
  const bool allocated = num_allocations() != before;
  CHECK_FALSE(allocated);
  first.reset();
  CHECK(copy.message() == "a message that is longer than a string holds inline");
  copy = Status();
  CHECK(copy.ok());
  CHECK(other.code() == StatusCode::kNotFound);
  CHECK(other.message() == "a message that is longer than a string holds inline");
}

TEST_CASE("an error that finds no memory becomes an out-of-memory error") {
  std::string message = "a message that is longer than a string holds inline";
  Status status;
  {
    const FailingAllocation failing(0);
    status = not_found(std::move(message));
  }
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.message() == "out of memory");
}

Status run_out() { throw std::bad_alloc(); }
std::string unused_text() { throw std::logic_error("asked for a text that nothing needs"); }

TEST_CASE("a guarded call returns that memory ran out") {
  CHECK(guard_allocations([] { return Status(); }).ok());
  CHECK(guard_allocations([]() -> Result<int> { return 7; }).value() == 7);
  CHECK(guard_allocations(run_out).code() == StatusCode::kResourceExhausted);
  CHECK(guard_allocations(run_out).message() == "out of memory");
  const auto too_long = []() -> Result<int> {
    std::vector<char>().reserve(SIZE_MAX);
    return 7;
  };
  CHECK(guard_allocations(too_long).status().message() == "out of memory");
}

TEST_CASE("a guarded call says what needed the memory, with a text that is made only then") {
  const auto where = [] { return std::string("test: tensor '%x' of 8 bytes"); };
  CHECK(guard_allocations(unused_text, [] { return Status(); }).ok());
  CHECK(guard_allocations(unused_text, [] { return not_found("another failure"); }).message() == "another failure");
  CHECK(guard_allocations(where, []() -> Result<int> { return run_out(); }).status().message() ==
        "test: tensor '%x' of 8 bytes: out of memory; free memory, or ask for less");
  CHECK(guard_allocations("test", run_out).message() == "test: out of memory; free memory, or ask for less");
}

TEST_CASE("of nested guarded calls, the innermost that says what needed the memory counts") {
  const auto inner = [] { return guard_allocations(run_out); };
  const auto middle = [&] { return guard_allocations("middle", inner); };
  CHECK(guard_allocations(unused_text, middle).message() == "middle: out of memory; free memory, or ask for less");
}

TEST_CASE("an internal caller can undo the guard of a function") {
  CHECK_THROWS_AS((void)unguarded(guard_allocations(run_out)), std::bad_alloc);
  CHECK(unguarded(Status()).ok());
  CHECK(unguarded(not_found("another failure")).message() == "another failure");
  CHECK(unguarded(Result<int>(7)).value() == 7);
}

TEST_CASE("a guarded call that finds no memory for its text either says only 'out of memory'") {
  for (std::uint64_t n = 0; n < 3; ++n) {
    Status status;
    {
      const FailingAllocation failing(n, Failing::kAllFromThere);
      status = guard_allocations([] { return std::string("a place whose name is long enough for the heap"); }, run_out);
    }
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == "out of memory");
  }
}

}  // namespace
}  // namespace millrace
