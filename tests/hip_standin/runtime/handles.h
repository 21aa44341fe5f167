// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace millrace::hip_standin {

/// What a handle names. Part of its bits, so that a handle of another kind is not found.
enum class HandleKind : std::uint64_t { kStream = 1, kEvent, kModule, kFunction, kPool };

/// The live objects of one kind, by handle. Each handle is used once, and is not an address: whoever looks behind it
/// faults.
template <class T, HandleKind kKind>
class Handles {
 public:
  std::uint64_t add(std::shared_ptr<T> object) {
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  /// Null if the handle is unknown.
  T* find(const void* handle) const {
    const auto found = objects_.find(number_of(handle));
    return found == objects_.end() ? nullptr : found->second.get();
  }
  std::shared_ptr<T> share(const void* handle) const {
    const auto found = objects_.find(number_of(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(const void* handle) { objects_.erase(number_of(handle)); }
  void remove_if(auto is_gone) {
    std::erase_if(objects_, [&](const auto& entry) { return is_gone(*entry.second); });
  }
  /// Old handles stay unknown.
  void clear() {
    objects_.clear();
    last_ = 0;
    ++epoch_;
  }

  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

  /// From 1 on, in the order of creation; 0 if it is not a handle of this kind.
  std::uint64_t number_of(const void* handle) const {
    const auto bits = reinterpret_cast<std::uint64_t>(handle);
    return bits >> kNumberBits == high_bits() ? bits & ((std::uint64_t{1} << kNumberBits) - 1) : 0;
  }
  template <class Handle>
  Handle handle_of(std::uint64_t number) const {
    return reinterpret_cast<Handle>(high_bits() << kNumberBits | number);
  }

 private:
  static constexpr int kNumberBits = 32, kEpochBits = 16;
  /// Above the epoch: not canonical, so no address on x86-64, nor on AArch64.
  std::uint64_t high_bits() const {
    return (0x4800 | static_cast<std::uint64_t>(kKind)) << kEpochBits | (epoch_ & ((1u << kEpochBits) - 1));
  }

  std::map<std::uint64_t, std::shared_ptr<T>> objects_;  // by number
  std::uint64_t last_ = 0, epoch_ = 0;
};

}  // namespace millrace::hip_standin
