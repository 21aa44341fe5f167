// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/byte_span.h"
#include "base/interval_set.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// Bytes that are surely written, whatever a run binds. Symbolic ranges that follow each other become one, as do rows
/// whose columns are side by side. Adding one that follows another is O(log n), else linear in up to 64 that have gaps
/// between them, and in all rows that do; a question is linear in the symbolic ranges and rows that have gaps. What was
/// added is never forgotten.
class WrittenBytes {
 public:
  bool empty() const { return is_empty_; }
  void add(const ByteRange&);
  /// False also where it is not known.
  bool contains(const ByteRange&) const;

 private:
  template <class T>
  using MapByForm = std::map<SizeExpr, T, decltype(&form_less)>;

  /// Spans, symbolic and constant, that are joined where that is sure.
  class Spans {
   public:
    void add(const SizeExpr& begin, const SizeExpr& end);
    bool contain(const SizeExpr& begin, const SizeExpr& end) const;

   private:
    void join_overlapping(SizeExpr& begin, SizeExpr& end);

    MapByForm<SizeExpr> ends_{&form_less}, begins_{&form_less};  // the end by begin, and back
    std::vector<ByteSpan> apart_;                                // that others cannot be joined with
  };

  void add_rows(const ByteRange&);

  bool is_empty_ = true;
  IntervalSet constant_;
  MapByForm<std::vector<SizeExpr>> added_{&form_less};  // as they came: a joined one need not be known to have them
  Spans spans_;
  /// With the first row and the last one of rows. They close the gap to a neighbour of which no rows are known, only
  /// where it begins and ends; elsewhere they are in the way of what begins or ends where they do.
  Spans with_outer_rows_;
  std::vector<ByteRange> rows_;  // with gaps between them
};

}  // namespace millrace
