// SPDX-License-Identifier: Apache-2.0
// A decoder block whose cache of keys and values the application keeps: the cache so far is an input of a run, and the
// cache with the new tokens is an output. Two pairs of buffers alternate, because a run never writes to its inputs. One
// program reads a whole prompt, and then one token at a time. Plain loops over all tokens check it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "millrace/millrace.h"

using namespace millrace;

namespace {

using Vector = std::vector<float>;

// Groups of two query heads share a head of keys and values.
constexpr std::int64_t kModel = 32, kHeads = 4, kCachedHeads = 2, kDepth = 8, kHidden = 48, kMaxTokens = 64;
constexpr double kEpsilon = 1e-5;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Some numbers in [-scale, scale).
Vector numbers(std::int64_t count, std::uint32_t seed, float scale) {
  Vector values(index(count));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = (static_cast<float>(seed >> 8) / 8388608.0f - 1) * scale;
  }
  return values;
}

struct Weights {
  Vector norm1 = numbers(kModel, 1, 1), norm2 = numbers(kModel, 2, 1);
  Vector query = numbers(kModel * kHeads * kDepth, 3, 0.3f), key = numbers(kModel * kCachedHeads * kDepth, 4, 0.3f);
  Vector value = numbers(kModel * kCachedHeads * kDepth, 5, 0.3f), out = numbers(kHeads * kDepth * kModel, 6, 0.2f);
  Vector gate = numbers(kModel * kHidden, 7, 0.2f), up = numbers(kModel * kHidden, 8, 0.2f);
  Vector down = numbers(kHidden * kModel, 9, 0.2f);
};

/// The angle per position by which pair i of a head's elements is rotated.
double frequency(std::int64_t i) { return std::pow(10000.0, -2.0 * static_cast<double>(i) / kDepth); }

Result<Graph> build(const Weights& w) {
  GraphBuilder graph("decoder_block");
  const SizeExpr past = Dim("past").at_most(kMaxTokens), tokens = Dim("tokens").at_least(1).at_most(kMaxTokens);
  const Tensor x = graph.input("x", DType::kF32, {tokens, kModel});
  const Tensor past_keys = graph.input("past_keys", DType::kF32, {kCachedHeads, past, kDepth});
  const Tensor past_values = graph.input("past_values", DType::kF32, {kCachedHeads, past, kDepth});
  const auto weight = [&](std::int64_t rows, std::int64_t columns, const Vector& elements) {
    return graph.constant({rows, columns}, elements);
  };

  // [tokens, kDepth / 2], from each token's position in the whole sequence.
  Vector frequencies;
  for (std::int64_t i = 0; i < kDepth / 2; ++i) frequencies.push_back(static_cast<float>(frequency(i)));
  const Tensor position = iota(graph, DType::kI64, {tokens, 1}, 0) + size_of(graph, past);
  const Tensor angle = cast(position, DType::kF32) * graph.constant({kDepth / 2}, frequencies);
  const Tensor cosine = cos(angle), sine = sin(angle);

  const Tensor h = rms_norm(x, graph.constant({kModel}, w.norm1), kEpsilon);
  const auto heads = [&](std::int64_t count, const Vector& elements) {  // [count, tokens, kDepth]
    return transpose(reshape(matmul(h, weight(kModel, count * kDepth, elements)), {tokens, count, kDepth}), {1, 0, 2});
  };
  const Tensor query = rotary_embedding(heads(kHeads, w.query), cosine, sine);
  const Tensor keys = concat({past_keys, rotary_embedding(heads(kCachedHeads, w.key), cosine, sine)}, 1);
  const Tensor values = concat({past_values, heads(kCachedHeads, w.value)}, 1);
  const Tensor seen = transpose(attention(query, keys, values, {.is_causal = true}), {1, 0, 2});
  const Tensor attended = x + matmul(reshape(seen, {tokens, kHeads * kDepth}), weight(kHeads * kDepth, kModel, w.out));

  const Tensor g = rms_norm(attended, graph.constant({kModel}, w.norm2), kEpsilon);
  const Tensor hidden = silu(matmul(g, weight(kModel, kHidden, w.gate))) * matmul(g, weight(kModel, kHidden, w.up));
  graph.output("y", attended + matmul(hidden, weight(kHidden, kModel, w.down)));
  graph.output("keys", keys);
  graph.output("values", values);
  return graph.finish();
}

/// Keys and values of the tokens so far, with room for kMaxTokens tokens.
struct Cache {
  Vector keys = Vector(index(kCachedHeads * kMaxTokens * kDepth)), values = keys;
};

class Decoder {
 public:
  static Result<Decoder> create(const Weights& weights) {
    MILLRACE_TRY_ASSIGN(Graph graph, build(weights));
    MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph)));
    MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
    return Decoder(std::move(session));
  }

  /// Continues with x[tokens, kModel].
  Status read(std::span<const float> x, std::span<float> y) {
    const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / kModel, all = past_ + tokens;
    const auto part = [](Vector& buffer, std::int64_t count) {
      return std::span(buffer).first(index(kCachedHeads * count * kDepth));
    };
    const Extents before = {kCachedHeads, past_, kDepth}, after = {kCachedHeads, all, kDepth};
    MILLRACE_TRY(session_.run({bind("x", x, {tokens, kModel}), bind("past_keys", part(now_.keys, past_), before),
                               bind("past_values", part(now_.values, past_), before)},
                              {bind("y", y, {tokens, kModel}), bind("keys", part(next_.keys, all), after),
                               bind("values", part(next_.values, all), after)}));
    std::swap(now_, next_);
    past_ = all;
    return {};
  }

 private:
  explicit Decoder(Session session) : session_(std::move(session)) {}
  Session session_;
  Cache now_, next_;
  std::int64_t past_ = 0;
};

// The expected result: plain loops over all tokens at once, without a cache.

using Rows = std::vector<std::vector<double>>;

Rows zeros(std::size_t rows, std::int64_t columns) { return Rows(rows, std::vector<double>(index(columns))); }

Rows multiply(const Rows& x, const Vector& w, std::int64_t columns) {
  Rows y = zeros(x.size(), columns);
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t k = 0; k < x[r].size(); ++k) {
      for (std::size_t c = 0; c < index(columns); ++c) y[r][c] += x[r][k] * w[k * index(columns) + c];
    }
  }
  return y;
}

Rows normalized(Rows x, const Vector& scale) {
  for (auto& row : x) {
    double squares = 0;
    for (const double value : row) squares += value * value;
    const double root = std::sqrt(squares / static_cast<double>(row.size()) + kEpsilon);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] *= scale[c] / root;
  }
  return x;
}

/// Rotates each pair (i, i + kDepth / 2) of every head.
void rotate(Rows& x) {
  for (std::size_t position = 0; position < x.size(); ++position) {
    for (std::size_t head = 0; head < x[position].size(); head += kDepth) {
      for (std::int64_t i = 0; i < kDepth / 2; ++i) {
        const double angle = static_cast<double>(position) * static_cast<float>(frequency(i));
        double &a = x[position][head + index(i)], &b = x[position][head + index(i + kDepth / 2)];
        const double first = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = first;
      }
    }
  }
}

Rows attend(const Rows& query, const Rows& key, const Rows& value) {
  Rows seen = zeros(query.size(), kHeads * kDepth);
  for (std::size_t row = 0; row < query.size(); ++row) {
    for (std::size_t head = 0; head < kHeads; ++head) {
      const std::size_t from = head * kDepth, cached = head / (kHeads / kCachedHeads) * kDepth;
      double sum = 0;
      for (std::size_t other = 0; other <= row; ++other) {
        double score = 0;
        for (std::size_t d = 0; d < kDepth; ++d) score += query[row][from + d] * key[other][cached + d];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(kDepth)));
        sum += weight;
        for (std::size_t d = 0; d < kDepth; ++d) seen[row][from + d] += weight * value[other][cached + d];
      }
      for (std::size_t d = 0; d < kDepth; ++d) seen[row][from + d] /= sum;
    }
  }
  return seen;
}

void add(Rows& x, const Rows& y) {
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t c = 0; c < x[r].size(); ++c) x[r][c] += y[r][c];
  }
}

Rows expected(const Weights& w, const Vector& tokens) {
  Rows x = zeros(tokens.size() / kModel, kModel);
  for (std::size_t i = 0; i < tokens.size(); ++i) x[i / kModel][i % kModel] = tokens[i];
  const Rows h = normalized(x, w.norm1);
  Rows query = multiply(h, w.query, kHeads * kDepth), key = multiply(h, w.key, kCachedHeads * kDepth);
  rotate(query);
  rotate(key);
  add(x, multiply(attend(query, key, multiply(h, w.value, kCachedHeads * kDepth)), w.out, kModel));
  const Rows g = normalized(x, w.norm2);
  Rows hidden = multiply(g, w.gate, kHidden);
  const Rows up = multiply(g, w.up, kHidden);
  for (std::size_t r = 0; r < hidden.size(); ++r) {
    for (std::size_t c = 0; c < kHidden; ++c) hidden[r][c] *= up[r][c] / (1 + std::exp(-hidden[r][c]));
  }
  add(x, multiply(hidden, w.down, kModel));
  return x;
}

Status run() {
  const Weights weights;
  const std::int64_t steps[] = {5, 1, 1, 3, 1};  // a prompt, tokens one by one, and several at once in between
  const Vector x = numbers(11 * kModel, 10, 1);
  const Rows reference = expected(weights, x);
  MILLRACE_TRY_ASSIGN(Decoder decoder, Decoder::create(weights));
  std::size_t first = 0;
  for (const std::int64_t tokens : steps) {
    const std::size_t count = index(tokens * kModel);
    Vector y(count);
    MILLRACE_TRY(decoder.read(std::span(x).subspan(first, count), y));
    double error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      error = std::max(error, std::fabs(y[i] - reference[(first + i) / kModel][(first + i) % kModel]));
    }
    fmt::print("{:2} tokens after {:2}: y[0] = {:.4f}, {:.4f}, {:.4f} ..., off by {:.1e} at most\n", tokens,
               first / kModel, y[0], y[1], y[2], error);
    if (!(error < 1e-5)) return internal_error("decoder_block: y differs from the result of plain loops");
    first += count;
  }
  return {};
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
