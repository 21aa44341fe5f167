// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace millrace {

/// Owns a file descriptor. The destructor closes it; call close() to learn whether closing failed.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Returns 0 or an errno.
  int close() { return number_ >= 0 && ::close(std::exchange(number_, -1)) != 0 ? errno : 0; }

 private:
  int number_;
};

}  // namespace millrace
