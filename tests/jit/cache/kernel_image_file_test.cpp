// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <doctest/doctest.h>

#include "hal/host/routines/routine.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {
namespace {

ExecutableImage sample_image() {
  ExecutableImage image;
  image.target = "cpu:avx2";
  image.generator = "llvm";
  image.info = {.name = "relu",
                .num_buffers = 2,
                .num_sizes = 3,
                .buffer_is_written = {false, true},
                .workgroup_bytes = 64,
                .private_bytes = 128};
  std::vector<std::byte> bytes;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<std::byte>(i));
  image.bytes = std::move(bytes);
  image.code_bytes = 300;
  image.entry_offset = 16;
  image.routine = {.name = "gemm_f32", .abi_version = row_of(Routine::gemm_f32).abi_version, .parameters = {1, -2, 3}};
  return image;
}

TEST_CASE("a written image is read back unchanged") {
  const ExecutableImage image = sample_image();
  const ExecutableImage back = decode_image(encode_image(image, "key"), "key").value();
  CHECK(back.format == ImageFormat::kHostCode);
  CHECK(back.target == image.target);
  CHECK(back.generator == image.generator);
  CHECK(back.info == image.info);
  CHECK(back.bytes == image.bytes);
  CHECK(back.code_bytes == image.code_bytes);
  CHECK(back.entry_offset == image.entry_offset);
  CHECK(back.routine == image.routine);
}

TEST_CASE("every flipped bit is found") {
  std::vector<std::byte> file = encode_image(sample_image(), "key");
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= std::byte(1u << (bit % 8));
    CHECK(decode_image(file, "key").status().code() == StatusCode::kDataLoss);
    file[bit / 8] ^= std::byte(1u << (bit % 8));
  }
}

TEST_CASE("every truncation and every tail is found") {
  std::vector<std::byte> file = encode_image(sample_image(), "key");
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK(decode_image(std::span(file).first(size), "key").status().code() == StatusCode::kDataLoss);
  }
  file.push_back(std::byte{0});
  CHECK(decode_image(file, "key").status().code() == StatusCode::kDataLoss);
}

TEST_CASE("random bytes are not an image") {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::byte> file(random() % 400);
    for (std::byte& byte : file) byte = static_cast<std::byte>(random());
    CHECK(decode_image(file, "key").status().code() == StatusCode::kDataLoss);
  }
}

TEST_CASE("a mistake in a file is reported") {
  const ExecutableImage image = sample_image();
  auto message = [](const ExecutableImage& made, const std::string& key) {
    return decode_image(encode_image(made, key), "key").status().message();
  };
  CHECK(message(image, "other") == "kernel image: found key 'other', expected 'key'");
  ExecutableImage changed = image;
  changed.entry_offset = 300;
  CHECK(message(changed, "key") ==
        "kernel image 'relu': its parts do not fit together: 300 bytes, 300 of code, entry at 300, "
        "2 of 2 buffers described");
  changed = image;
  changed.code_bytes = 200;
  CHECK(message(changed, "key") ==
        "kernel image 'relu': its parts do not fit together: 300 bytes, 200 of code, entry at 16, "
        "2 of 2 buffers described");
  changed = image;
  changed.info.buffer_is_written.pop_back();
  CHECK(message(changed, "key") ==
        "kernel image 'relu': its parts do not fit together: 300 bytes, 300 of code, entry at 16, "
        "1 of 2 buffers described");
  changed = image;
  changed.routine.name = "no_such_routine";
  CHECK(message(changed, "key") ==
        "kernel image 'relu': this build has no host routine 'no_such_routine'; compile the kernel again");
  changed = image;
  changed.routine.abi_version = 7;
  CHECK(message(changed, "key") ==
        "kernel image 'relu': host routine 'gemm_f32' has ABI version 7 in the image and 2 in this build; compile the "
        "kernel again");
  CHECK(decode_image({}, "key").status().message() ==
        "kernel image: found 0 bytes, expected at least 16 for the checksum");
  std::vector<std::byte> file = encode_image(image, "key");
  file[20] ^= std::byte{1};
  CHECK(decode_image(file, "key").status().message() ==
        "kernel image: the checksum over " + std::to_string(file.size() - 16) + " bytes does not match the file's");
}

}  // namespace
}  // namespace millrace
