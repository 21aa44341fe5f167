// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/ir/linear_value.h"
#include "millrace/jit/algorithm.h"

namespace millrace {

/// Traverses the rows along one axis of tensors whose shapes are equal except along the axis. A thread handles one row
/// per lane of a vector: rows that are neighbours in the last dim. If the axis is the last dim, the thread handles a
/// single row or, if `gathers` is set, neighbouring rows in the longest other dim, whose elements it gathers and
/// scatters.
class LineWalk {
 public:
  struct Threads {
    std::uint32_t lanes = 1;  // the maximum number of lanes; fewer are used if the lanes' dim is shorter
    std::uint32_t workgroup_size = 1;
    bool gathers = false;  // whether a vector handles several rows if the axis is the last dim
  };
  /// `shape` is the common shape; its extent along the axis does not matter.
  LineWalk(MachineBuilder& b, const Shape& shape, std::uint32_t axis, const Threads& threads);

  std::uint32_t lanes() const { return lanes_; }
  SizeExpr num_groups() const;

  /// Finds the thread's position in every dim except the axis, then emits `body`. With several lanes, it emits `body`
  /// twice: for whole vectors, and with masked loads and stores for a partial vector at the end of the lanes' dim.
  void run(const std::function<void()>& body);

  /// The offset where the row starts in a tensor. `dim_of(d)` is the tensor's dim for dim d of `shape`.
  LinearValue start(const KernelTensor& tensor, const std::function<std::size_t(std::size_t)>& dim_of) const;
  LinearValue start(const KernelTensor& tensor) const;

  /// The offset of element `position` (i64) of the row that begins at `start`.
  MachineValue element(const KernelTensor& tensor, const LinearValue& start, MachineValue position);

  /// Accesses one element per lane: lane 0 at `offset`, and the other lanes at the stride of the lanes' dim.
  MachineValue load(MemoryHandle memory, const Layout& layout, MachineValue offset);
  void store(MemoryHandle memory, const Layout& layout, MachineValue offset, MachineValue value);
  /// Loads element `positions[l]` of lane l's row. The rows begin at `start`.
  MachineValue load_each(MemoryHandle memory, const KernelTensor& tensor, const LinearValue& start,
                         MachineValue positions);

 private:
  bool is_lane_dim(std::size_t d) const { return lanes_ > 1 && d == lane_dim_; }
  /// Finds the row's place, then calls `body`.
  void walk_line(MachineValue line, const std::function<void()>& body);
  /// The number of rows along the axis. Rows that one thread handles together count as one.
  SizeExpr num_lines() const;
  SizeExpr steps_of(std::size_t d) const { return is_lane_dim(d) ? ceil_div(shape_[d], lanes_) : shape_[d]; }
  const SizeExpr& lane_stride(const Layout&) const;
  MachineValue mask_or_all();
  MachineValue lane_offsets(MachineValue offset, const SizeExpr& stride);

  MachineBuilder& b_;
  Shape shape_;
  std::uint32_t axis_;
  std::size_t lane_dim_ = 0;  // unused for one lane
  std::uint32_t lanes_ = 1;
  std::uint32_t workgroup_size_;
  std::vector<LinearValue> places_;  // the thread's position in each dim; unused for the axis
  std::optional<MachineValue> mask_;
};

}  // namespace millrace
