// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/kernel_cache.h"

#include <condition_variable>
#include <cstdlib>
#include <list>
#include <set>
#include <xxhash.h>

#include <fmt/format.h>

#include "jit/build_id.h"
#include "jit/kernel_cache_directory.h"

namespace millrace {
namespace {

using Image = std::shared_ptr<const ExecutableImage>;

/// 32 hexadecimal digits, also the file's name.
std::string key_of(const PlannedKernel& kernel, const TargetSpec& spec, const KernelCompiler& compiler) {
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", compiler.name(), compiler.version(), build_id(),
                                       spec.to_text(), kernel.key_text);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// The key leaves names out, so the image may be of a kernel with another name.
Image with_info(Image image, const KernelInfo& info) {
  if (image->info == info) return image;
  auto renamed = std::make_shared<ExecutableImage>(*image);
  renamed->info = info;
  return renamed;
}

}  // namespace

struct KernelCache::State {
  struct Entry {
    std::string key;
    Image image;
  };

  explicit State(const Options& options) : directory(options.directory), max_entries(options.max_memory_entries) {}

  /// Precondition: locked.
  Image find(const std::string& key) {
    const auto found = entries.find(key);
    if (found == entries.end()) return nullptr;
    by_use.splice(by_use.begin(), by_use, found->second);
    return found->second->image;
  }

  /// Precondition: locked.
  void insert(const std::string& key, Image image) {
    if (max_entries == 0) return;
    by_use.push_front({key, std::move(image)});
    entries[key] = by_use.begin();
    if (entries.size() > max_entries) {
      entries.erase(by_use.back().key);
      by_use.pop_back();
    }
  }

  /// From disk or compiled; not locked.
  Result<Image> make(const std::string& key, const PlannedKernel&, const TargetSpec&, const KernelCompiler&);

  const KernelCacheDirectory directory;
  const std::size_t max_entries;
  std::mutex mutex;
  std::condition_variable finished;
  std::list<Entry> by_use;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> entries;
  std::set<std::string> in_progress;  // made by some thread just now; others wait for it
  Stats stats;
};

Result<Image> KernelCache::State::make(const std::string& key, const PlannedKernel& kernel, const TargetSpec& spec,
                                       const KernelCompiler& compiler) {
  bool is_rejected = false;
  if (const auto file = directory.read(key, is_rejected)) {
    Result<ExecutableImage> image = decode_image(*file, key);
    if (image.ok()) {
      const std::lock_guard lock(mutex);
      ++stats.disk_hits;
      return std::make_shared<const ExecutableImage>(*std::move(image));
    }
    is_rejected = true;
  }
  {
    const std::lock_guard lock(mutex);
    ++stats.misses;
    if (is_rejected) ++stats.rejected;
  }
  MILLRACE_TRY_ASSIGN(ExecutableImage image, compiler.emit(kernel, spec));
  if (image.format != ImageFormat::kInterpreted) directory.write(key, encode_image(image, key));
  return std::make_shared<const ExecutableImage>(std::move(image));
}

std::string KernelCache::default_directory() {
  // An XDG_CACHE_HOME that is not absolute is to be ignored, says its specification.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/millrace";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/millrace";
  }
  return {};
}

KernelCache::KernelCache(Options options) : state_(std::make_unique<State>(options)) {}
KernelCache::~KernelCache() = default;

Result<Image> KernelCache::get(const PlannedKernel& kernel, const TargetSpec& spec, const KernelCompiler& compiler) {
  const std::string key = key_of(kernel, spec, compiler);
  std::unique_lock lock(state_->mutex);
  while (true) {
    if (Image image = state_->find(key)) {
      ++state_->stats.memory_hits;
      return with_info(std::move(image), kernel.info);
    }
    if (state_->in_progress.insert(key).second) break;
    state_->finished.wait(lock);
  }
  lock.unlock();
  // Also when `make` throws, or the others would wait for ever.
  struct Finish {
    State& state;
    const std::string& key;
    Image image;
    ~Finish() {
      const std::lock_guard again(state.mutex);
      state.in_progress.erase(key);
      if (image != nullptr) state.insert(key, std::move(image));
      state.finished.notify_all();
    }
  } finish{*state_, key, nullptr};
  MILLRACE_TRY_ASSIGN(finish.image, state_->make(key, kernel, spec, compiler));
  return with_info(finish.image, kernel.info);
}

KernelCache::Stats KernelCache::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace millrace
