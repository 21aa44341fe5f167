// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/device_spec.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using Words = std::vector<std::string>;
using Options = std::vector<DeviceSpec::Option>;

std::string error(const std::string& text) {
  const Status status = DeviceSpec::parse(text).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  const std::string front = "device '" + text + "': ";
  const std::string back = "; say a driver and its options, such as cpu, cpu:avx2 or trace(cpu)";
  REQUIRE(status.message().starts_with(front));
  REQUIRE(status.message().ends_with(back));
  return status.message().substr(front.size(), status.message().size() - front.size() - back.size());
}

}  // namespace

TEST_CASE("a device is a driver, then words and options") {
  CHECK(DeviceSpec::parse("cpu").value() == DeviceSpec{.driver = "cpu"});
  CHECK(DeviceSpec::parse("hip:1").value() == DeviceSpec{.driver = "hip", .words = {"1"}});
  const DeviceSpec spec = DeviceSpec::parse("sim:gfx1100,seed=3,fast,x=").value();
  CHECK(spec.driver == "sim");
  CHECK(spec.words == Words{"gfx1100", "fast"});
  CHECK(spec.options == Options{{"seed", "3"}, {"x", ""}});
  CHECK(spec.inner.empty());
}

TEST_CASE("a wrapper has another device in parentheses") {
  const DeviceSpec spec = DeviceSpec::parse("trace(sim:gfx1100,seed=3)").value();
  CHECK(spec == DeviceSpec{.driver = "trace", .inner = "sim:gfx1100,seed=3"});
  CHECK(DeviceSpec::parse("trace(trace(cpu))").value().inner == "trace(cpu)");
}

TEST_CASE("only the first equals sign divides an option") {
  CHECK(DeviceSpec::parse("hip:path=/a=b").value().options == Options{{"path", "/a=b"}});
}

TEST_CASE("case and blanks are the driver's to judge") {
  CHECK(DeviceSpec::parse("CPU ").value().driver == "CPU ");
  CHECK(DeviceSpec::parse("cpu: avx2").value().words == Words{" avx2"});
}

TEST_CASE("the text of a device reads as the same device") {
  for (const std::string text : {"cpu", "cpu:avx2", "hip:0,1", "sim:gfx1100,seed=3", "x:a=1,b=2", "x:a=", "trace(cpu)",
                                 "trace(trace(sim:gfx90a,seed=7))"}) {
    const DeviceSpec spec = DeviceSpec::parse(text).value();
    CHECK(spec.to_text() == text);
    CHECK(DeviceSpec::parse(spec.to_text()).value() == spec);
  }
}

TEST_CASE("words come before options in the text, whatever their order was") {
  const DeviceSpec spec = DeviceSpec::parse("sim:seed=3,gfx1100").value();
  CHECK(spec.to_text() == "sim:gfx1100,seed=3");
  CHECK(DeviceSpec::parse(spec.to_text()).value() == spec);
}

TEST_CASE("a device without a driver is refused") {
  for (const char* text : {"", ":", ":avx2", "(cpu)", "()"}) CHECK(error(text) == "it has no driver");
}

TEST_CASE("an empty part is refused") {
  for (const char* text : {"cpu:", "cpu:,", "cpu:avx2,", "sim:,seed=3", "sim:a,,b"}) {
    CHECK(error(text) == "a part is empty");
  }
}

TEST_CASE("an option has a key, and each key once") {
  CHECK(error("sim:=3") == "'=3' has no key before its '='");
  CHECK(error("sim:gfx1100,=") == "'=' has no key before its '='");
  CHECK(error("sim:seed=1,gfx1100,seed=2") == "option 'seed' is given twice");
}

TEST_CASE("parentheses are not empty, and close at the end") {
  for (const char* text : {"trace(", "trace(cpu", "trace(cpu)x", "trace(cpu):avx2"}) {
    CHECK(error(text) == "its '(' is not closed at the end");
  }
  CHECK(error("trace()") == "nothing is between '(' and ')'");
}

}  // namespace millrace
