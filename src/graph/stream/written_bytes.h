// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/byte_span.h"
#include "base/interval_set.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// The bytes that are certainly written, for every binding. Adjacent symbolic ranges are joined, and so are rows whose
/// columns are adjacent. Adding a range that continues another takes O(log n). Adding any other range visits at most 64
/// separate ranges and all rows with gaps. A query takes linear time in the symbolic ranges and rows with gaps. Added
/// ranges are never removed.
class WrittenBytes {
 public:
  bool empty() const { return is_empty_; }
  void add(const ByteRange&);
  /// Whether all of these bytes are certainly written; false if it is unknown.
  bool contains(const ByteRange&) const;

 private:
  template <class T>
  using MapByForm = std::map<SizeExpr, T, decltype(&form_less)>;

  /// Symbolic and constant spans. Spans that certainly overlap or touch are joined.
  class Spans {
   public:
    void add(const SizeExpr& begin, const SizeExpr& end);
    bool contain(const SizeExpr& begin, const SizeExpr& end) const;

   private:
    void join_overlapping(SizeExpr& begin, SizeExpr& end);

    MapByForm<SizeExpr> ends_{&form_less}, begins_{&form_less};  // begin -> end, and end -> begin
    std::vector<ByteSpan> apart_;                                // spans that cannot be joined with others
  };

  void add_rows(const ByteRange&);

  bool is_empty_ = true;
  IntervalSet constant_;
  /// Begin -> ends, as added. After joining, it may be impossible to prove that a span contains one of them.
  MapByForm<std::vector<SizeExpr>> added_{&form_less};
  Spans spans_;
  /// `spans_`, and the first and the last row of each range with gaps. These rows close the gap to a neighbour if only
  /// its begin and end are known. They are not in `spans_`, where they would collide with spans that begin or end at
  /// the same places.
  Spans with_outer_rows_;
  std::vector<ByteRange> rows_;  // the rows that have gaps between them
};

}  // namespace millrace
