// SPDX-License-Identifier: Apache-2.0
// The file format of a cached image: magic, version, key, format, target, generator, info, code, symbol and routine,
// then a checksum of all these. Integers and string lengths have 8 bytes in host byte order, because a file is loaded
// only by the build that wrote it.
#include <cstring>
#include <xxhash.h>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/host/routines/routine.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {
namespace {

constexpr std::uint64_t kMagic = 0x334e52454b524c4d;  // "MLRKERN3"; the digit is the version
constexpr std::size_t kPage = 4096;

struct Checksum {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;
};

Checksum checksum_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

class Writer {
 public:
  void integer(std::uint64_t value) { raw(&value, sizeof(value)); }
  void bytes(const void* data, std::size_t size) {
    integer(size);
    raw(data, size);
  }
  void string(const std::string& text) { bytes(text.data(), text.size()); }
  std::vector<std::byte> finish() {
    const Checksum checksum = checksum_of(file_);
    raw(&checksum, sizeof(checksum));
    return std::move(file_);
  }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    file_.insert(file_.end(), begin, begin + size);
  }
  std::vector<std::byte> file_;
};

/// Never reads past the end: missing parts are returned as empty, and ok() becomes false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : rest_(file) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  std::uint64_t integer() {
    std::uint64_t value = 0;
    const std::span<const std::byte> raw = take(sizeof(value));
    if (ok_) std::memcpy(&value, raw.data(), sizeof(value));
    return value;
  }
  std::span<const std::byte> bytes() { return take(integer()); }
  std::string string() {
    const std::span<const std::byte> raw = bytes();
    return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::span<const std::byte> taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

void write_info(Writer& writer, const KernelInfo& info) {
  writer.string(info.name);
  writer.integer(info.num_buffers);
  writer.integer(info.num_sizes);
  std::string written;
  for (const bool is_written : info.buffer_is_written) written += is_written ? 'w' : 'r';
  writer.string(written);
  writer.integer(info.workgroup_bytes);
  writer.integer(info.private_bytes);
  writer.integer(info.workgroup_size);
}

KernelInfo read_info(Reader& reader) {
  KernelInfo info;
  info.name = reader.string();
  info.num_buffers = static_cast<std::uint32_t>(reader.integer());
  info.num_sizes = static_cast<std::uint32_t>(reader.integer());
  for (const char c : reader.string()) info.buffer_is_written.push_back(c == 'w');
  info.workgroup_bytes = reader.integer();
  info.private_bytes = reader.integer();
  info.workgroup_size = static_cast<std::uint32_t>(reader.integer());
  return info;
}

/// Checks the fields on which a loader relies.
Status check_code(const ExecutableImage& image) {
  if (image.format == ImageFormat::kGpuObject) return {};  // the linker checks it
  if (image.format == ImageFormat::kGpuCode) return {};    // the driver checks it
  const bool fits = image.format == ImageFormat::kHostCode && image.code_bytes > 0 &&
                    image.code_bytes <= image.bytes.size() &&
                    (image.code_bytes % kPage == 0 || image.code_bytes == image.bytes.size()) &&
                    image.entry_offset < image.code_bytes;
  if (fits && image.info.buffer_is_written.size() == image.info.num_buffers) return {};
  return data_loss(fmt::format(
      "kernel image '{}': its parts do not fit together: {} bytes, {} of code, entry at {}, {} of {} buffers described",
      image.info.name, image.bytes.size(), image.code_bytes, image.entry_offset, image.info.buffer_is_written.size(),
      image.info.num_buffers));
}

}  // namespace

std::vector<std::byte> encode_image(const ExecutableImage& image, const std::string& key) {
  MILLRACE_CHECK(image.format != ImageFormat::kInterpreted);
  Writer writer;
  writer.integer(kMagic);
  writer.string(key);
  writer.integer(static_cast<std::uint64_t>(image.format));
  writer.string(image.target);
  writer.string(image.generator);
  write_info(writer, image.info);
  writer.bytes(image.bytes.data(), image.bytes.size());
  writer.integer(image.code_bytes);
  writer.integer(image.entry_offset);
  writer.string(image.symbol);
  const RoutineCall& routine = image.routine;
  writer.string(routine.name);
  writer.integer(routine.abi_version);
  writer.bytes(routine.parameters.data(), routine.parameters.size() * sizeof(std::int64_t));
  return writer.finish();
}

Result<ExecutableImage> decode_image(std::span<const std::byte> file, const std::string& key) {
  return guard_allocations([&]() -> Result<ExecutableImage> {
    Checksum found;
    if (file.size() < sizeof(found)) {
      return data_loss(fmt::format("kernel image: found {} bytes, expected at least {} for the checksum", file.size(),
                                   sizeof(found)));
    }
    const std::span<const std::byte> content = file.first(file.size() - sizeof(found));
    std::memcpy(&found, file.data() + content.size(), sizeof(found));
    if (found != checksum_of(content)) {
      return data_loss(
          fmt::format("kernel image: the checksum over {} bytes does not match the file's", content.size()));
    }
    Reader reader(content);
    if (reader.integer() != kMagic) return data_loss("kernel image: found another format or version");
    if (const std::string found_key = reader.string(); found_key != key) {
      return data_loss(fmt::format("kernel image: found key '{}', expected '{}'", found_key, key));
    }
    ExecutableImage image;
    image.format = static_cast<ImageFormat>(reader.integer());
    image.target = reader.string();
    image.generator = reader.string();
    image.info = read_info(reader);
    const std::span<const std::byte> code = reader.bytes();
    image.bytes = SharedBytes(code);
    image.code_bytes = reader.integer();
    image.entry_offset = reader.integer();
    image.symbol = reader.string();
    RoutineCall& routine = image.routine;
    routine.name = reader.string();
    routine.abi_version = static_cast<std::uint32_t>(reader.integer());
    const std::span<const std::byte> parameters = reader.bytes();
    if (!reader.ok() || !reader.at_end() || parameters.size() % sizeof(std::int64_t) != 0) {
      return data_loss("kernel image: its parts do not add up to its length");
    }
    routine.parameters.resize(parameters.size() / sizeof(std::int64_t));
    if (!parameters.empty()) std::memcpy(routine.parameters.data(), parameters.data(), parameters.size());
    MILLRACE_TRY(check_code(image));
    if (!routine.name.empty()) {
      const Status found = find_routine(routine).status();
      if (!found.ok()) return data_loss(fmt::format("kernel image '{}': {}", image.info.name, found.message()));
    }
    return image;
  });
}

}  // namespace millrace
