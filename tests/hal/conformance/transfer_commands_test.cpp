// SPDX-License-Identifier: Apache-2.0
// Upload and download commands: bytes between the host's memory and the device's.
#include <algorithm>
#include <functional>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {
namespace {

using Bytes = std::vector<std::uint8_t>;
using W = std::vector<std::uint32_t>;

Bytes counting(std::size_t count, std::uint8_t first = 1) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

constexpr BindingKind kIn = BindingKind::kInput, kOut = BindingKind::kOutput;

/// Both ways: host x to a transient, and from there to host y.
struct ThereAndBack {
  ThereAndBack(const SizeExpr& bytes) {
    const BindingIndex x = b.host("x", kIn, bytes), t = b.binding("t", BindingKind::kTransient, bytes);
    const BindingIndex y = b.host("y", kOut, bytes);
    b.upload(b.range(x, 0, bytes), b.range(t, 0, bytes));
    b.barrier();
    b.download(b.range(t, 0, bytes), b.range(y, 0, bytes));
  }
  ListBuilder b;
};

}  // namespace

TEST_CASE("device: bytes of any number go to the device and back") {
  on_every_device([](TestedDevice& device) {
    for (const std::size_t size : {1u, 2u, 3u, 7u, 63u, 64u, 65u, 1001u, 70'001u}) {
      CAPTURE(size);
      Bytes source = counting(size), found(size);
      const auto t = device.allocate(size).value();
      const ThereAndBack list(static_cast<std::int64_t>(size));
      REQUIRE(wait_for(Replay(device.raw(), list.b), {bind(source), t->binding(), bind(found)}).ok());
      CHECK(found == source);
    }
  });
}

TEST_CASE("device: an upload writes its range alone, from any offset to any offset") {
  on_every_device([](TestedDevice& device) {
    Bytes source = counting(20), found(20);
    const auto t = device.allocate(20).value();
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 20), y = b.host("y", kOut, 20), words = b.output("t", 20);
    b.fill(b.range(words, 0, 20), 0xee, 1);
    b.barrier();
    b.upload(b.range(x, 3, 5), b.range(words, 9, 5));
    b.barrier();
    b.download(b.range(words, 0, 20), b.range(y, 0, 20));
    REQUIRE(wait_for(Replay(device.raw(), b), {bind(source), bind(found), t->binding()}).ok());
    for (std::size_t i = 0; i < 20; ++i) CHECK(found[i] == (i >= 9 && i < 14 ? source[i - 6] : 0xee));
    CHECK(source == counting(20));
  });
}

TEST_CASE("device: a download writes its range alone, from any offset to any offset") {
  on_every_device([](TestedDevice& device) {
    Bytes source = counting(20), found(20, 0xdd);
    const auto t = device.allocate(20).value();
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 20), y = b.host("y", kOut, 20), words = b.output("t", 20);
    b.upload(b.range(x, 0, 20), b.range(words, 0, 20));
    b.barrier();
    b.download(b.range(words, 11, 6), b.range(y, 1, 6));
    REQUIRE(wait_for(Replay(device.raw(), b), {bind(source), bind(found), t->binding()}).ok());
    for (std::size_t i = 0; i < 20; ++i) CHECK(found[i] == (i >= 1 && i < 7 ? source[i + 10] : 0xdd));
  });
}

TEST_CASE("device: an upload, a dispatch on it and a download of its result are one list") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 16), y = b.host("y", kOut, 16);
    const BindingIndex t = b.binding("t", BindingKind::kTransient, 32);
    b.upload(b.range(x, 0, 16), b.range(t, 0, 16));
    b.barrier();
    b.dispatch(b.kernel(image.info), 4, {b.range(t, 0, 16), b.range(t, 16, 16)}, {7});
    b.barrier();
    b.download(b.range(t, 16, 16), b.range(y, 0, 16));
    W in{1, 2, 3, 4}, out(4);
    const auto transient = device.allocate(32).value();
    REQUIRE(wait_for(Replay(device.raw(), b, {image}), {bind(in), bind(out), transient->binding()}).ok());
    CHECK(out == W{7, 14, 21, 28});
  });
}

TEST_CASE("device: several uploads and downloads share their ends") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 8), y = b.host("y", kOut, 16);
    const BindingIndex s = b.output("s", 8), t = b.output("t", 8);
    b.upload(b.range(x, 0, 8), b.range(s, 0, 8));  // one source, two places
    b.upload(b.range(x, 4, 4), b.range(t, 0, 4));
    b.upload(b.range(x, 0, 4), b.range(t, 4, 4));
    b.barrier();
    b.download(b.range(t, 0, 8), b.range(y, 0, 8));  // one destination, apart
    b.download(b.range(s, 0, 8), b.range(y, 8, 8));
    W in{1, 2}, out(4);
    const Words first(device.raw(), {0, 0}), second(device.raw(), {0, 0});
    REQUIRE(wait_for(Replay(device.raw(), b), {bind(in), bind(out), first.binding(), second.binding()}).ok());
    CHECK(out == W{2, 1, 1, 2});
  });
}

TEST_CASE("device: transfers follow the sizes of each replay") {
  on_every_device([](TestedDevice& device) {
    const ThereAndBack list(Dim("n"));
    const Replay replay(device.raw(), list.b, {}, {{"n", 1}});
    const auto t = device.allocate(500).value();
    for (const std::int64_t n : {500, 3, 0, 77}) {
      CAPTURE(n);
      Bytes source = counting(static_cast<std::size_t>(n)), found(source.size());
      Replay sized = replay;
      sized.sizes = list.b.evaluate({{"n", n}});
      REQUIRE(wait_for(sized, {bind(source), t->binding(), bind(found)}).ok());
      CHECK(found == source);
    }
  });
}

TEST_CASE("device: nothing is moved from and to null") {
  on_every_device([](TestedDevice& device) {
    const ThereAndBack list(0);
    CHECK(wait_for(Replay(device.raw(), list.b), {{}, {}, {}}).ok());
  });
}

TEST_CASE("device: host memory may stand at an odd address") {
  on_every_device([](TestedDevice& device) {
    Bytes source = counting(18), found(18);
    const auto t = device.allocate(16).value();
    const ThereAndBack list(16);
    REQUIRE(
        wait_for(Replay(device.raw(), list.b), {{source.data() + 1, 16}, t->binding(), {found.data() + 1, 16}}).ok());
    CHECK(found.front() == 0);
    CHECK(found.back() == 0);
    CHECK(std::equal(found.begin() + 1, found.end() - 1, source.begin() + 1));
  });
}

TEST_CASE("device: an upload reads the host's memory when it runs, not when it is submitted") {
  on_every_device([](TestedDevice& device) {
    const ThereAndBack list(4);
    const Replay replay(device.raw(), list.b);
    const auto t = device.allocate(4).value();
    W source{1}, found(1);
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    REQUIRE(replay.submit({bind(source), t->binding(), bind(found)}, {{gate, 1}}, {{done, 1}}).ok());
    CHECK(found[0] == 0);
    source[0] = 2;
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).ok());
    CHECK(found[0] == 2);
  });
}

TEST_CASE("device: the next submissions see uploaded bytes") {
  on_every_device([](TestedDevice& device) {
    ListBuilder up, down;
    const BindingIndex x = up.host("x", kIn, 4), to = up.output("t", 4);
    up.upload(up.range(x, 0, 4), up.range(to, 0, 4));
    const BindingIndex from = down.input("t", 4), y = down.host("y", kOut, 4);
    down.download(down.range(from, 0, 4), down.range(y, 0, 4));
    const Replay first(device.raw(), up), second(device.raw(), down);
    W in{41}, out(1);
    const Words words(device.raw(), {0});
    const auto done = timeline(device.raw());
    REQUIRE(first.submit({bind(in), words.binding()}, {}, {{done, 1}}).ok());
    REQUIRE(second.submit({words.binding(), bind(out)}, {{done, 1}}, {{done, 2}}).ok());
    REQUIRE(done->wait(2).ok());
    CHECK(out[0] == 41);
  });
}

TEST_CASE("device: a list that confuses the host's memory with the device's is not recorded") {
  struct Case {
    std::function<void(ListBuilder&, const BufferRange& host, const BufferRange& device)> add;
    const char* message;
  };
  const Case cases[] = {
      {[](ListBuilder& b, auto& host, auto&) { b.fill(host, 0, 1); },
       "command 0 (fill) destination: output 'h' is host memory, expected device memory"},
      {[](ListBuilder& b, auto& host, auto& device) { b.copy(host, device); },
       "command 0 (copy) source: output 'h' is host memory, expected device memory"},
      {[](ListBuilder& b, auto& host, auto& device) { b.copy(device, host); },
       "command 0 (copy) destination: output 'h' is host memory, expected device memory"},
      {[](ListBuilder& b, auto& host, auto& device) { b.upload(device, host); },
       "command 0 (upload) source: output 'd' is device memory, expected host memory\n"
       "command 0 (upload) destination: output 'h' is host memory, expected device memory"},
      {[](ListBuilder& b, auto& host, auto& device) { b.download(host, device); },
       "command 0 (download) source: output 'h' is host memory, expected device memory\n"
       "command 0 (download) destination: output 'd' is device memory, expected host memory"},
      {[](ListBuilder& b, auto& host, auto& device) {
         b.dispatch(b.kernel({.name = "k", .num_buffers = 2, .buffer_is_written = {false, true}}), 1, {host, device});
       },
       "command 0 (dispatch 'k') buffer 0: output 'h' is host memory, expected device memory"},
      {[](ListBuilder& b, auto& host, auto& device) {
         b.dispatch(b.kernel({.name = "k", .num_buffers = 2, .buffer_is_written = {false, true}}), 1, {device, host});
       },
       "command 0 (dispatch 'k') buffer 1: output 'h' is host memory, expected device memory"},
  };
  on_every_device([&](TestedDevice& device) {
    for (const Case& c : cases) {
      ListBuilder b;
      const BindingIndex host = b.host("h", kOut, 8), own = b.output("d", 8);
      c.add(b, b.range(host, 0, 8), b.range(own, 0, 8));
      CHECK(device.raw().record(b.list, nullptr).status().message() == c.message);
    }
  });
}

TEST_CASE("device: a transfer between unequal lengths is not recorded") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 8), t = b.output("t", 8);
    b.upload(b.range(x, 0, 8), b.range(t, 0, 4));
    CHECK(device.raw().record(b.list, nullptr).status().message() ==
          "command 0 (upload): 8 bytes from the source, 4 to the destination, expected equal lengths");
  });
}

TEST_CASE("device: a download to an input of the host's, or an upload to a constant, is not recorded") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 4), t = b.binding("t", BindingKind::kConstant, 4);
    b.download(b.range(t, 0, 4), b.range(x, 0, 4));
    b.barrier();
    b.upload(b.range(x, 0, 4), b.range(t, 0, 4));
    CHECK(device.raw().record(b.list, nullptr).status().message() ==
          "command 0 (download) destination: writes input 'x', expected an output or a transient\n"
          "command 2 (upload) destination: writes constant 't', expected an output or a transient");
  });
}

TEST_CASE("device: a transfer without a barrier before a command that needs it is not recorded") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    const BindingIndex x = b.host("x", kIn, 8), y = b.host("y", kOut, 8), t = b.output("t", 8);
    b.upload(b.range(x, 0, 8), b.range(t, 0, 8));
    b.download(b.range(t, 4, 4), b.range(y, 0, 4));
    CHECK(device.raw().record(b.list, nullptr).status().message() ==
          "command 1 (download) source: reads output 't' at [4, 8), which command 0 (upload) destination writes at "
          "[0, 8); put a barrier between them");
  });
}

TEST_CASE("device: a buffer is refused where host memory is declared, also one that the host addresses") {
  on_every_device([](TestedDevice& device) {
    const ThereAndBack list(4);
    const Words words(device.raw(), {1}), t(device.raw(), {2});
    W found(1);
    const Status status = Replay(device.raw(), list.b).submit({words.binding(), t.binding(), bind(found)});
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() == "submit: input 'x' is a buffer, expected host memory; bind a host address");
  });
}

TEST_CASE("device: host memory that is null or too short is refused") {
  on_every_device([](TestedDevice& device) {
    const ThereAndBack list(8);
    const Replay replay(device.raw(), list.b);
    const Words t(device.raw(), {1, 2});
    W memory(2);
    CHECK(replay.submit({{nullptr, 8}, t.binding(), bind(memory)}).message() ==
          "submit: input 'x' is null, expected 8 bytes; bind memory to it");
    CHECK(replay.submit({bind(memory), t.binding(), {memory.data(), 7}}).message() ==
          "submit: output 'y' has 7 bytes, expected at least 8; bind more memory to it");
  });
}

TEST_CASE("device: a failed list downloads nothing after its failure") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = fail_index_on(device.target());
    ListBuilder b;
    const BindingIndex t = b.input("t", 4), y = b.host("y", kOut, 4);
    b.dispatch(b.kernel(image.info), 1, {});
    b.barrier();
    b.download(b.range(t, 0, 4), b.range(y, 0, 4));
    const Words words(device.raw(), {8});
    W out{3};
    CHECK(!wait_for(Replay(device.raw(), b, {image}), {words.binding(), bind(out)}).ok());
    CHECK(out[0] == 3);
  });
}

}  // namespace millrace
