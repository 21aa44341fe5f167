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

TEST_CASE("a guarded call says where memory ran out, with a text that is made only then") {
  bool is_text_made = false;
  const auto where = [&] {
    is_text_made = true;
    return std::string("test: tensor '%x' of 8 bytes");
  };
  CHECK(guard_allocations(where, [] { return Status(); }).ok());
  CHECK_FALSE(is_text_made);
  const auto body = []() -> Result<int> { throw std::bad_alloc(); };
  CHECK(guard_allocations(where, body).status().code() == StatusCode::kResourceExhausted);
  CHECK(guard_allocations(where, body).status().message() ==
        "test: tensor '%x' of 8 bytes: out of memory; free memory, or ask for less");
  const auto too_long = []() -> Status {
    std::vector<char>().reserve(SIZE_MAX);
    return {};
  };
  CHECK(guard_allocations("test", too_long).message() == "test: out of memory; free memory, or ask for less");
}

TEST_CASE("a guarded call that finds no memory for its text either says only 'out of memory'") {
  for (std::uint64_t n = 0; n < 3; ++n) {
    Status status;
    {
      const FailingAllocation failing(n, Failing::kAllFromThere);
      status = guard_allocations([] { return std::string("a place whose name is long enough for the heap"); },
                                 []() -> Status { throw std::bad_alloc(); });
    }
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == "out of memory");
  }
}

}  // namespace
}  // namespace millrace
