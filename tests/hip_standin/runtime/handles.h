// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace millrace::hip_standin {

/// What a handle names. Part of its bits, so that a handle of another kind is not found.
enum class HandleKind : std::uint64_t { kStream = 1, kEvent, kModule, kFunction, kPool };

/// The live objects of one kind, by handle. Each handle is used once, and is no address: whoever looks behind it
/// faults.
template <class T, HandleKind kKind>
class Handles {
 public:
  std::uint64_t add(std::shared_ptr<T> object) {
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  /// Null if there is none.
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
  /// Numbers go on, so that old handles stay unknown.
  void clear() { objects_.clear(); }

  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }
  std::size_t size() const { return objects_.size(); }

  /// From 1 on, in the order of creation; 0 for what is no handle of this kind.
  static std::uint64_t number_of(const void* handle) {
    const auto bits = reinterpret_cast<std::uint64_t>(handle);
    return bits >> kShift == kHigh ? bits & kNumberBits : 0;
  }
  template <class Handle>
  static Handle handle_of(std::uint64_t number) {
    return reinterpret_cast<Handle>(kHigh << kShift | number);
  }

 private:
  static constexpr int kShift = 48;
  // Not canonical: no address on x86-64, nor on AArch64.
  static constexpr std::uint64_t kHigh = 0x4800 | static_cast<std::uint64_t>(kKind);
  static constexpr std::uint64_t kNumberBits = (std::uint64_t{1} << kShift) - 1;

  std::map<std::uint64_t, std::shared_ptr<T>> objects_;
  std::uint64_t last_ = 0;
};

}  // namespace millrace::hip_standin
