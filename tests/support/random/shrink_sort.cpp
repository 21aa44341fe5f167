// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tests/support/random/sort_trial.h"

namespace millrace::test {
namespace {

using reference::Tensor;

/// Without the elements [first, first + count) along an axis.
Tensor without(const Tensor& x, std::size_t axis, std::int64_t first, std::int64_t count) {
  reference::Extents extents = x.extents();
  const reference::Extents strides = reference::row_major_strides(extents);
  extents[axis] -= count;
  Tensor rest(x.type.dtype, extents);
  std::int64_t to = 0;
  reference::for_each_index(extents, [&](const reference::Extents& index) {
    std::int64_t from = reference::offset_of(index, strides);
    if (index[axis] >= first) from += count * strides[axis];
    std::memcpy(rest.element(to++), x.element(from), size_bytes(x.type.dtype));
  });
  return rest;
}

class Shrinker {
 public:
  Shrinker(SortTrial trial, const std::function<bool(const SortTrial&)>& fails)
      : trial_(std::move(trial)), fails_(fails) {}

  SortTrial run() {
    for (bool is_smaller = true; is_smaller && tries_left_ > 0;) {
      is_smaller = shrink_program();
      for (std::size_t axis = 0; axis < trial_.x.extents().size(); ++axis) {
        is_smaller = shrink_along(axis) || is_smaller;
      }
      is_smaller = shrink_k() || is_smaller;
    }
    return trial_;
  }

 private:
  bool accept(const SortTrial& smaller) {
    if (tries_left_ == 0) return false;
    --tries_left_;
    if (!fails_(smaller)) return false;
    trial_ = smaller;
    return true;
  }
  template <class Change>
  bool change(Change&& change) {
    SortTrial smaller = trial_;
    change(smaller);
    return accept(smaller);
  }

  bool shrink_program() {
    bool is_smaller = false;
    if (trial_.strides != Strides::kDense) is_smaller |= change([](SortTrial& t) { t.strides = Strides::kDense; });
    if (trial_.has_dynamic_extents) is_smaller |= change([](SortTrial& t) { t.has_dynamic_extents = false; });
    if (trial_.has_dynamic_k) is_smaller |= change([](SortTrial& t) { t.has_dynamic_k = false; });
    for (const std::uint32_t used : {1u, 2u}) {
      if (trial_.used_results == 3) is_smaller |= change([&](SortTrial& t) { t.used_results = used; });
    }
    return is_smaller;
  }

  /// Takes away half of the elements, then quarters and so on, wherever it can.
  bool shrink_along(std::size_t axis) {
    bool is_smaller = false;
    for (std::int64_t count = trial_.x.extents()[axis] / 2 + 1; count > 0; count /= 2) {
      for (std::int64_t first = 0; first + count <= trial_.x.extents()[axis];) {
        const bool is_taken = change([&](SortTrial& t) {
          t.x = without(t.x, axis, first, count);
          if (axis == t.axis) t.k = std::min(t.k, t.n());
        });
        is_smaller = is_smaller || is_taken;
        if (!is_taken) first += count;
        if (tries_left_ == 0) return is_smaller;
      }
    }
    return is_smaller;
  }

  bool shrink_k() {
    if (trial_.op != Op::topk) return false;
    bool is_smaller = false;
    while (trial_.k > 0 && change([](SortTrial& t) { t.k /= 2; })) is_smaller = true;
    while (trial_.k > 0 && change([](SortTrial& t) { --t.k; })) is_smaller = true;
    return is_smaller;
  }

  SortTrial trial_;
  const std::function<bool(const SortTrial&)>& fails_;
  int tries_left_ = 1000;
};

}  // namespace

SortTrial shrink_sort(SortTrial trial, const std::function<bool(const SortTrial&)>& fails) {
  return Shrinker(std::move(trial), fails).run();
}

}  // namespace millrace::test
