// SPDX-License-Identifier: Apache-2.0
#include "jit/gemm_blocking.h"

#include <limits>

#include <fmt/format.h>

namespace millrace {
namespace {

// The caches that this assumes: 32 KiB of L1 for data, 1 MiB of L2 (512 KiB still does), as on Zen 3 and later and on
// Intel servers. Fewer hits than planned cost speed, never correctness.

/// Packed panels of a group: half of L2, so that the rows of A and of C, which only pass through, do not evict them.
constexpr std::int64_t kPackedBytes = 256 << 10;
/// Where k comes in blocks, a group keeps this much of partial sums: enough rows to pay for packing a panel again.
constexpr std::int64_t kPartialBytes = 64 << 10;
/// A B of this size stays in L1 beside A and C while it is read in place.
constexpr std::int64_t kInPlaceBytes = 16 << 10;
/// Multiply-adds of a group, about: 20 us on one core, so that a dispatch of it is noise.
constexpr std::int64_t kGroupWork = 1 << 20;
constexpr std::int64_t kMaxVectors = 8;
constexpr std::int64_t kMaxRows = 24;
/// Steps of k that a transposing copy moves at once.
constexpr std::int64_t kPackStep = 16;

std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return ceil_div(value, unit) * unit; }

/// Quarter cycles of one step of k of a tile: multiply-adds (a 64-byte or two 32-byte ones a cycle), loads from L1, B's
/// way from L2 at 32 bytes a cycle, and the latency of 4 cycles from one step's sum to the next.
std::int64_t step_cost(std::int64_t rows, std::int64_t vectors, std::int64_t lanes) {
  const std::int64_t per_vector = lanes == 16 ? 4 : 2;
  return std::max({rows * vectors * per_vector, (vectors + rows) * 2, vectors * lanes / 2, std::int64_t{16}});
}

struct TileChoice {
  EvenSplit tiles, panels;
};

/// The tile that costs least over the whole product: the last rows and columns count as what they are.
TileChoice choose_tile(const GemmProblem& problem, const GemmRegisters& registers, std::int64_t lanes) {
  // AVX2 keeps the mask of a panel's last vector in a register.
  const std::int64_t mask = lanes == 8 && problem.n % lanes != 0;
  const std::int64_t num_vectors = ceil_div(problem.n, lanes);
  TileChoice best;
  std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t vectors = 1; vectors <= std::min(kMaxVectors, num_vectors); ++vectors) {
    const std::int64_t reserved = mask + std::max(vectors + 1, registers.epilogue);
    const std::int64_t rows = std::min((registers.available - reserved) / vectors, kMaxRows);
    if (rows < 1) break;
    const TileChoice choice{EvenSplit::at_most(problem.m, rows), EvenSplit::at_most(num_vectors, vectors)};
    std::int64_t cost = 0;
    for (const std::int64_t tall : {0, 1}) {
      for (const std::int64_t wide : {0, 1}) {
        const std::int64_t r = choice.tiles.base + tall, v = choice.panels.base + wide;
        const std::int64_t count = (tall ? choice.tiles.extra : choice.tiles.parts - choice.tiles.extra) *
                                   (wide ? choice.panels.extra : choice.panels.parts - choice.panels.extra);
        // A call, the first broadcasts and the stores: about 30 cycles, and one a vector.
        cost += count * (problem.k * step_cost(r, v, lanes) + 120 + 4 * r * v);
      }
    }
    if (cost <= best_cost) {
      best_cost = cost;
      best = choice;
    }
  }
  return best;
}

}  // namespace

std::int64_t GemmBlocking::packed_panel_bytes() const {
  return round_up(k_blocks.largest(), kPackStep) * panels.largest() * lanes * 4;
}

std::int64_t GemmBlocking::packed_a_bytes() const {
  if (!pack_a) return 0;
  return round_up((k_blocks.largest() + lanes) * tiles.largest() * 4, 64);
}

GemmBlocking choose_gemm_blocking(const GemmProblem& problem, const GemmRegisters& registers, const TargetSpec& spec) {
  GemmBlocking blocking;
  blocking.lanes = spec.vector_bytes() / 4;
  const TileChoice tile = choose_tile(problem, registers, blocking.lanes);
  blocking.tiles = tile.tiles;
  blocking.panels = tile.panels;
  const std::int64_t row_bytes = blocking.panels.largest() * blocking.lanes * 4;

  const bool b_fits = problem.k * problem.n * 4 <= kInPlaceBytes;
  blocking.pack_b = problem.b.n != 1 || (!b_fits && blocking.tiles.parts > 2);
  blocking.k_blocks =
      EvenSplit::at_most(problem.k, blocking.pack_b ? std::max<std::int64_t>(kPackedBytes / row_bytes, 256)
                                                    : std::numeric_limits<std::int64_t>::max() / 2);

  blocking.tiles_per_group = blocking.tiles.parts;
  if (blocking.k_blocks.parts > 1) {
    blocking.tiles_per_group =
        std::clamp<std::int64_t>(kPartialBytes / blocking.partial_tile_bytes(), 1, blocking.tiles.parts);
  }
  // Groups of about equal work: cut the rows first, as neighbouring groups then share packed panels.
  const std::int64_t tile_work =
      blocking.tiles.largest() * blocking.panels.largest() * blocking.lanes * std::max<std::int64_t>(problem.k, 1);
  const std::int64_t tiles_wanted = std::max<std::int64_t>(ceil_div(kGroupWork, tile_work), 1);
  blocking.tiles_per_group = std::min(blocking.tiles_per_group, tiles_wanted);
  if (blocking.k_blocks.parts == 1 && blocking.tiles_per_group == blocking.tiles.parts) {
    const std::int64_t fitting = blocking.pack_b
                                     ? std::max<std::int64_t>(kPackedBytes / blocking.packed_panel_bytes(), 1)
                                     : blocking.panels.parts;
    const std::int64_t wanted = ceil_div(kGroupWork, tile_work * blocking.tiles.parts);
    blocking.panels_per_group = std::clamp<std::int64_t>(std::min(fitting, wanted), 1, blocking.panels.parts);
  }
  blocking.tiles_per_group = ceil_div(blocking.tiles.parts, blocking.tile_groups());
  blocking.panels_per_group = ceil_div(blocking.panels.parts, blocking.panel_groups());
  return blocking;
}

std::string GemmBlocking::to_text() const {
  const auto split = [](const EvenSplit& split) {
    return split.extra == 0
               ? fmt::format("{}x{}", split.parts, split.base)
               : fmt::format("{}x{}+{}x{}", split.extra, split.base + 1, split.parts - split.extra, split.base);
  };
  return fmt::format("tiles {} rows, panels {} vectors of {}, k {}, groups of {} tiles x {} panels{}{}", split(tiles),
                     split(panels), lanes, split(k_blocks), tiles_per_group, panels_per_group,
                     pack_a ? ", A packed" : "", pack_b ? ", B packed" : "");
}

}  // namespace millrace
