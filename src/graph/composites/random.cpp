// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers, and samples of a categorical distribution, from iotas and integer ops.
#include <array>

#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// 32-bit words, held in u64 so that products keep all their bits.
using Words = std::array<Tensor, 4>;

constexpr std::uint64_t kWord = std::uint64_t{1} << 32;

Tensor low_word(Tensor x) { return logical_and(x, kWord - 1); }
Tensor high_word(Tensor x) { return x / kWord; }

/// Philox with ten rounds; the key is the seed's two words.
/// Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
Words philox(Words counter, Tensor seed) {
  Tensor key[] = {low_word(seed), high_word(seed)};
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] = low_word(key[0] + std::uint64_t{0x9e3779b9});
      key[1] = low_word(key[1] + std::uint64_t{0xbb67ae85});
    }
    Tensor first = counter[0] * std::uint64_t{0xd2511f53}, second = counter[2] * std::uint64_t{0xcd9e8d57};
    Tensor left = logical_xor(logical_xor(high_word(second), counter[1]), key[0]);
    Tensor right = logical_xor(logical_xor(high_word(first), counter[3]), key[1]);
    counter = {left, low_word(second), right, low_word(first)};
  }
  return counter;
}

}  // namespace

/// Element i is word i % 4 of the block whose counter is i / 4.
Tensor random_bits(Tensor seed, Shape shape) {
  return build_composite({seed}, [&](Composite& composite) -> Tensor {
    GraphBuilder& graph = *seed.builder();
    if (seed.type() != TensorType{DType::kU64, {}}) {
      return composite.refuse(fmt::format("seed is {}, expected u64[]; reshape or cast it", seed.type().to_text()));
    }
    if (!composite.passes(expect_within_limits({DType::kU32, shape}))) return {};
    const SizeExpr count = shape.num_elements(), num_blocks = ceil_div(count, 4);
    Tensor block = iota(graph, DType::kU64, {num_blocks}, 0);
    Tensor zero = graph.fill(DType::kU64, {num_blocks}, 0);
    Tensor key = broadcast(seed, {num_blocks}, {});
    const Words words = philox({low_word(block), high_word(block), zero, zero}, key);
    Tensor bits = cast(stack(words, 1), DType::kU32);
    return reshape(slice(reshape(bits, {num_blocks * 4}), {0}, {count}), std::move(shape));
  });
}

Tensor random_uniform(Tensor seed, Shape shape) {
  return build_composite({seed}, [&](Composite&) -> Tensor {
    // The upper 24 bits, which f32 holds exactly.
    Tensor upper = random_bits(seed, std::move(shape)) / std::uint32_t{1 << 8};
    return cast(upper, DType::kF32) * 0x1p-24;
  });
}

Tensor multinomial(Tensor logits, Tensor seed, std::int64_t num_samples) {
  return build_composite({logits, seed}, [&](Composite& composite) -> Tensor {
    const Shape shape = logits.shape();
    if (shape.rank() < 1 || num_samples < 0 || !is_float(logits.dtype())) {
      return composite.refuse(
          fmt::format("logits are {} and num_samples is {}, expected floats of rank 1 or more and 0 or "
                      "more samples; correct them",
                      logits.type().to_text(), num_samples));
    }
    std::vector<SizeExpr> dims = shape.dims();
    dims.insert(dims.end() - 1, num_samples);
    if (!composite.passes(expect_within_limits({DType::kI64, Shape(dims)}))) return {};
    // -log(-log(u)) has Gumbel's distribution for u in (0, 1). u = (i + 1/2) * 2^-23 is exact in f32, and never 0 or 1:
    // u = 1 would make the noise infinite, and could draw an index of probability 0.
    Tensor upper = random_bits(seed, Shape(dims)) / std::uint32_t{1 << 9};
    Tensor uniform = cast(upper, DType::kF32) * 0x1p-23 + 0x1p-24;
    Tensor noise = -log(-log(uniform));
    Tensor spread = unsqueeze(cast(logits, DType::kF32), {-2});
    return argmax(noise + spread, -1);
  });
}

}  // namespace millrace
