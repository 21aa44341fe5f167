// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::test {

/// Rows of choices, choice i one of counts[i], in which any two choices of two places meet: a table of little more rows
/// than the two largest counts have pairs. The same rows each time.
std::vector<std::vector<std::size_t>> pairwise_rows(std::span<const std::size_t> counts);

}  // namespace millrace::test
