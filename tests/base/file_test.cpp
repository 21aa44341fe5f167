// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/file.h"

#include <chrono>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

std::string text_of(const Result<std::vector<std::byte>>& bytes) {
  if (!bytes.ok()) return bytes.status().message();
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

/// A named pipe, and a thread that opens it for writing and then writes.
struct NamedPipe {
  TemporaryDirectory directory;
  std::string path = directory.path() + "/pipe";
  std::thread writer;

  NamedPipe() { REQUIRE(mkfifo(path.c_str(), 0600) == 0); }
  ~NamedPipe() {
    if (writer.joinable()) writer.join();
  }
  void write(std::chrono::milliseconds before_open, std::chrono::milliseconds before_write, std::string_view text) {
    writer = std::thread([this, before_open, before_write, text] {
      std::this_thread::sleep_for(before_open);
      const int file = open(path.c_str(), O_WRONLY);
      std::this_thread::sleep_for(before_write);
      (void)!::write(file, text.data(), text.size());
      close(file);
    });
  }
};

TEST_CASE("a device is refused before it is read, and so is one behind a link") {
  const TemporaryDirectory directory;
  CHECK(read_file("w", "/dev/zero").status().code() == StatusCode::kInvalidArgument);
  CHECK(text_of(read_file("w", "/dev/zero")) ==
        "w: found a character device, expected a file or a pipe; check the path");
  const std::string link = directory.path() + "/link";
  REQUIRE(symlink("/dev/zero", link.c_str()) == 0);
  CHECK(FileReader::open("w", link).status().message() ==
        "w: found a character device, expected a file or a pipe; check the path");
}

TEST_CASE("a pipe that nobody writes to is refused") {
  const NamedPipe pipe;
  const Status status = read_file("w", pipe.path).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() == "w: nobody wrote to this pipe within 2 s; start the writer first");
}

TEST_CASE("a pipe is read if its writer comes soon, however long the writer takes") {
  NamedPipe late;
  late.write(300ms, 0ms, "late");
  CHECK(text_of(read_file("w", late.path)) == "late");
  NamedPipe slow;
  slow.write(0ms, 2500ms, "slow");
  CHECK(text_of(read_file("w", slow.path)) == "slow");
  NamedPipe empty;
  empty.write(100ms, 0ms, "");
  CHECK(text_of(read_file("w", empty.path)) == "");
}

TEST_CASE("a file that does not say its size is read to its end") {
  CHECK(text_of(read_file("w", "/proc/self/status")).find("\nThreads:") != std::string::npos);
}

TEST_CASE("at most 256 MiB of a pipe are read") {
  constexpr std::size_t kChunk = 1 << 16, kChunks = (std::size_t{256} << 20) / kChunk;
  for (const std::size_t num_chunks : {kChunks, kChunks + 1}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::thread writer([&] {
      const std::string chunk(kChunk, 'x');
      for (std::size_t i = 0; i < num_chunks; ++i) (void)!write(ends[1], chunk.data(), chunk.size());
      close(ends[1]);
    });
    const auto bytes = read_file("w", "/dev/fd/" + std::to_string(ends[0]));
    writer.join();
    close(ends[0]);
    if (num_chunks == kChunks) {
      CHECK((bytes.ok() && bytes->size() == kChunk * kChunks));
    } else {
      CHECK(bytes.status().code() == StatusCode::kResourceExhausted);
      CHECK(bytes.status().message() ==
            "w: found more than 268435456 bytes, expected at most that many when the size is unknown; write them to a "
            "file first");
    }
  }
}

}  // namespace
}  // namespace millrace
