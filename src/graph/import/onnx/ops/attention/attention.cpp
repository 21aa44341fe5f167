// SPDX-License-Identifier: Apache-2.0
// Imports Attention of versions 23 to 25. Scores are computed in f32 or f64.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/node_context.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/attention.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// `allowed` is a bool [..., queries, keys]: which keys each query sees. `added` is added to the scores. Both broadcast
/// to the scores, and either may be absent.
struct Visibility {
  Tensor allowed, added;
  /// Whether every query is sure to see a key, if there are any keys.
  bool sees_some_key = true;

  void restrict(Tensor more) { allowed = allowed.builder() == nullptr ? more : logical_and(allowed, more); }
  bool is_restricted() const { return allowed.builder() != nullptr || added.builder() != nullptr; }
};

class AttentionImporter {
 public:
  explicit AttentionImporter(OnnxNodeContext& node) : node_(node) {}

  Result<OnnxResults> import() {
    MILLRACE_TRY(read_attributes());
    MILLRACE_TRY(read_operands());
    MILLRACE_TRY_ASSIGN(const Visibility visibility, find_visibility());
    Tensor scores = multiply_keys() * scale_;
    Tensor shown = scores;  // the fourth result
    if (softcap_ > 0) scores = tanh(scores / softcap_) * softcap_;
    if (shown_ == 1) shown = scores;
    if (visibility.added.builder() != nullptr) scores = scores + visibility.added;
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (visibility.allowed.builder() != nullptr) scores = where(visibility.allowed, scores, kHidden);
    if (shown_ == 2) shown = scores;
    if (softmax_dtype_) scores = cast(scores, *softmax_dtype_);
    Tensor weights = cast(softmax(scores), wide_dtype(dtype_));
    if (!visibility.sees_some_key) weights = where(sees_key(visibility), weights, 0.0);
    if (shown_ == 3) shown = weights;
    MILLRACE_TRY_ASSIGN(const Tensor y, node_.built(narrow(multiply_values(weights), dtype_)));
    return OnnxResults{y, present_key_, present_value_, narrow(shown, dtype_)};
  }

 private:
  Status read_attributes() {
    MILLRACE_TRY_ASSIGN(is_causal_, node_.flag_attribute("is_causal", false));
    MILLRACE_TRY_ASSIGN(softcap_, node_.number_attribute("softcap", 0));
    MILLRACE_TRY_ASSIGN(shown_, node_.integer_attribute("qk_matmul_output_mode", 0));
    if (shown_ < 0 || shown_ > 3) {
      return node_.attribute_error("qk_matmul_output_mode", fmt::format("found {}, expected 0 to 3", shown_));
    }
    if (node_.has_attribute("softmax_precision")) {
      MILLRACE_TRY_ASSIGN(softmax_dtype_, node_.dtype_attribute("softmax_precision"));
      if (!is_float(*softmax_dtype_)) {
        return node_.attribute_error("softmax_precision",
                                     fmt::format("found {}, expected floats", to_text(*softmax_dtype_)));
      }
    }
    if (node_.version() < 25) return {};
    MILLRACE_TRY_ASSIGN(left_window_, node_.integer_attribute("left_window_size", -1));
    MILLRACE_TRY_ASSIGN(right_window_, node_.integer_attribute("right_window_size", -1));
    if (left_window_ < -1) {
      return node_.attribute_error("left_window_size", fmt::format("found {}, expected -1 or more", left_window_));
    }
    if (right_window_ < -1) {
      return node_.attribute_error("right_window_size", fmt::format("found {}, expected -1 or more", right_window_));
    }
    return {};
  }

  /// An operand as [batch, heads, sequence, head size].
  Result<Tensor> read_heads(std::size_t operand, std::string_view heads_attribute) {
    MILLRACE_TRY_ASSIGN(const Tensor x, node_.tensor(operand));
    const Shape shape = x.shape();
    const bool has_heads = node_.has_attribute(heads_attribute);
    MILLRACE_TRY_ASSIGN(const std::int64_t heads, node_.integer_attribute(heads_attribute, 0));
    if (shape.rank() == 4) {
      is_flat_ = false;
      if (!has_heads || shape[1].is(heads)) return x;
      return node_.attribute_error(heads_attribute,
                                   fmt::format("found {}, expected dim 1 of {}", heads, x.type().to_text()));
    }
    if (shape.rank() != 3) {
      return node_.operand_error(operand, fmt::format("is {}, expected rank 3 or 4", x.type().to_text()));
    }
    if (heads < 1 || shape[2].known_multiple() % heads != 0) {
      return node_.attribute_error(heads_attribute, fmt::format("found {}, expected a divisor of the last dim of {}",
                                                                heads, x.type().to_text()));
    }
    const Tensor divided = reshape(x, {shape[0], shape[1], heads, floor_div(shape[2], heads)});
    return node_.built(transpose(divided, {0, 2, 1, 3}));
  }

  Status read_operands() {
    MILLRACE_TRY_ASSIGN(query_, read_heads(0, "q_num_heads"));
    MILLRACE_TRY_ASSIGN(Tensor key, read_heads(1, "kv_num_heads"));
    MILLRACE_TRY_ASSIGN(Tensor value, read_heads(2, "kv_num_heads"));
    dtype_ = query_.dtype();
    if (!is_float(dtype_)) {
      return node_.operand_error(0, fmt::format("is {}, expected floats", query_.type().to_text()));
    }
    if (node_.has(4) != node_.has(5)) return invalid_argument(": found one of past_key and past_value, expected both");
    if (node_.has(4)) {
      MILLRACE_TRY_ASSIGN(const Tensor past_key, node_.tensor(4));
      MILLRACE_TRY_ASSIGN(const Tensor past_value, node_.tensor(5));
      if (past_key.shape().rank() != 4) {
        return node_.operand_error(4, fmt::format("is {}, expected rank 4", past_key.type().to_text()));
      }
      num_past_ = past_key.shape()[2];
      MILLRACE_TRY_ASSIGN(key, node_.built(concat({past_key, key}, 2)));
      MILLRACE_TRY_ASSIGN(value, node_.built(concat({past_value, value}, 2)));
    }
    present_key_ = key;
    present_value_ = value;
    MILLRACE_TRY(check_heads(key, value));
    MILLRACE_TRY_ASSIGN(query_, node_.built(widen(query_, query_.dtype())));
    MILLRACE_TRY_ASSIGN(key_, node_.built(cast(key, query_.dtype())));
    MILLRACE_TRY_ASSIGN(value_, node_.built(cast(value, query_.dtype())));
    const SizeExpr& depth = query_.shape()[3];
    if (node_.has_attribute("scale")) {
      MILLRACE_TRY_ASSIGN(scale_, node_.number_attribute("scale"));
    } else if (!depth.is_constant()) {
      return unimplemented(fmt::format(": the head size {} is not known; give the attribute scale", depth.to_text()));
    } else {
      scale_ = 1 / std::sqrt(static_cast<double>(depth.constant()));
    }
    return {};
  }

  Status check_heads(const Tensor& key, const Tensor& value) {
    const Shape &q = query_.shape(), &k = key.shape(), &v = value.shape();
    const bool fits = k[0] == q[0] && v[0] == q[0] && k[1] == v[1] && k[2] == v[2] && k[3] == q[3];
    if (!fits) {
      return invalid_argument(fmt::format(": query, key and value are {}, {} and {}, which do not fit together",
                                          query_.type().to_text(), key.type().to_text(), value.type().to_text()));
    }
    if (q[1] == k[1]) return {};
    const bool divides =
        q[1].is_constant() && k[1].is_constant() && k[1].constant() > 0 && q[1].constant() % k[1].constant() == 0;
    if (divides) return {};
    return invalid_argument(
        fmt::format(": found {} query heads, expected a multiple of the {} key heads", q[1].to_text(), k[1].to_text()));
  }

  /// Positions along one side of the scores, as [queries, 1] or [keys].
  Tensor positions_of_queries() const {
    return unsqueeze(iota(node_.graph(), DType::kI64, {query_.shape()[2]}, 0), {1});
  }
  Tensor positions_of_keys() const { return iota(node_.graph(), DType::kI64, {key_.shape()[2]}, 0); }

  Result<Visibility> find_visibility() {
    GraphBuilder& graph = node_.graph();
    Visibility visibility;
    MILLRACE_TRY(read_mask(visibility));
    Tensor num_valid;  // [batch, 1, 1, 1]
    if (node_.version() >= 24 && node_.has(6)) {
      if (node_.has(4)) return invalid_argument(": has nonpad_kv_seqlen and past_key, expected one of them");
      MILLRACE_TRY_ASSIGN(const Tensor given, node_.tensor(6));
      if (given.shape() != Shape{query_.shape()[0]}) {
        return node_.operand_error(6, fmt::format("is {}, expected one number per sequence of the batch, {}",
                                                  given.type().to_text(), query_.shape()[0].to_text()));
      }
      num_valid = unsqueeze(cast(given, DType::kI64), {1, 2, 3});
      visibility.restrict(less(positions_of_keys(), num_valid));
      visibility.sees_some_key = false;
    }
    const bool has_window = left_window_ >= 0 || right_window_ >= 0;
    if (!is_causal_ && !has_window) return visibility;
    if (has_window) visibility.sees_some_key = false;
    const Tensor keys = positions_of_keys();
    const bool is_padded = num_valid.builder() != nullptr;
    const Tensor offset = is_padded ? num_valid - size_of(graph, query_.shape()[2]) : size_of(graph, num_past_);
    const Tensor places = positions_of_queries() + offset;
    if (is_causal_) visibility.restrict(less_equal(keys, places));
    if (left_window_ >= 0) visibility.restrict(greater_equal(keys, places - left_window_));
    if (right_window_ >= 0) visibility.restrict(less_equal(keys, places + right_window_));
    return visibility;
  }

  /// A mask that is shorter than the keys hides the remaining keys.
  Status read_mask(Visibility& visibility) {
    if (!node_.has(3)) return {};
    MILLRACE_TRY_ASSIGN(Tensor mask, node_.tensor(3));
    const bool is_bool = mask.dtype() == DType::kBool;
    const std::size_t rank = mask.shape().rank();
    if (rank < 1 || rank > 4 || (!is_bool && mask.dtype() != dtype_)) {
      return node_.operand_error(
          3, fmt::format("is {}, expected bool or {} of rank 1 to 4", mask.type().to_text(), to_text(dtype_)));
    }
    const SizeExpr missing = key_.shape()[2] - mask.shape()[rank - 1];
    if (!missing.is(0)) {
      std::vector<SizeExpr> low(rank, 0), high(rank, 0);
      high[rank - 1] = missing;
      const Number hidden = is_bool ? Number(0) : Number(-std::numeric_limits<double>::infinity());
      MILLRACE_TRY_ASSIGN(mask, node_.built(pad(mask, std::move(low), std::move(high), hidden)));
    }
    visibility.sees_some_key = false;
    if (is_bool) {
      visibility.restrict(mask);
    } else {
      visibility.added = widen(mask, dtype_);
    }
    return {};
  }

  /// Whether each query sees any key: a bool that broadcasts to the scores, with extent 1 along the keys.
  Tensor sees_key(const Visibility& visibility) const {
    Tensor visible = visibility.allowed;
    if (visibility.added.builder() != nullptr) {
      const Tensor counts = greater(visibility.added, -std::numeric_limits<double>::infinity());
      visible = visible.builder() == nullptr ? counts : logical_and(visible, counts);
    }
    return reduce_any(visible, {-1}, true);
  }

  /// How many query heads share each key head; empty if each query head has its own.
  std::optional<std::int64_t> group() const {
    if (query_.shape()[1] == key_.shape()[1]) return {};
    return query_.shape()[1].constant() / key_.shape()[1].constant();
  }

  /// x[batch, heads, m, n] with the heads in groups: [batch, key heads, group, m, n].
  Tensor divide(Tensor x) const {
    if (!group() || !x.is_valid()) return x;
    const Shape shape = x.shape();
    return reshape(x, {shape[0], key_.shape()[1], *group(), shape[2], shape[3]});
  }
  Tensor join(Tensor x) const {
    if (!group() || !x.is_valid()) return x;
    const Shape shape = x.shape();
    return reshape(x, {shape[0], query_.shape()[1], shape[3], shape[4]});
  }

  Tensor multiply_keys() const {
    const std::int64_t last = group() ? 4 : 3;
    return join(
        dot(divide(query_), key_, {.x_batch = {0, 1}, .y_batch = {0, 1}, .x_contract = {last}, .y_contract = {3}}));
  }

  Tensor multiply_values(Tensor weights) const {
    const std::int64_t last = group() ? 4 : 3;
    const Tensor y = join(
        dot(divide(weights), value_, {.x_batch = {0, 1}, .y_batch = {0, 1}, .x_contract = {last}, .y_contract = {2}}));
    if (!is_flat_ || !y.is_valid()) return y;
    const Shape shape = y.shape();
    return reshape(transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  }

  OnnxNodeContext& node_;
  bool is_causal_ = false, is_flat_ = true;
  double softcap_ = 0, scale_ = 1;
  std::int64_t shown_ = 0, left_window_ = -1, right_window_ = -1;
  std::optional<DType> softmax_dtype_;
  DType dtype_ = DType::kF32;
  Tensor query_, key_, value_;  // [batch, heads, sequence, head size]
  Tensor present_key_, present_value_;
  SizeExpr num_past_ = 0;
};

}  // namespace

Result<OnnxResults> import_attention(OnnxNodeContext& node) { return AttentionImporter(node).import(); }

}  // namespace millrace
