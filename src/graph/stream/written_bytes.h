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
  void add_span(SizeExpr begin, SizeExpr end);
  void add_rows(const ByteRange&);
  void join_overlapping(SizeExpr& begin, SizeExpr& end);

  template <class T>
  using MapByForm = std::map<SizeExpr, T, decltype(&form_less)>;
  bool is_empty_ = true;
  IntervalSet constant_;
  // Symbolic and constant spans, joined: the end by begin, and back.
  MapByForm<SizeExpr> ends_{&form_less}, begins_{&form_less};
  MapByForm<std::vector<SizeExpr>> added_{&form_less};  // as they came: a joined one need not be known to have them
  std::vector<ByteSpan> apart_;                         // that others cannot be joined with
  std::vector<ByteRange> rows_;                         // with gaps between them
};

}  // namespace millrace
