// SPDX-License-Identifier: Apache-2.0
// Maps a NumPy file's elements instead of copying them, if they are in row-major order.
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/tensor_file.h"
#include "millrace/graph/npy.h"

namespace millrace {

Result<NpyView> NpyReader::map() {
  return guard_allocations(where_, [&]() -> Result<NpyView> {
    const std::optional<std::uint64_t> left = file_.size_left();
    if (is_fortran_order_ || !left) {
      MILLRACE_TRY_ASSIGN(NpyArray array, read());
      return NpyView{std::move(array.type), std::move(array.bytes)};
    }
    MILLRACE_TRY(check_file_size(where_, type_, *left));  // the file may have changed since open()
    MILLRACE_TRY_ASSIGN(SharedBytes elements, file_.map(static_cast<std::size_t>(size_bytes(type_).constant())));
    if (type_.dtype == DType::kBool && !are_bools(elements)) {
      return data_loss(fmt::format("{}: has a bool that is neither 0 nor 1; save it as .astype(bool)", where_));
    }
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(elements.data()) % size_bytes(type_.dtype) == 0;
    return NpyView{type_, is_aligned ? std::move(elements) : SharedBytes(std::span(elements))};
  });
}

}  // namespace millrace
