// SPDX-License-Identifier: Apache-2.0
// Chooses tiles and blocks of a product for the caches.
#include "jit/xbyak/gemm_blocking.h"

#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace millrace {
namespace {

// Assumes 32 KiB of L1 data cache and 1 MiB of L2, as on Zen 4 and Intel servers. On smaller caches the blocks are
// slower, but still correct.

/// Workgroup memory per group: half of L2, so that the rows of A and C, which are used once, do not evict packed
/// panels. A panel need not fit into L1: a tile of six rows reads 11 bytes of the panel per cycle, and L2 delivers 32.
constexpr std::int64_t kGroupBytes = 512 << 10;
/// If k is split, a group that packs B keeps up to this many bytes of partial sums. Each group repeats the packing, and
/// this limit allows enough rows per group to amortise it.
constexpr std::int64_t kPartialBytes = 96 << 10;
/// A matrix B that spans at most this many bytes is *near*: it stays in L2, its rows touch at most 256 pages, and it is
/// read in place. The limit is lower for half-width vectors, because B then has twice as many panels, and each panel
/// reads all rows.
constexpr std::int64_t near_bytes(std::int64_t lanes) { return lanes == 16 ? 1 << 20 : 192 << 10; }
/// A matrix B that is not near is packed if the product has more rows than this. For fewer rows, the copy costs more
/// than it saves, so B is streamed. A group then processes kStreamedSteps steps of k at a time, along long pieces of
/// B's rows, which the hardware prefetches. It keeps partial sums between these blocks.
/// Measured with one thread (commit 56ba330): streaming took 8x3072x768 from 25 to 50 GFLOP/s.
constexpr std::int64_t kMaxRowsToStream = 64;
constexpr std::int64_t kStreamedSteps = 16;
constexpr std::int64_t kStreamedRowBytes = 8 << 10;
/// The approximate number of multiply-adds per group: 20 us on one core, so that dispatch overhead is negligible.
constexpr std::int64_t kGroupWork = 1 << 20;
constexpr std::int64_t kMaxVectors = 8;
constexpr std::int64_t kMaxRows = 24;
/// The number of steps of k that a transposing copy moves at once.
constexpr std::int64_t kPackStep = 16;

std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return ceil_div(value, unit) * unit; }
std::int64_t round_down(std::int64_t value, std::int64_t unit) { return value / unit * unit; }

struct TileSize {
  std::int64_t rows, vectors, lanes;
};

/// The cost of one step of k of a tile, in units of 1/32 cycle. It is the maximum of the times for multiply-adds (one
/// of 64 bytes or two of 32 per cycle), for loads from L1, for the transfer of B from L2 at 32 bytes per cycle, and of
/// the latency of 4 cycles from one step's sum to the next. Loads that this maximum hides still cost a little; their
/// weight is measured: 6x4 and 9x3 beat 14x2, 8x3 beats 4x6, and with half the width 6x2 beats 4x3.
std::int64_t step_cost(const TileSize& tile) {
  const auto [rows, vectors, lanes] = tile;
  const std::int64_t multiply = rows * vectors * (lanes == 16 ? 32 : 16);
  const std::int64_t bound = std::max({multiply, (vectors + rows) * 16, vectors * lanes * 4, std::int64_t{128}});
  return bound + 2 * rows + (lanes == 16 ? 3 : 5) * vectors;
}

struct TileChoice {
  EvenSplit tiles, panels;
};

/// The tile with the minimum cost over the whole product. The cost counts the last rows and columns at their true
/// sizes.
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
        // A call, its first broadcasts and its stores take about 30 cycles, plus one per vector.
        cost += count * (problem.k * step_cost({.rows = r, .vectors = v, .lanes = lanes}) + 32 * (30 + r * v));
      }
    }
    if (cost < best_cost) {
      best_cost = cost;
      best = choice;
    }
  }
  return best;
}

EvenSplit choose_k_blocks(std::int64_t k, const GemmBlocking& blocking, bool streams) {
  if (streams) return EvenSplit::at_most(k, std::max(kStreamedSteps, ceil_div(k, kMaxGemmSteps)));
  if (!blocking.pack_b) return EvenSplit::at_most(k, std::max<std::int64_t>(k, 1));
  const std::int64_t step_bytes = blocking.panels.largest() * blocking.lanes * 4;
  const std::int64_t whole = round_down(kGroupBytes / step_bytes, kPackStep);
  return EvenSplit::at_most(k, k <= whole ? whole : round_down((kGroupBytes - kPartialBytes) / step_bytes, kPackStep));
}

/// Makes groups of about equal work, so that threads can divide them evenly. Splits rows first, so that neighbouring
/// groups share packed panels.
void choose_groups(GemmBlocking& blocking) {
  const std::int64_t step_bytes = blocking.panels.largest() * blocking.lanes * 4;
  const std::int64_t tile_work =
      blocking.tiles.largest() * step_bytes / 4 * std::max<std::int64_t>(blocking.k_blocks.largest(), 1);
  std::int64_t tiles = blocking.tiles.parts, panels = 1;
  if (blocking.k_blocks.parts > 1 && blocking.pack_b) {
    // Each group packs its panels again for each block of k. To amortise this, it gets as many rows as kPartialBytes
    // allows.
    tiles = kPartialBytes / blocking.partial_tile_bytes();
  } else if (blocking.k_blocks.parts > 1) {
    panels = std::min(kStreamedRowBytes / step_bytes, kGroupBytes / (tiles * blocking.partial_tile_bytes()));
  } else if (tile_work * tiles > kGroupWork) {
    tiles = ceil_div(kGroupWork, tile_work);
  } else {
    const std::int64_t fitting = blocking.pack_b ? kGroupBytes / blocking.packed_panel_bytes() : blocking.panels.parts;
    panels = std::min(fitting, kGroupWork / (tile_work * tiles));
  }
  blocking.tiles_per_group = std::clamp<std::int64_t>(tiles, 1, blocking.tiles.parts);
  blocking.panels_per_group = std::clamp<std::int64_t>(panels, 1, blocking.panels.parts);
  // Balances the sizes without changing the number of groups.
  blocking.tiles_per_group = ceil_div(blocking.tiles.parts, blocking.tile_groups());
  blocking.panels_per_group = ceil_div(blocking.panels.parts, blocking.panel_groups());
}

}  // namespace

std::int64_t GemmBlocking::packed_panel_bytes() const {
  return round_up(k_blocks.largest(), kPackStep) * panels.largest() * lanes * 4;
}

GemmBlocking choose_gemm_blocking(const GemmProblem& problem, const GemmRegisters& registers, const TargetSpec& spec) {
  GemmBlocking blocking;
  blocking.lanes = spec.vector_bytes() / 4;
  const TileChoice tile = choose_tile(problem, registers, blocking.lanes);
  blocking.tiles = tile.tiles;
  blocking.panels = tile.panels;
  const bool is_near = problem.k * std::abs(problem.b.k) * 4 <= near_bytes(blocking.lanes);
  const bool streams = problem.b.n == 1 && !is_near && problem.m <= kMaxRowsToStream;
  blocking.pack_b = problem.b.n != 1 || (!is_near && !streams);
  blocking.k_blocks = choose_k_blocks(problem.k, blocking, streams);
  choose_groups(blocking);
  return blocking;
}

std::string GemmBlocking::to_text() const {
  const auto split = [](const EvenSplit& split) {
    return split.extra == 0
               ? fmt::format("{}x{}", split.parts, split.base)
               : fmt::format("{}x{}+{}x{}", split.extra, split.base + 1, split.parts - split.extra, split.base);
  };
  return fmt::format("tiles {} rows, panels {} vectors of {}, k {}, groups of {} tiles x {} panels{}", split(tiles),
                     split(panels), lanes, split(k_blocks), tiles_per_group, panels_per_group,
                     pack_b ? ", B packed" : "");
}

}  // namespace millrace
