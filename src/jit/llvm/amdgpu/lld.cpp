// SPDX-License-Identifier: Apache-2.0
// Links GPU objects with lld inside this process. lld takes only paths, so objects are passed as in-memory files, and
// the output is a temporary file.
#include "jit/llvm/amdgpu/lld.h"

#include <lld/Common/Driver.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include "jit/llvm/amdgpu/metadata_note.h"

LLD_HAS_DRIVER(elf)

namespace millrace {
namespace {

class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("millrace_object", MFD_CLOEXEC)) {}
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool write(std::span<const std::byte> bytes) const {
    while (descriptor_ >= 0 && !bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return descriptor_ >= 0;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string no_memory_text() { return std::make_error_code(std::errc::not_enough_memory).message(); }

/// The error for a system call that failed.
Status refused(const std::error_code& error, const std::string& what, const std::string& remedy = "") {
  const bool has_memory = error != std::errc::not_enough_memory;
  return {has_memory ? StatusCode::kUnavailable : StatusCode::kResourceExhausted,
          "link: " + what + ": " + error.message() + remedy};
}

/// Joins lld's errors into one line, without the names of in-memory files.
std::string one_line(llvm::StringRef text) {
  std::string line;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef error : lines) {
    if (error.consume_front("ld.lld: error: ")) line += (line.empty() ? "" : "; ") + error.trim().str();
  }
  return line.empty() ? "lld failed without a message" : line;
}

/// Rejects input that is not an ELF object, because lld would end the process.
Status check_object(std::span<const std::byte> bytes) {
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(text, "object"));
  if (object) return {};
  return invalid_argument("link: not an object file: " + llvm::toString(object.takeError()));
}

Status run_lld(const std::vector<std::string>& arguments) {
  static std::mutex mutex;
  static bool can_run = true;
  const std::lock_guard lock(mutex);
  if (!can_run) return internal_error("link: lld failed badly before and cannot run again in this process");
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::string output, errors;
  llvm::raw_string_ostream output_stream(output), error_stream(errors);
  const lld::Result result = lld::lldMain(pointers, output_stream, error_stream, {{lld::Gnu, &lld::elf::link}});
  can_run = result.canRunAgain;
  if (result.retCode == 0) return {};
  const bool has_memory = errors.find(no_memory_text()) == std::string::npos;
  return {has_memory ? StatusCode::kInternal : StatusCode::kResourceExhausted, "link: " + one_line(errors)};
}

}  // namespace

Result<std::vector<std::byte>> link_gpu_objects(std::span<const std::span<const std::byte>> objects) {
  llvm::SmallString<128> output;
  if (const std::error_code error = llvm::sys::fs::createTemporaryFile("millrace", "hsaco", output)) {
    return refused(error, "cannot create a temporary file", "; set TMPDIR to a directory");
  }
  const llvm::FileRemover remover(output);
  // One thread: the application may run many threads already, and objects are small.
  std::vector<std::string> arguments = {"ld.lld", "-shared", "--no-undefined", "--threads=1", "-o", output.str().str()};
  std::vector<MemoryFile> inputs(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    MILLRACE_TRY(check_object(objects[i]));
    if (!inputs[i].write(objects[i])) return resource_exhausted("link: cannot hold an object in memory for lld");
    arguments.push_back(inputs[i].path());
  }
  MILLRACE_TRY(run_lld(arguments));
  auto linked = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked) return refused(linked.getError(), "cannot read the output of lld");
  const auto* begin = reinterpret_cast<const std::byte*>((*linked)->getBufferStart());
  std::vector<std::byte> object(begin, begin + (*linked)->getBufferSize());
  MILLRACE_TRY(join_metadata_notes(object));
  return object;
}

}  // namespace millrace
