// SPDX-License-Identifier: Apache-2.0
// Memory that moves between host and device, and memory that the application owns.
#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/hip_calls.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

W count_from(std::uint32_t first, std::size_t num_words) {
  W words(num_words);
  std::iota(words.begin(), words.end(), first);
  return words;
}

/// Host -> device -> host, in one submission.
struct Loop {
  Loop(Device& device, std::int64_t num_bytes) : replay(device, make(num_bytes)) {}
  static ListBuilder make(std::int64_t num_bytes) {
    ListBuilder b;
    const BindingIndex in = b.host("in", BindingKind::kInput, num_bytes);
    const BindingIndex out = b.host("out", BindingKind::kOutput, num_bytes);
    const BindingIndex x = b.binding("x", BindingKind::kTransient, num_bytes);
    b.upload(b.range(in, 0, num_bytes), b.range(x, 0, num_bytes));
    b.barrier();
    b.download(b.range(x, 0, num_bytes), b.range(out, 0, num_bytes));
    return b;
  }
  std::vector<BufferBinding> bind(W& in, W& out, const Buffer& x) const {
    return {{.data = in.data(), .size_bytes = 4 * in.size()},
            {.data = out.data(), .size_bytes = 4 * out.size()},
            x.binding()};
  }
  Replay replay;
};

}  // namespace

TEST_CASE("hip: large transfers go through two pinned blocks, piece by piece, and small ones as a whole") {
  for (const std::size_t num_words : {1u, 1000u, 1024u, 1025u, 2048u, 5000u}) {
    CAPTURE(num_words);
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
      const HipStandin standin({.seed = seed, .eagerness = hip_standin::Eagerness::kMixed});
      const auto device = standin.open({.staging_bytes = 4096}).value();
      const auto x = device->allocate(4 * num_words).value();
      const Loop loop(*device, static_cast<std::int64_t>(4 * num_words));
      W in = count_from(7, num_words), out(num_words);
      REQUIRE(wait_for(loop.replay, loop.bind(in, out, *x)).ok());
      CHECK(out == in);
      std::uint64_t largest_copy = 0;
      for (const hip_standin::Call& call : standin.control.calls()) {
        if (call.entry == "hipMemcpyAsync") largest_copy = std::max(largest_copy, call.bytes);
      }
      CHECK(largest_copy <= 4096);
    }
  }
}

TEST_CASE("hip: several concurrent large transfers take turns") {
  const HipStandin standin({.seed = 5, .eagerness = hip_standin::Eagerness::kMixed});
  const auto device = standin.open({.staging_bytes = 4096}).value();
  constexpr std::size_t kWords = 3000;
  const Loop loop(*device, 4 * kWords);
  std::vector<W> in, out;
  std::vector<std::shared_ptr<Buffer>> x;
  std::vector<Timepoint> ends;
  for (std::uint32_t i = 0; i < 5; ++i) {
    in.push_back(count_from(1000 * i, kWords));
    out.emplace_back(kWords);
    x.push_back(device->allocate(4 * kWords).value());
    ends.push_back({timeline(*device), 1});
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    REQUIRE(loop.replay.submit(loop.bind(in[i], out[i], *x[i]), {}, {ends[i]}).ok());
  }
  for (const Timepoint& end : ends) REQUIRE(end.wait().ok());
  CHECK(out == in);
}

TEST_CASE("hip: an upload from memory that an earlier submission downloads to waits for that download") {
  for (const std::int64_t num_words : {4, 3000}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const HipStandin standin({.seed = seed});
      const auto device = standin.open({.staging_bytes = 4096}).value();
      const auto n = static_cast<std::size_t>(num_words);
      const Loop loop(*device, 4 * num_words);
      const auto x = device->allocate(4 * n).value(), y = device->allocate(4 * n).value();
      W first = count_from(1, n), middle(n), last(n);
      const auto turn = timeline(*device);
      REQUIRE(loop.replay.submit(loop.bind(first, middle, *x), {}, {{turn, 1}}).ok());
      REQUIRE(loop.replay.submit(loop.bind(middle, last, *y), {{turn, 1}}, {{turn, 2}}).ok());
      REQUIRE(turn->wait(2).ok());
      CHECK(last == first);
    }
  }
}

TEST_CASE("hip: downloads to the same memory of the host end in the order of their submissions") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const HipStandin standin({.seed = seed});
    const auto device = standin.open({.num_streams = 1, .staging_bytes = 4096}).value();
    const auto download_of = [&](std::int64_t num_bytes) {
      ListBuilder b;
      const BindingIndex x = b.input("x", num_bytes), out = b.host("out", BindingKind::kOutput, num_bytes);
      b.download(b.range(x, 0, num_bytes), b.range(out, 0, num_bytes));
      return Replay(*device, b);
    };
    const Replay small = download_of(256), large = download_of(8000);
    const W first = count_from(1, 64), second = count_from(5000, 2000);
    const Words x(*device, first), y(*device, second);
    W out(2000);
    const auto turn = timeline(*device);
    standin.control.hold_commands(true);
    REQUIRE(small.submit({x.binding(), {.data = out.data(), .size_bytes = 256}}, {}, {{turn, 1}}).ok());
    REQUIRE(large.submit({y.binding(), {.data = out.data(), .size_bytes = 8000}}, {{turn, 1}}, {{turn, 2}}).ok());
    standin.control.hold_commands(false);
    standin.control.run_all();
    REQUIRE(turn->wait(2).ok());
    CHECK(out == second);
  }
}

TEST_CASE("hip: a list that uploads what it downloads is refused, because the host has the data only at the end") {
  const HipStandin standin;
  const auto device = standin.open().value();
  ListBuilder b;
  const BindingIndex x = b.input("x", 16), y = b.output("y", 16);
  const BindingIndex to = b.host("to", BindingKind::kOutput, 16), from = b.host("from", BindingKind::kInput, 16);
  b.download(b.range(x, 0, 16), b.range(to, 0, 16));
  b.barrier();
  b.upload(b.range(from, 0, 16), b.range(y, 0, 16));
  const Replay replay(*device, b);
  const Words in(*device, count_from(1, 4)), out(*device, W(4));
  W words = count_from(5, 8);
  const auto submit = [&](std::size_t first) {
    return wait_for(replay, {in.binding(),
                             out.binding(),
                             {.data = words.data(), .size_bytes = 16},
                             {.data = words.data() + first, .size_bytes = 16}});
  };
  CHECK(submit(3).message() ==
        "submit: command 2 (upload): it reads host memory that command 0 (download) writes only when the list ends; "
        "upload it in a submission that waits for this one");
  CHECK(submit(4).ok());
  CHECK(out.read() == count_from(9, 4));
}

TEST_CASE("hip: pinned memory is read and written in place, while it is pinned") {
  const HipStandin standin;
  const auto device = standin.open({.staging_bytes = 4096}).value();
  constexpr std::size_t kWords = 3000;
  const auto x = device->allocate(4 * kWords).value();
  const Loop loop(*device, 4 * kWords);
  W in = count_from(3, kWords), out(kWords);
  const auto copies = [&] {
    standin.control.clear_calls();
    std::ranges::fill(out, 0);
    REQUIRE(wait_for(loop.replay, loop.bind(in, out, *x)).ok());
    CHECK(out == in);
    return standin.control.num_calls("hipMemcpyAsync");
  };
  CHECK(copies() == 6);
  {
    const auto pinned_in = device->pin_host(std::as_writable_bytes(std::span(in))).value();
    const auto pinned_out = device->pin_host(std::as_writable_bytes(std::span(out))).value();
    CHECK(copies() == 2);
  }
  CHECK(copies() == 6);
}

TEST_CASE("hip: memory that the application pinned itself needs no staging") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const hip::Calls hip = hip::open_calls(hip_standin::kLibrary);
  constexpr std::size_t kWords = 1 << 15;
  void* pinned = nullptr;
  REQUIRE(hip.hipHostMalloc(&pinned, 4 * kWords, hip::kHostMallocDefault) == hip::Error::kSuccess);
  const auto x = device->allocate(4 * kWords).value();
  const Loop loop(*device, 4 * kWords);
  auto* words = static_cast<std::uint32_t*>(pinned);
  std::iota(words, words + kWords, 5);
  W out(kWords);
  const std::vector<BufferBinding> bindings = {
      {.data = pinned, .size_bytes = 4 * kWords}, {.data = out.data(), .size_bytes = 4 * kWords}, x->binding()};
  const std::uint64_t before = standin.control.num_calls("hipHostMalloc");
  REQUIRE(wait_for(loop.replay, bindings).ok());
  CHECK(out == count_from(5, kWords));
  CHECK(standin.control.num_calls("hipHostMalloc") == before + 1);  // for the download
  CHECK(hip.hipHostFree(pinned) == hip::Error::kSuccess);
}

TEST_CASE("hip: memory with a hole between what the application pinned is staged") {
  HipStandin standin;
  const auto device = standin.open().value();
  const hip::Calls hip = hip::open_calls(hip_standin::kLibrary);
  constexpr std::size_t kWords = 1 << 16, kPinnedBytes = 1 << 16;
  const auto x = device->allocate(4 * kWords).value();
  const Loop loop(*device, 4 * kWords);
  W in = count_from(3, kWords), out(kWords);
  const auto ends_of = [](W& words) {
    return std::array{words.data(), words.data() + words.size() - kPinnedBytes / 4};
  };
  for (W* words : {&in, &out}) {
    for (void* end : ends_of(*words)) REQUIRE(hip.hipHostRegister(end, kPinnedBytes, 0) == hip::Error::kSuccess);
  }
  CHECK(wait_for(loop.replay, loop.bind(in, out, *x)).ok());
  CHECK(out == in);
  CHECK(standin.control.take_findings().size() == 2);  // for the stand-in it is a mistake to try
  for (W* words : {&in, &out}) {
    for (void* end : ends_of(*words)) CHECK(hip.hipHostUnregister(end) == hip::Error::kSuccess);
  }
}

TEST_CASE("hip: memory stays pinned until the work that uses it has ended") {
  const HipStandin standin;
  const auto device = standin.open().value();
  constexpr std::size_t kWords = 1024;
  const auto x = device->allocate(4 * kWords).value();
  const Loop loop(*device, 4 * kWords);
  W in = count_from(3, kWords), out(kWords);
  const auto done = timeline(*device);
  auto pinned_in = device->pin_host(std::as_writable_bytes(std::span(in))).value();
  auto pinned_out = device->pin_host(std::as_writable_bytes(std::span(out))).value();
  standin.control.hold_commands(true);
  REQUIRE(loop.replay.submit(loop.bind(in, out, *x), {}, {{done, 1}}).ok());
  pinned_in.reset();
  pinned_out.reset();
  CHECK(standin.control.num_calls("hipHostUnregister") == 0);
  standin.control.hold_commands(false);
  REQUIRE(done->wait(1).ok());
  CHECK(out == in);
  CHECK(standin.control.num_calls("hipHostUnregister") == 2);
}

TEST_CASE("hip: neither the end of a buffer nor memory of the host is a kernel's argument for an empty range") {
  const HipStandin standin;
  const auto device = standin.open().value();
  ExecutableImage image = scale_on(device->targets().front());
  ListBuilder b;
  const BindingIndex x = b.input("x", 512), y = b.output("y", 512), none = b.input("none", 0);
  image.info.num_buffers = 3;  // the runtime takes as many arguments as the code says: status word, x, y, factor
  image.info.num_sizes = 0;
  image.info.buffer_is_written = {false, true, false};
  b.dispatch(b.kernel(image.info), 1, {b.range(x, 512, 0), b.range(y, 512, 0), b.range(none, 0, 0)});
  const Words from(*device, std::vector<std::uint32_t>(128, 5)), to(*device, std::vector<std::uint32_t>(128, 7));
  std::uint32_t word = 0;
  const std::vector<BufferBinding> bindings = {from.binding(), to.binding(), {.data = &word, .size_bytes = 0}};
  CHECK(wait_for(Replay(*device, b, {image}), bindings).ok());
  // The kernel, which was made for one word, finds the beginnings of the buffers, and null for its factor.
  CHECK(to.read()[0] == 0);
}

TEST_CASE("hip: device memory of the application is a buffer, and goes back with its last owner") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const hip::Calls hip = hip::open_calls(hip_standin::kLibrary);
  void* memory = nullptr;
  REQUIRE(hip.hipMalloc(&memory, 64) == hip::Error::kSuccess);
  void* deleted = nullptr;
  {
    const auto buffer = device->import_memory(memory, 64, [&](void* address) { deleted = address; }).value();
    CHECK(buffer->size_bytes() == 64);
    REQUIRE(wait_for(set_word(*device, 17), {buffer->binding()}).ok());
    CHECK(standin.control.peek(memory, 1) == std::vector<std::byte>{std::byte{17}});
    CHECK(deleted == nullptr);
  }
  CHECK(deleted == memory);
  CHECK(hip.hipFree(memory) == hip::Error::kSuccess);
  CHECK(device->import_memory(reinterpret_cast<void*>(0x1004), 4).status().message() ==
        "import: address 0x1004 on device 'hip:0', expected a multiple of 64");
  std::uint32_t word = 0;
  CHECK(device->import_host(&word, 4).status().code() == StatusCode::kUnimplemented);
}

TEST_CASE("hip: on the application's stream, work runs in order with the application's own") {
  const HipStandin standin({.seed = 9});
  const hip::Calls hip = hip::open_calls(hip_standin::kLibrary);
  hip::Stream stream = nullptr;
  void* memory = nullptr;
  REQUIRE(hip.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking) == hip::Error::kSuccess);
  REQUIRE(hip.hipMalloc(&memory, 64) == hip::Error::kSuccess);
  {
    const auto device = standin.open({.stream = stream}).value();
    const auto buffer = device->import_memory(memory, 64).value();
    const auto done = timeline(*device);
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.copy(b.range(y, 0, 4), b.range(y, 4, 4));
    const Replay copy(*device, b);
    REQUIRE(hip.hipMemsetD32Async(memory, 5, 1, stream) == hip::Error::kSuccess);
    REQUIRE(copy.submit({buffer->binding()}, {}, {{done, 1}}).ok());
    REQUIRE(hip.hipMemsetD32Async(memory, 6, 1, stream) == hip::Error::kSuccess);
    REQUIRE(done->wait(1).ok());
    standin.control.run_all();
    const std::vector<std::byte> bytes = standin.control.peek(memory, 8);
    CHECK(bytes[0] == std::byte{6});
    CHECK(bytes[4] == std::byte{5});
  }
  CHECK(hip.hipFree(memory) == hip::Error::kSuccess);
  CHECK(hip.hipStreamDestroy(stream) == hip::Error::kSuccess);
}

TEST_CASE("hip: a device's memory is filled with patterns of every size, at every place") {
  const HipStandin standin;
  const auto device = standin.open().value();
  for (const std::uint32_t pattern_bytes : {1u, 2u, 4u, 8u}) {
    for (const std::uint64_t pattern : {0x0102'0304'0506'0708ull, 0x0101'0101'0101'0101ull, 0x0102'0102'0102'0102ull}) {
      const std::uint64_t mask = pattern_bytes == 8 ? ~0ull : (1ull << (8 * pattern_bytes)) - 1;
      for (const std::size_t offset : {0u, 1u, 2u, 4u, 7u, 8u}) {
        for (const std::size_t count : {0u, 1u, 2u, 5u, 13u}) {
          ListBuilder b;
          const BindingIndex y = b.output("y", 160);
          b.fill(b.range(y, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(count * pattern_bytes)),
                 pattern & mask, pattern_bytes);
          const std::vector<std::byte> before(160, std::byte{0xee});
          const auto buffer = device->allocate(160).value();
          REQUIRE(upload(*device, *buffer, before).ok());
          REQUIRE(wait_for(Replay(*device, b), {buffer->binding()}).ok());
          std::vector<std::byte> expected = before, found(160);
          for (std::size_t i = 0; i < count * pattern_bytes; ++i) {
            expected[offset + i] = static_cast<std::byte>(pattern >> (8 * (i % pattern_bytes)));
          }
          REQUIRE(download(*device, *buffer, found).ok());
          CHECK(found == expected);
        }
      }
    }
  }
}

}  // namespace millrace
