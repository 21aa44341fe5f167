// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/callback.h"

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using millrace::Callback;

TEST_CASE("a callback is empty, or calls the function that it was made from") {
  Callback<int, const std::string&> callback;
  CHECK_FALSE(callback);
  std::string told;
  callback = [&](int number, const std::string& text) { told += std::to_string(number) + text; };
  REQUIRE(callback);
  callback(1, "a");
  const Callback<int, const std::string&> copy = callback;
  callback = {};
  CHECK_FALSE(callback);
  copy(2, "b");
  CHECK(told == "1a2b");
}

TEST_CASE("copies of a callback share its function, which is destroyed with the last copy") {
  const auto held = std::make_shared<int>(0);
  {
    Callback<std::string_view> first = [held](std::string_view text) mutable {
      *held += static_cast<int>(text.size());
    };
    Callback<std::string_view> second = first;
    first = {};
    CHECK(held.use_count() == 2);
    second("abc");
  }
  CHECK(*held == 3);
  CHECK(held.use_count() == 1);
}
