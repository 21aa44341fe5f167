// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "graph/import/tensor_file.h"
#include "millrace/graph/npy.h"

namespace millrace {

Result<NpyView> NpyReader::map() {
  const auto size = static_cast<std::size_t>(size_bytes(type_).constant());
  std::optional<FileView> mapped = is_fortran_order_ ? std::nullopt : file_.map(size, size_bytes(type_.dtype));
  if (mapped) {
    if (type_.dtype == DType::kBool && !are_bools(mapped->bytes)) {
      return data_loss(fmt::format("{}: has a bool that is neither 0 nor 1; save it as .astype(bool)", where_));
    }
    return NpyView{type_, *std::move(mapped)};
  }
  MILLRACE_TRY_ASSIGN(NpyArray array, read());
  const auto owner = std::make_shared<const NpyArray>(std::move(array));
  return NpyView{owner->type, {owner->bytes, owner}};
}

}  // namespace millrace
