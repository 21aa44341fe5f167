// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "millrace/graph/compile.h"
#include "tests/reference/tensor.h"
#include "tests/support/guarded_tensor.h"

namespace millrace::test {

/// One sort or TopK of one tensor: its constants in the program, and the sizes that a run binds.
struct SortTrial {
  Op op = Op::sort;
  std::size_t axis = 0;
  std::int64_t k = 0;  // of a TopK
  bool is_descending = false, is_sorted = true;
  std::uint32_t used_results = 3;
  /// Which sizes a run binds, and their promised maxima. A k needs one.
  bool has_dynamic_extents = false, has_dynamic_k = false;
  std::int64_t max_n = std::numeric_limits<std::int64_t>::max(), max_k = max_n;
  /// A graph has only dense ones: a kernel with others runs alone, with constant sizes.
  Strides strides = Strides::kDense;
  GuardedBuffer::Guard guard = GuardedBuffer::Guard::kAfter;
  reference::Tensor x;

  std::int64_t n() const { return x.extents()[axis]; }
};

Attributes attributes_of(const SortTrial&);
/// The sort as a graph, whose input is named x.
Graph graph_of(const SortTrial&);
/// The graph, the layout, and each element's bits if they are few.
std::string to_text(const SortTrial&);

/// Programs by device and graph, so that trials of one are compiled once.
using ProgramCache = std::map<std::string, Program>;

/// What is wrong with the results on the device ("cpu:avx2"), or nothing: they are bit for bit the oracle's, in any
/// order if not sorted, and no byte of the input or around the results has changed. `expected` are the oracle's
/// results.
std::string check_sort(const SortTrial&, const std::vector<reference::Tensor>& expected, const std::string& device,
                       ProgramCache&);
/// Results of the oracle.
std::vector<reference::Tensor> expected_of(const SortTrial&);

/// The smallest trial found by taking away rows, elements, results and dynamic sizes for which `fails` still holds.
/// Makes at most a thousand attempts.
SortTrial shrink_sort(SortTrial, const std::function<bool(const SortTrial&)>& fails);

}  // namespace millrace::test
