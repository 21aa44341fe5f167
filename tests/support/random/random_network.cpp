// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_network.h"

#include <random>
#include <string>
#include <vector>

#include "millrace/graph/composites.h"

namespace millrace::test {
namespace {

class NetworkMaker {
 public:
  NetworkMaker(std::uint64_t seed, bool is_symbolic) : graph_("network"), random_(seed), is_symbolic_(is_symbolic) {}

  Graph make() {
    for (int i = 0; i < 3; ++i) {
      values_.push_back(graph_.input("x" + std::to_string(i), DType::kF32, {any_rows(), any_columns()}));
    }
    const std::size_t count = 10 + below(50);
    while (values_.size() < count) values_.push_back(next());
    for (std::size_t i = 0; i < 3; ++i) {
      graph_.output("y" + std::to_string(i), cumulative_sum(values_[values_.size() - 1 - i]));
    }
    return graph_.finish().value();
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  SizeExpr any_rows() {
    const Dim n = Dim("n").at_least(1).at_most(4096), m = Dim("m").at_least(1).at_most(4096);
    const std::size_t choice = is_symbolic_ ? below(4) : 3;
    const std::int64_t number = 1 + static_cast<std::int64_t>(below(300));
    return choice == 0 ? SizeExpr(n) : choice == 1 ? SizeExpr(m) : choice == 2 ? SizeExpr(n) * 2 : SizeExpr(number);
  }
  std::int64_t any_columns() {
    const std::size_t factor = below(4);
    return 1 + static_cast<std::int64_t>(factor * below(80));
  }

  /// One of the last values, mostly.
  Tensor any_value() { return values_[values_.size() - 1 - below(below(4) == 0 ? values_.size() : 3)]; }
  Tensor value_like(const Tensor& x) {
    for (int i = 0; i < 8; ++i) {
      const Tensor y = any_value();
      if (y.shape() == x.shape()) return y;
    }
    return x;
  }

  Tensor next() {
    const Tensor x = any_value();
    switch (below(6)) {
      case 0:
        return cumulative_sum(x);
      case 1:
        return matmul(x,
                      graph_.input("w" + std::to_string(values_.size()), DType::kF32, {x.shape()[1], any_columns()}));
      case 2:
        return softmax(x + value_like(x));
      case 3:
        return sort(x).values;
      case 4:
        return concat(std::vector{x, softmax(x)}, 0);
      default:
        return reduce_sum(x, {0}, true);
    }
  }

  GraphBuilder graph_;
  std::mt19937_64 random_;
  bool is_symbolic_;
  std::vector<Tensor> values_;
};

}  // namespace

Graph make_random_network(std::uint64_t seed, bool is_symbolic) { return NetworkMaker(seed, is_symbolic).make(); }

}  // namespace millrace::test
