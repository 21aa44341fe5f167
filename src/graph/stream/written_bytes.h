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
/// between them, and in all rows that do; a question is linear in the symbolic ranges and rows that have gaps.
class WrittenBytes {
 public:
  bool empty() const { return is_empty_; }
  void add(const ByteRange&);
  /// False also where it is not known.
  bool contains(const ByteRange&) const;

 private:
  void add_rows(const ByteRange&);
  void join_overlapping(SizeExpr& begin, SizeExpr& end);

  using ByForm = std::map<SizeExpr, SizeExpr, decltype(&form_less)>;
  bool is_empty_ = true;
  IntervalSet constant_;
  ByForm ends_{&form_less}, begins_{&form_less};  // of symbolic and constant spans: the end by begin, and back
  std::vector<ByteRange> rows_;                   // with gaps between them
};

}  // namespace millrace
