// SPDX-License-Identifier: Apache-2.0
// KernelCache: looks a kernel up in memory, then in the cache directories. If it is in neither, compiles it once, even
// if several threads request it.
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
#include "jit/cache/directories.h"

namespace millrace {
namespace {

using Image = std::shared_ptr<const ExecutableImage>;

/// Everything that determines a kernel's code, as text. `target` is PlannedKernel::target_of.
std::string identity_of(const PlannedKernel& kernel, const TargetSpec& target, const KernelCompiler& compiler) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", compiler.name(), compiler.version(), build_id(), target.to_text(),
                     kernel.key_text);
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

  /// A request to get().
  struct Wanted {
    std::string key;
    std::string generic_key = {};       // of code for the same level that is not tuned; empty if `key` is
    std::function<std::string()> name;  // for messages: "kernel 'exp_0' for cpu:avx2"
    std::function<Result<ExecutableImage>()> make;
    bool has_parts = false;  // make() itself gets kernels from this cache, and its error says where it searched
  };

  explicit State(const Options& options)
      : directories(options), requires_writes(options.requires_writes), max_entries(options.max_memory_entries) {}

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
    by_use.splice(by_use.begin(), added);  // cannot throw, so the list and the map stay consistent
    if (entries.size() > max_entries) {
      entries.erase(by_use.back().key);
      by_use.pop_back();
    }
  }

  // The caller of the functions below must not hold the mutex.

  /// Loads the image from disk or makes it.
  Result<Image> load_or_make(const Wanted&);
  /// Gets the image from memory; if it is not there, loads or makes it.
  Result<Image> get(const Wanted&);
  Status keep(const std::string& key, const ExecutableImage&);

  const KernelCacheDirectories directories;
  const bool requires_writes;
  const std::size_t max_entries;
  std::mutex mutex;
  std::condition_variable finished;
  std::list<Entry> by_use;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> entries;
  std::set<std::string> in_progress;  // keys whose images a thread is loading or making; other threads wait
  Stats stats;
};

/// Writes the image to the directory.
Status KernelCache::State::keep(const std::string& key, const ExecutableImage& image) {
  if (image.format == ImageFormat::kInterpreted) return {};
  if (!directories.has_directory()) {
    return requires_writes ? failed_precondition("kernel cache: no directory to write to; name one") : Status();
  }
  const Status written = directories.write(key, encode_image(image, key));
  if (!written.ok()) return requires_writes ? written : Status();
  const std::lock_guard lock(mutex);
  ++stats.written;
  return {};
}

Result<Image> KernelCache::State::load_or_make(const Wanted& wanted) {
  MILLRACE_TRY_ASSIGN(FoundEntry found, directories.load(wanted.key));
  std::string searched_key = wanted.key;
  // A tool that fills a directory wants the code that it asked for. A file that was refused is made again.
  if (found.image == nullptr && !wanted.generic_key.empty() && !requires_writes && !found.is_rejected()) {
    MILLRACE_TRY_ASSIGN(found, directories.load(wanted.generic_key));
    if (found.is_rejected()) searched_key = wanted.generic_key;
  }
  {
    const std::lock_guard lock(mutex);
    ++(found.image != nullptr ? stats.disk_hits : stats.misses);
    if (found.is_rejected()) ++stats.rejected;
  }
  if (found.image != nullptr) return std::move(found.image);
  Result<ExecutableImage> image = wanted.make();
  const bool is_unavailable = image.status().code() == StatusCode::kUnavailable;
  if (is_unavailable && (!wanted.has_parts || found.is_rejected())) {
    return unavailable(fmt::format("{} is in no kernel cache, and cannot be generated: {}; {}", wanted.name(),
                                   image.status().message(), directories.searched_text(searched_key, found)));
  }
  MILLRACE_TRY(image.status());
  MILLRACE_TRY(keep(wanted.key, *image));
  return std::make_shared<const ExecutableImage>(*std::move(image));
}

Result<Image> KernelCache::State::get(const Wanted& wanted) {
  const std::string& key = wanted.key;
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
  MILLRACE_TRY_ASSIGN(Image image, load_or_make(wanted));
  {
    const std::lock_guard again(mutex);
    insert(key, image);
  }
  return image;
}

namespace {

/// The absolute paths in $MILLRACE_CACHE_LAYERS, or the relative ones.
std::vector<std::string> layers_of_environment(bool absolute) {
  std::vector<std::string> directories;
  const char* layers = std::getenv("MILLRACE_CACHE_LAYERS");
  std::string_view rest = layers != nullptr ? layers : "";
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (!path.empty() && path.starts_with('/') == absolute) directories.emplace_back(path);
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
  }
  return directories;
}

}  // namespace

std::vector<std::string> default_read_only_cache_directories() { return layers_of_environment(true); }
std::vector<std::string> ignored_cache_layers() { return layers_of_environment(false); }

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
  const auto name = [&] { return fmt::format("kernel '{}'", kernel.name); };
  return guard_allocations(name, [&]() -> Result<Image> {
    const TargetSpec target = kernel.target_of(spec);
    TargetSpec generic = target;
    generic.tune = CpuTune::kGeneric;
    const bool is_tuned = target != generic;
    MILLRACE_TRY_ASSIGN(Image image,
                        state_->get({.key = key_of(identity_of(kernel, target, compiler)),
                                     .generic_key = is_tuned ? key_of(identity_of(kernel, generic, compiler)) : "",
                                     .name = [&] { return fmt::format("{} for {}", name(), spec.to_text()); },
                                     .make = [&] { return compiler.emit(kernel, spec); },
                                     .has_parts = false}));
    return with_info(std::move(image), kernel.info);
  });
}

Result<SharedBytes> KernelCache::get_code_object(std::span<const PlannedKernel> kernels, const Target& target,
                                                 const std::function<Result<std::vector<std::byte>>()>& link) {
  return guard_allocations([&]() -> Result<SharedBytes> {
    std::string identity = "code object";
    for (const PlannedKernel& kernel : kernels) {
      const KernelCompiler* compiler = target.find_generator(kernel.generator);
      if (compiler == nullptr) return internal_error("code object: no generator " + kernel.generator);
      identity += "\n" + key_of(identity_of(kernel, kernel.target_of(target.spec()), *compiler));
    }
    const auto make = [&]() -> Result<ExecutableImage> {
      MILLRACE_TRY_ASSIGN(std::vector<std::byte> linked, link());
      return ExecutableImage{.format = ImageFormat::kGpuCode, .target = target.to_text(), .bytes = std::move(linked)};
    };
    const auto name = [&] { return fmt::format("code object for {}", target.to_text()); };
    MILLRACE_TRY_ASSIGN(const Image image,
                        state_->get({.key = key_of(identity), .name = name, .make = make, .has_parts = true}));
    return image->bytes;
  });
}

KernelCache::Stats KernelCache::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace millrace
