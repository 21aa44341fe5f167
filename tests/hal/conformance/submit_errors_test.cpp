// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"

namespace millrace {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

/// y[0, n) = 3 * x[offset, offset + n), with everything symbolic; sizes and bindings are given by each test.
struct Fixture {
  explicit Fixture(TestedDevice& on) : device(on) {
    images = {scale_on(device.target())};
    x = builder.input("x", 40);
    y = builder.output("y", Dim("y_bytes"));
    builder.dispatch(builder.kernel(images[0].info), Dim("groups"),
                     {builder.range(x, Dim("offset"), Dim("length")), builder.range(y, 0, 16)}, {3});
    recording = device.record(builder.list, device.load(images).value()).value();
    symbols = {{"y_bytes", 40}, {"groups", 4}, {"offset", 8}, {"length", 16}};
    bindings = {bind(in), bind(out)};
  }

  /// Every size is a constant or a symbol alone. Not evaluate(), which refuses what breaks a symbol's facts: the device
  /// must be safe without it.
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> values;
    for (const SizeExpr& size : builder.list.sizes) {
      values.push_back(size.is_constant() ? size.constant() : symbols.at(size.to_text()));
    }
    return values;
  }

  Status submit() { return device.submit(*recording, {.bindings = bindings, .sizes = sizes()}); }

  void expect(const std::string& message) {
    const Status status = submit();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() == message);
    CHECK(out == std::vector<std::uint32_t>(10));
  }

  TestedDevice& device;
  ListBuilder builder;
  std::vector<ExecutableImage> images;
  BindingIndex x{};
  BindingIndex y{};
  std::shared_ptr<Recording> recording;
  SymbolValues symbols;
  std::vector<std::uint32_t> in = std::vector<std::uint32_t>(10, 2);
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(10);
  std::vector<BufferBinding> bindings;
};

}  // namespace

TEST_CASE("device: the submission that the tests below break is valid") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    CHECK(f.submit().ok());
    CHECK(f.out == std::vector<std::uint32_t>{6, 6, 6, 6, 0, 0, 0, 0, 0, 0});
  });
}

TEST_CASE("device: a submission has as many bindings and sizes as the list") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    f.bindings.pop_back();
    f.expect("submit: 1 bindings, expected 2 like the command list");
    f.bindings.resize(3);
    f.expect("submit: 3 bindings, expected 2 like the command list");
    f.bindings = {bind(f.in), bind(f.out)};
    const std::vector<std::int64_t> sizes = f.sizes();
    const auto fewer = std::span(sizes).first(3);
    CHECK(device.submit(*f.recording, {.bindings = f.bindings, .sizes = fewer}).message() ==
          "submit: 3 sizes, expected 8 like the command list");
  });
}

TEST_CASE("device: a size that is a constant of the list is given as that constant") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    std::vector<std::int64_t> sizes = f.sizes();
    REQUIRE(sizes[0] == 40);
    sizes[0] = 4;
    const Status status = device.submit(*f.recording, {.bindings = f.bindings, .sizes = sizes});
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() ==
          "submit: size 0 is 4, expected 40 as in the command list; pass the values of the list's sizes");
  });
}

TEST_CASE("device: null is refused for a binding with a length") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    f.bindings[0] = {nullptr, 40};
    f.expect("submit: input 'x' is null, expected 40 bytes; bind memory to it");
    f.bindings[0] = {};
    f.expect("submit: input 'x' is null, expected 40 bytes; bind memory to it");
    f.bindings[0] = bind(f.in);
    f.bindings[1].data = nullptr;
    f.expect("submit: output 'y' is null, expected 40 bytes; bind memory to it");
  });
}

TEST_CASE("device: a binding has at least the length that is declared") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    f.bindings[0].size_bytes = 39;
    f.expect("submit: input 'x' has 39 bytes, expected at least 40; bind more memory to it");
    f.bindings[0].size_bytes = 40;
    f.symbols["y_bytes"] = 41;
    f.expect("submit: output 'y' has 40 bytes, expected at least 41; bind more memory to it");
    f.symbols["y_bytes"] = kMax;
    f.expect("submit: output 'y' has 40 bytes, expected at least 9223372036854775807; bind more memory to it");
  });
}

TEST_CASE("device: a declared length that evaluates to a negative number is refused") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    f.symbols["y_bytes"] = -1;
    f.expect(
        "submit: output 'y' has a length of -1 bytes, expected at least 0; bind the symbols of y_bytes within their "
        "facts");
  });
}

TEST_CASE("device: every range stays inside its binding, whatever the symbols are") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    const std::string where = "submit: command 0 (dispatch 'scale') buffer 0: ";
    const std::string what = " in input 'x', which has 40 bytes; bind symbols within their facts";
    const auto expect = [&](std::int64_t offset, std::int64_t length) {
      f.symbols["offset"] = offset;
      f.symbols["length"] = length;
      f.expect(where + "offset " + std::to_string(offset) + " and length " + std::to_string(length) + what);
    };
    expect(25, 16);
    expect(41, 0);
    expect(0, 41);
    expect(-1, 16);
    expect(8, -1);
    expect(kMax, kMax);
    expect(kMin, 16);
    expect(8, kMin);
    expect(kMax, 0);
    f.symbols["offset"] = 24;
    f.symbols["length"] = 16;
    CHECK(f.submit().ok());
  });
}

TEST_CASE("device: a constant range is checked against a binding whose length is symbolic") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    f.symbols["y_bytes"] = 15;
    f.expect(
        "submit: command 0 (dispatch 'scale') buffer 1: offset 0 and length 16 in output 'y', which has 15 bytes; bind "
        "symbols within their facts");
  });
}

TEST_CASE("device: the number of groups is at least 0, and gives at most 2^32 - 1 threads") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device);
    const std::string max_groups = std::to_string(0xffff'ffffu / f.images[0].info.workgroup_size);
    const auto expect = [&](std::int64_t groups) {
      f.symbols["groups"] = groups;
      f.expect("submit: command 0 (dispatch 'scale'): " + std::to_string(groups) + " groups, expected 0 to " +
               max_groups + "; bind symbols within their facts");
    };
    expect(-1);
    expect(4294967296);
    expect(kMin);
    expect(kMax);
  });
}

}  // namespace millrace
