// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hal/host/routines/element_copies.h"
#include "hal/host/routines/row_loader.h"

namespace millrace {

/// Contiguous elements of a row, in memory or computed whenever they are read.
class RowReader {
 public:
  RowReader(const std::byte* elements, std::int64_t element_bytes)
      : elements_(elements), element_bytes_(element_bytes) {}
  /// Reads the loader's current row. `piece` has RowLoader::kPieceBytes, `some` has RowLoader::kSomeBytes.
  RowReader(const RowLoader& loader, std::byte* piece, std::byte* some, std::int64_t element_bytes)
      : element_bytes_(element_bytes), loader_(&loader), piece_(piece), some_(some) {}

  std::int64_t element_bytes() const { return element_bytes_; }
  /// The loader that computes the elements; null if they are in memory.
  const RowLoader* loader() const { return loader_; }
  /// The maximum number of elements that one call of read() returns; a power of two if there is a limit.
  std::int64_t max_at_once() const {
    return loader_ == nullptr ? std::numeric_limits<std::int64_t>::max() : RowLoader::kPieceBytes / element_bytes_;
  }
  /// The elements from `first` on, valid until the next call.
  const std::byte* read(std::int64_t first, std::int64_t count) const {
    if (loader_ == nullptr) return elements_ + first * element_bytes_;
    loader_->compute(first, count, piece_);
    return piece_;
  }
  /// Computes pieces of `size` elements, one after the other. Piece i begins at element first + numbers[i] * size.
  /// The result is valid until the next call. Precondition: there is a loader, and the pieces have at most
  /// max_at_once() elements in total.
  template <class Key>
  const std::byte* read_pieces(const Key* numbers, std::int64_t count, std::int64_t first, std::int64_t size) const {
    for (std::int64_t i = 0; i < count; ++i) {
      loader_->compute(first + numbers[i] * size, size, piece_ + i * size * element_bytes_);
    }
    return piece_;
  }
  /// Copies the elements at these indices, which are unsigned integers although the type Key is signed.
  template <class Key>
  void copy(const Key* numbers, std::int64_t count, std::byte* to) const {
    using Number = std::make_unsigned_t<Key>;
    const auto* const unsigned_numbers = reinterpret_cast<const Number*>(numbers);
    if (loader_ != nullptr) return loader_->compute_some(unsigned_numbers, count, to, some_);
    copy_elements(elements_, element_bytes_, unsigned_numbers, count, to);
  }

 private:
  const std::byte* elements_ = nullptr;
  std::int64_t element_bytes_;
  const RowLoader* loader_ = nullptr;
  std::byte *piece_ = nullptr, *some_ = nullptr;
};

}  // namespace millrace
