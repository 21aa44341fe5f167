// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/kernel_cache.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <list>
#include <set>
#include <xxhash.h>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/cache/build_id.h"
#include "jit/cache/directory.h"

namespace millrace {
namespace {

using Image = std::shared_ptr<const ExecutableImage>;

/// What decides a kernel's code, as text.
std::string identity_of(const PlannedKernel& kernel, const TargetSpec& spec, const KernelCompiler& compiler) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", compiler.name(), compiler.version(), build_id(),
                     kernel.target_of(spec).to_text(), kernel.key_text);
}

/// 32 hexadecimal digits, which also name the file.
std::string key_of(const std::string& identity) {
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// The key excludes names, so the image may come from a kernel with another name.
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

  explicit State(const Options& options)
      : directory(options.directory, options.max_bytes), max_entries(options.max_memory_entries) {
    for (const std::string& path : options.read_only_directories) layers.emplace_back(path, 0);
  }

  /// Precondition: the mutex is locked.
  Image find(const std::string& key) {
    const auto found = entries.find(key);
    if (found == entries.end()) return nullptr;
    by_use.splice(by_use.begin(), by_use, found->second);
    return found->second->image;
  }

  /// Precondition: the mutex is locked.
  void insert(const std::string& key, Image image) {
    if (max_entries == 0) return;
    std::list<Entry> added;
    added.push_front({key, std::move(image)});
    entries[key] = added.begin();
    by_use.splice(by_use.begin(), added);  // last: it cannot throw, so the list and the map agree
    if (entries.size() > max_entries) {
      entries.erase(by_use.back().key);
      by_use.pop_back();
    }
  }

  // The functions below must be called unlocked. A null image means that no usable one was found.
  Result<Image> read(const KernelCacheDirectory& from, const std::string& key, CacheFile& file) const;
  /// Loads from the directory or the read-only layers, in this order. `is_rejected`: some file there was unusable.
  Result<Image> load(const std::string& key, bool& is_rejected) const;
  using Make = std::function<Result<ExecutableImage>()>;
  /// Loads from disk or makes it.
  Result<Image> load_or_make(const std::string& key, const Make&);

  /// Gets from memory, loads or makes it.
  Result<Image> get(const std::string& key, const Make&);

  const KernelCacheDirectory directory;
  std::list<KernelCacheDirectory> layers;  // read-only
  const std::size_t max_entries;
  std::mutex mutex;
  std::condition_variable finished;
  std::list<Entry> by_use;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> entries;
  std::set<std::string> in_progress;  // keys some thread is making now; others wait for them
  Stats stats;
};

Result<Image> KernelCache::State::read(const KernelCacheDirectory& from, const std::string& key,
                                       CacheFile& file) const {
  file = from.read(key);
  if (!file.content) return Image();
  Result<ExecutableImage> image = decode_image(*file.content, key);
  if (image.ok()) return std::make_shared<const ExecutableImage>(*std::move(image));
  if (image.status().code() != StatusCode::kDataLoss) return image.status();  // no memory: the file may be intact
  file.is_rejected = true;
  return Image();
}

Result<Image> KernelCache::State::load(const std::string& key, bool& is_rejected) const {
  CacheFile file;
  MILLRACE_TRY_ASSIGN(Image image, read(directory, key, file));
  is_rejected = file.is_rejected;
  if (image != nullptr) directory.note_use(key);
  for (auto layer = layers.begin(); image == nullptr && layer != layers.end(); ++layer) {
    MILLRACE_TRY_ASSIGN(image, read(*layer, key, file));
    if (image != nullptr && is_rejected) directory.write(key, *file.content);  // otherwise it would be rejected again
    is_rejected = is_rejected || file.is_rejected;
  }
  return image;
}

Result<Image> KernelCache::State::load_or_make(const std::string& key, const Make& make) {
  bool is_rejected = false;
  MILLRACE_TRY_ASSIGN(Image loaded, load(key, is_rejected));
  if (loaded != nullptr) {
    const std::lock_guard lock(mutex);
    ++stats.disk_hits;
    if (is_rejected) ++stats.rejected;
    return loaded;
  }
  {
    const std::lock_guard lock(mutex);
    ++stats.misses;
    if (is_rejected) ++stats.rejected;
  }
  MILLRACE_TRY_ASSIGN(ExecutableImage image, make());
  if (image.format != ImageFormat::kInterpreted) directory.write(key, encode_image(image, key));
  return std::make_shared<const ExecutableImage>(std::move(image));
}

Result<Image> KernelCache::State::get(const std::string& key, const Make& make) {
  std::unique_lock lock(mutex);
  while (true) {
    if (Image image = find(key)) {
      ++stats.memory_hits;
      return image;
    }
    if (in_progress.insert(key).second) break;
    finished.wait(lock);
  }
  lock.unlock();
  // Also runs if something throws; otherwise the other threads would wait forever.
  struct Finish {
    State& state;
    const std::string& key;
    ~Finish() {
      const std::lock_guard again(state.mutex);
      state.in_progress.erase(key);
      state.finished.notify_all();
    }
  } const finish{*this, key};
  MILLRACE_TRY_ASSIGN(Image image, load_or_make(key, make));
  {
    const std::lock_guard again(mutex);
    insert(key, image);
  }
  return image;
}

std::vector<std::string> default_read_only_cache_directories() {
  std::vector<std::string> directories;
  const char* layers = std::getenv("MILLRACE_CACHE_LAYERS");
  std::string_view rest = layers != nullptr ? layers : "";
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (path.starts_with('/')) directories.emplace_back(path);
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
  }
  return directories;
}

std::string default_cache_directory() {
  // The XDG specification says to ignore a relative XDG_CACHE_HOME.
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
  return guard_allocations([&] { return fmt::format("kernel '{}'", kernel.name); },
                           [&]() -> Result<Image> {
                             MILLRACE_TRY_ASSIGN(Image image, state_->get(key_of(identity_of(kernel, spec, compiler)),
                                                                          [&] { return compiler.emit(kernel, spec); }));
                             return with_info(std::move(image), kernel.info);
                           });
}

Result<SharedBytes> KernelCache::get_code_object(std::span<const PlannedKernel> kernels, const Target& target,
                                                 const std::function<Result<std::vector<std::byte>>()>& link) {
  return guard_allocations("code object", [&]() -> Result<SharedBytes> {
    std::string identity = "code object";
    for (const PlannedKernel& kernel : kernels) {
      const KernelCompiler* compiler = target.find_generator(kernel.generator);
      if (compiler == nullptr) return internal_error("code object: no generator " + kernel.generator);
      identity += "\n" + key_of(identity_of(kernel, target.spec(), *compiler));
    }
    MILLRACE_TRY_ASSIGN(const Image image, state_->get(key_of(identity), [&]() -> Result<ExecutableImage> {
      MILLRACE_TRY_ASSIGN(std::vector<std::byte> linked, link());
      return ExecutableImage{.format = ImageFormat::kGpuCode, .target = target.to_text(), .bytes = std::move(linked)};
    }));
    return image->bytes;
  });
}

KernelCache::Stats KernelCache::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace millrace
