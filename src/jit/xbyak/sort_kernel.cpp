// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/sort_kernel.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "hal/host/routines/sort_rows.h"
#include "hal/host/routines/topk_rows.h"
#include "jit/algorithms/rows.h"
#include "jit/lanes/body_lanes.h"
#include "jit/lanes/byte_microkernels.h"
#include "jit/lanes/coarse_keys.h"
#include "jit/lanes/merge_microkernels.h"
#include "jit/lanes/row_dims.h"
#include "jit/lanes/select_microkernels.h"
#include "jit/lanes/sort_memory.h"
#include "jit/lanes/transpose_microkernel.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_load.h"

namespace millrace {
namespace {

/// The functions of a RowSorter that rows of this length need: sort_few of the least number of vectors that holds them,
/// or all; those that merge; those that partition. Halved keys have runs of any shorter length too.
struct FewRange {
  std::size_t first = 0;
  std::size_t end = RowSorterCode::kNumFew;
  bool merges = true;
  bool partitions = true;
};
FewRange few_of(const SortDescriptor& sort, IsaLevel isa) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t lanes = num_lanes_of(isa, lane_keys_of(sort).lane_bits());
  for (std::size_t few = 0; n.is_constant() && !selects_first(sort) && few < RowSorterCode::kNumFew; ++few) {
    if (n.constant() <= lanes << few) return {lane_keys_of(sort).are_halved() ? 0 : few, few + 1, false, false};
  }
  RowSorterCode code{};
  code.num_lanes = lanes;
  const bool partitions = !n.is_constant() || selects_first(sort) || n.constant() > code.most_short();
  return {.partitions = partitions};
}

/// The length of rows of which one function sorts all values, or all indices, in registers; 0 if there is none.
std::int64_t elements_in_registers(const SortDescriptor& sort, IsaLevel isa) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const bool is_one_result = sort.values.has_value() != sort.indices.has_value() && !sort.input_indices;
  const bool fits = n.is_constant() && sort.k == n && !few_of(sort, isa).merges;
  return fits && is_one_result && !lane_keys_of(sort).are_halved() ? n.constant() : 0;
}

/// Whether the one result is written part by part: it is contiguous, and keys hold it.
bool writes_sorted(const SortDescriptor& sort) {
  if (sort.values.has_value() == sort.indices.has_value() || sort.input_indices || selects_first(sort)) return false;
  const KernelTensor& result = sort.values ? *sort.values : *sort.indices;
  return result.layout.strides[sort.axis].is(1) && !lane_keys_of(sort).are_halved();
}

/// The functions that a selection needs: for short rows those of the vectors that k asks for, and those for others.
struct SelectionRange {
  FewRange short_few;
  bool has_long_rows = true;

  std::string to_text() const {
    return fmt::format(" short {} to {} long {}", short_few.first, short_few.end, has_long_rows);
  }
};
SelectionRange selection_of(const SortDescriptor& sort, IsaLevel isa) {
  using Short = ShortSelector<std::int64_t>;  // numbers of elements and of groups do not depend on the key
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t lanes = num_lanes_of(isa, CoarseKeys{sort.input.type.dtype}.lane_bits());
  if (!n.is_constant() || !sort.k.is_constant() || sort.k.constant() == 0) return {};
  if (!sort.parts.is(1) || !Short::takes(n.constant(), sort.k.constant(), lanes)) return {{0, 0}, true};
  const std::size_t few = Short::few_of(sort.k.constant(), lanes);
  return {{few, few + 1, false, false}, false};
}

/// Whether there are runs that read rows piece by piece with a sample's limit.
bool may_filter_whole_rows(const SortDescriptor& sort) {
  return selects_first(sort) && sort.k.upper_bound() > RowSelector<std::int64_t>::kMostByGroups;
}

TopkRowsMemory memory_of_selection(const SortDescriptor& sort) {
  return TopkRowsMemory(TopkRowsMemory::most_found(selects_first(sort) ? sort.k.upper_bound() : 0));
}

/// Refuses the loads of sorts that would not gain by reading through them.
Status check_gain_of_load(const SortDescriptor& sort, const TargetSpec& spec) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (selects_first(sort)) return {};
  if (!keys_fit_workgroup(sort, spec)) {
    return unimplemented(
        fmt::format("keys of {} elements are in memory, a load is worth it for rows in the cache", n.to_text()));
  }
  if (!lane_keys_of(sort).with_index &&
      CountingSort::takes(static_cast<std::int64_t>(size_bytes(sort.input.type.dtype)), n.upper_bound())) {
    return unimplemented(
        fmt::format("{} elements of {} are counted in memory", n.to_text(), to_text(sort.input.type.dtype)));
  }
  return {};
}

/// The bit patterns of narrow elements in order. Those that are equal though their bits differ, zeros and NaNs, are
/// runs of their own. Returns the number of runs; 0 for other dtypes.
std::int64_t set_pattern_runs(const LaneKeys& keys, PatternRun* runs) {
  if (size_bytes(keys.dtype) > 2) return 0;
  const std::int64_t most = magnitude_of(keys.dtype), sign = most + 1, all = most | sign;
  std::vector<PatternRun> ascending;
  if (is_float(keys.dtype)) {
    const std::int64_t infinity = infinity_of(keys.dtype);
    ascending = {{sign | infinity, sign + 1}, {sign, sign}, {0, 0}, {1, infinity}, {infinity + 1, most},
                 {(sign | infinity) + 1, all}};
  } else if (is_signed(keys.dtype)) {
    ascending = {{sign, all}, {0, most}};
  } else if (keys.dtype == DType::kBool) {
    ascending = {{0, 1}};
  } else {
    ascending = {{0, all}};
  }
  if (keys.largest) {
    std::ranges::reverse(ascending);
    for (PatternRun& run : ascending) std::swap(run.first, run.last);
  }
  std::ranges::copy(ascending, runs);
  return static_cast<std::int64_t>(ascending.size());
}

/// Whether there are runs with rows of bytes that a ByteCounter counts.
bool counts_bytes(const SortDescriptor& sort, const TargetSpec& spec) {
  const LaneKeys keys = lane_keys_of(sort);
  return has_byte_microkernels(spec) && !keys.with_index && size_bytes(keys.dtype) == 1 &&
         sort.input.type.shape[sort.axis].upper_bound() >= ByteCounter::kFewest;
}

class SortImageEmitter {
 public:
  SortImageEmitter(const SortDescriptor& sort, const std::optional<RowLoad>& load, const TargetSpec& spec,
                   LaneAssembler& as)
      : sort_(sort), load_(load), spec_(spec), keys_(lane_keys_of(sort)), as_(as) {}

  SortRowsParameters emit_sort() {
    constexpr SortFunctions kAll = {.keys = true, .splits = true, .sorter = true, .results = true, .runs = true};
    SortRowsParameters p = emit_parts(kAll, few_of(sort_, spec_.isa));
    p.uses_scratch = !keys_fit_workgroup(sort_, spec_);
    // Rows of any length that fits share the code.
    p.most_workgroup_key_bytes =
        p.uses_scratch != 0 ? workgroup_key_bytes(sort_, spec_) : std::numeric_limits<std::int64_t>::max();
    const std::int64_t in_registers = elements_in_registers(sort_, spec_.isa);
    p.sorts_few = in_registers > 0;
    if (p.sorts_few != 0 && keys_.with_index) {
      p.sort_indices = append(sort_indices_function(spec_.isa, keys_, static_cast<int>(in_registers)));
    } else if (p.sorts_few != 0) {
      p.sort_values = append(sort_values_function(spec_.isa, keys_, static_cast<int>(in_registers)));
    }
    if (counts_bytes(sort_, spec_)) {
      p.counts_bytes = 1;
      p.split_bytes = append(split_bytes_function(spec_.isa));
      p.make_bit_products = append(make_bit_products_function(spec_.isa));
      p.count_bit_products = append(count_bit_products_function(spec_.isa));
    }
    emit_columns(p);
    if (load_) p.load = load_->emit(as_, spec_.isa, size_arguments_of(sort_).size());
    return p;
  }

  /// What holds for every sort, and the functions that are asked for.
  SortRowsParameters emit_parts(const SortFunctions& functions, const FewRange& few) {
    SortRowsParameters p{};
    p.element_bytes = static_cast<std::int64_t>(size_bytes(keys_.dtype));
    p.key_bytes = keys_.lane_bits() / 8;
    p.num_lanes = num_lanes_of(spec_.isa, keys_.lane_bits());
    p.num_other_dims = static_cast<std::int64_t>(row_dims(sort_).size());
    p.has_values = sort_.values.has_value();
    p.has_indices = sort_.indices.has_value();
    p.has_input_indices = sort_.input_indices.has_value();
    p.keys_have_index = keys_.with_index;
    p.keys_are_halved = keys_.are_halved();
    p.most_keys = most_keys(sort_);
    p.is_bool = keys_.dtype == DType::kBool;
    p.inverted_bits = inverted_sign_of(keys_.dtype);
    p.is_descending = keys_.largest;
    if (is_float(keys_.dtype)) {
      p.magnitude_bits = magnitude_of(keys_.dtype);
      p.infinity_bits = infinity_of(keys_.dtype);
    }
    if (!keys_.with_index) p.num_pattern_runs = set_pattern_runs(keys_, p.pattern_runs);
    if (functions.keys) p.make_keys = append(make_keys_function(spec_.isa, keys_));
    if (functions.splits && few.partitions && !selects_first(sort_)) {
      p.partition_elements = append(partition_elements_function(spec_.isa, keys_));
    }
    p.writes_sorted = functions.sorter && functions.results && few.merges && writes_sorted(sort_);
    if (functions.sorter) p.sorter = emit_sorter(keys_.lane_bits(), few);
    if (p.writes_sorted != 0) emit_results_sorter(p);
    if (functions.runs && is_float(keys_.dtype) && !keys_.with_index) {
      p.take_zeros = append(take_run_function(spec_.isa, keys_.dtype, EqualFloats::kZeros));
      p.take_nans = append(take_run_function(spec_.isa, keys_.dtype, EqualFloats::kNans));
    }
    if (!functions.results) return p;
    if (sort_.values && !keys_.are_halved()) p.write_values = append(write_values_function(spec_.isa, keys_));
    if (sort_.indices) p.write_indices = append(write_indices_function(spec_.isa, keys_));
    return p;
  }

  TopkRowsParameters emit_topk() {
    TopkRowsParameters p{};
    p.sort = emit_sort();
    p.most_found = memory_of_selection(sort_).most;
    const CoarseKeys coarse = {keys_.dtype, keys_.largest};
    p.coarse_bytes = coarse.lane_bits() / 8;
    p.coarse_offset = coarse_offset_of(keys_.dtype);
    p.coarse_lanes = num_lanes_of(spec_.isa, coarse.lane_bits());
    p.extends_sign = element_of(keys_.dtype).is_signed;
    p.make_numbered_keys =
        append(make_numbered_keys_function(spec_.isa, keys_, static_cast<std::uint8_t>(coarse.lane_bits() / 8)));
    p.filter_row = append(filter_row_function(spec_.isa, coarse));
    if (may_filter_whole_rows(sort_)) {
      p.filter_whole_row = append(filter_whole_row_function(spec_.isa, coarse));
    }
    const SelectionRange range = selection_of(sort_, spec_.isa);
    for (std::size_t i = range.short_few.first; i < range.short_few.end; ++i) {
      p.find_group_minima[i] = append(find_group_minima_function(spec_.isa, coarse, 1 << i));
    }
    p.sorter = emit_sorter(coarse.lane_bits(), range.has_long_rows ? FewRange{} : range.short_few);
    if (!range.has_long_rows) return p;
    p.find_minima = append(find_minima_function(spec_.isa, coarse));
    p.find_passing = append(find_passing_function(spec_.isa, coarse));
    p.match_elements = append(match_elements_function(spec_.isa, coarse));
    p.find_column_minima = append(find_column_minima_function(spec_.isa, coarse));
    p.fold_minima = append(fold_minima_function(spec_.isa, coarse.lane_bits()));
    p.fold_four_minima = append(fold_four_minima_function(spec_.isa, coarse.lane_bits()));
    p.match_minima = append(match_minima_function(spec_.isa, coarse.lane_bits()));
    p.list_chunks = append(list_chunks_function(spec_.isa, coarse.lane_bits()));
    if (!load_ || lane_bits_of(sort_.load->epilogue).value() != coarse.lane_bits()) return p;
    if (!is_short(load_->elements)) return p;
    p.finds_computed_minima = true;
    p.find_computed_minima = append(find_computed_minima_function(spec_.isa, coarse, load_->elements));
    return p;
  }

 private:
  void emit_columns(SortRowsParameters& p) {
    p.columns_bytes = column_bytes(sort_, spec_);
    if (p.columns_bytes == 0) return;
    const bool selects = selects_first(sort_);
    p.columns_offset = selects ? memory_of_selection(sort_).end : SortRowsParameters::kFixedBytes;
    p.moves_results = !selects;
    const auto element_bytes = static_cast<std::uint8_t>(p.element_bytes);
    p.transpose_elements = append(transpose_tiles_function(spec_.isa, element_bytes));
    p.element_tile = transpose_tile_of(spec_.isa, element_bytes);
    if (selects || !sort_.indices) return;
    p.transpose_indices = append(transpose_tiles_function(spec_.isa, sizeof(std::int64_t)));
    p.index_tile = transpose_tile_of(spec_.isa, sizeof(std::int64_t));
  }
  /// The functions of a RowSorter.
  RowSorterOffsets emit_sorter(int lane_bits, const FewRange& few) {
    RowSorterOffsets offsets{};
    for (std::size_t i = few.first; i < few.end; ++i) {
      offsets.sort_few[i] = append(sort_few_function(spec_.isa, lane_bits, 1 << i));
    }
    if (!few.merges) return offsets;
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      offsets.merge_few[i] = append(merge_few_function(spec_.isa, lane_bits, RowSorterCode::kMergedVectors[i]));
    }
    offsets.exchange_halves = append(exchange_halves_function(spec_.isa, lane_bits));
    offsets.merge_bitonic = append(merge_bitonic_function(spec_.isa, lane_bits));
    if (!few.partitions) return offsets;
    offsets.partition_less = append(partition_function(spec_.isa, lane_bits, PartitionAt::kLess));
    offsets.partition_at_most = append(partition_function(spec_.isa, lane_bits, PartitionAt::kAtMost));
    return offsets;
  }

  void emit_results_sorter(SortRowsParameters& p) {
    const SortResult result = sort_.values ? SortResult::kValues : SortResult::kIndices;
    for (std::size_t i = 0; i < RowSorterCode::kNumFew; ++i) {
      p.sort_few_results[i] = append(sort_few_results_function(spec_.isa, keys_, result, 1 << i));
    }
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      p.merge_few_results[i] =
          append(merge_few_results_function(spec_.isa, keys_, result, RowSorterCode::kMergedVectors[i]));
    }
  }

  template <class Function>
  Microkernel<Function> append(const MicrokernelCode<Function>& code) {
    return append_microkernel(as_, code);
  }

  const SortDescriptor& sort_;
  std::optional<RowLoad> load_;
  const TargetSpec& spec_;
  LaneKeys keys_;
  LaneAssembler& as_;
};

Result<ExecutableImage> emit_sort(const SortDescriptor& sort, const std::optional<RowLoad>& load,
                                  const TargetSpec& spec) {
  return emit_lane_image([&](LaneAssembler& assembler) {
    SortImageEmitter emitter(sort, load, spec, assembler);
    return selects_first(sort) ? call_of(Routine::topk_rows, emitter.emit_topk())
                               : call_of(Routine::sort_rows, emitter.emit_sort());
  });
}

}  // namespace

std::string results_text(const SortDescriptor& sort) {
  return fmt::format("all {} written when sorted {}", sort.k == sort.input.type.shape[sort.axis], writes_sorted(sort));
}

std::vector<SizeExpr> size_arguments_of(const SortDescriptor& sort) {
  const auto tensors = tensors_of(sort);
  std::vector<SizeExpr> sizes = {sort.input.type.shape[sort.axis], sort.k, sort.parts};
  for (const KernelTensor* tensor : tensors) sizes.push_back(tensor != nullptr ? tensor->layout.offset : SizeExpr(0));
  for (const KernelTensor* tensor : tensors) {
    sizes.push_back(tensor != nullptr ? tensor->layout.strides[sort.axis] : SizeExpr(0));
  }
  if (sort.load) sizes[SortRowsSizes::kAxisStrides] = 1;  // what is computed is side by side
  for (const RowDim& dim : row_dims(sort)) {
    sizes.push_back(dim.extent);
    sizes.insert(sizes.end(), dim.strides.begin(), dim.strides.end());
  }
  return sizes;
}

Status check_lanes_sort(const SortDescriptor& sort, const TargetSpec& spec) {
  if (spec.isa == IsaLevel::kBaseline) {
    return unimplemented(fmt::format("lanes are vectors of at least 256 bits, {} has none", spec.to_text()));
  }
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!lane_keys_of(sort).with_index || n.upper_bound() <= kMostIndexedByLanes) return {};
  return unimplemented(fmt::format("rows of {} elements, lanes number up to {}", n.to_text(), kMostIndexedByLanes));
}

SortRowsParameters emit_sort_functions(const SortDescriptor& sort, const TargetSpec& spec,
                                       const SortFunctions& functions, LaneAssembler& assembler) {
  return SortImageEmitter(sort, std::nullopt, spec, assembler).emit_parts(functions, FewRange{});
}

Result<PlannedKernel> plan_rows_work(const SortDescriptor& sort, const TargetSpec& spec) {
  MILLRACE_TRY(check_lanes_sort(sort, spec));
  const LaneKeys keys = lane_keys_of(sort);
  if (!sort.parts.is(1) && !selects_first(sort)) {
    const SizeExpr& n = sort.input.type.shape[sort.axis];
    return unimplemented(fmt::format("the first {} of parts of {} elements, takes parts of which few are wanted",
                                     sort.k.to_text(), n.to_text()));
  }
  PlannedKernel planned;
  planned.name = sort.name;
  planned.generator = "xbyak";
  if (counts_bytes(sort, spec)) planned.features = kByteMicrokernelFeatures;
  planned.num_groups = num_rows(sort.input.type.shape, sort.axis) * sort.parts;
  planned.sizes = size_arguments_of(sort);
  const auto add_slot = [&](const char* name, std::int64_t bytes) {
    planned.memory.slots.push_back(
        {name, MemoryKind::kWorkgroup, planned.memory.workgroup_bytes, static_cast<std::uint64_t>(bytes), 0, 0});
    planned.memory.workgroup_bytes += static_cast<std::uint64_t>(bytes);
  };
  const bool selects = selects_first(sort);
  const bool fits = keys_fit_workgroup(sort, spec);
  add_slot("sample", RowSorterMemory::kSampleBytes);
  add_slot("counts", RowSorterMemory::kCountBytes);
  const TopkRowsMemory selection = memory_of_selection(sort);
  if (selects) add_slot("selection", selection.end - SortRowsParameters::kFixedBytes);
  if (column_bytes(sort, spec) > 0) add_slot("columns", column_bytes(sort, spec));
  if (const std::int64_t bytes = workgroup_key_bytes(sort, spec); bytes > 0) add_slot("keys", bytes);
  planned.info.name = sort.name;
  planned.info.buffer_is_written.assign(sort.input_indices ? 2 : 1, false);
  for (const bool has_buffer : {sort.values.has_value(), sort.indices.has_value(), !fits}) {
    if (has_buffer) planned.info.buffer_is_written.push_back(true);
  }
  planned.info.num_buffers = static_cast<std::uint32_t>(planned.info.buffer_is_written.size());
  planned.info.num_sizes = static_cast<std::uint32_t>(planned.sizes.size());
  planned.info.workgroup_bytes = planned.memory.workgroup_bytes;
  const FewRange few = few_of(sort, spec.isa);
  planned.key_text = fmt::format(
      "{} {} lanes of {} largest {} values {} indices {} of {} dims {} few {} to {} merges {} partitions {} in "
      "registers {} "
      "scratch {} beyond {} columns {} counts bytes {} {}{}\n",
      row_of(selects ? Routine::topk_rows : Routine::sort_rows).name, to_text(keys.dtype), keys.lane_bits(),
      keys.largest, sort.values.has_value(), sort.indices.has_value(), sort.input_indices ? "elements" : "positions",
      row_dims(sort).size(), few.first, few.end, few.merges, few.partitions, elements_in_registers(sort, spec.isa),
      !fits, fits ? 0 : workgroup_key_bytes(sort, spec), column_bytes(sort, spec), counts_bytes(sort, spec),
      results_text(sort),
      selects ? fmt::format("{} found {} samples {}", selection_of(sort, spec.isa).to_text(), selection.most,
                            may_filter_whole_rows(sort))
              : "");
  std::optional<RowLoad> load;
  if (sort.load) {
    MILLRACE_TRY(check_gain_of_load(sort, spec));
    MILLRACE_TRY_ASSIGN(load, plan_row_load(*sort.load, sort.axis, spec.isa));
    if (selects) {
      const auto element_bytes = static_cast<std::int64_t>(size_bytes(sort.input.type.dtype));
      const FewRange short_few = selection_of(sort, spec.isa).short_few;
      const std::int64_t most_elements =
          short_few.first < short_few.end ? sort.input.type.shape[sort.axis].upper_bound() : 0;  // of a short row
      add_slot("computed",
               selection.computed - selection.end + TopkRowsMemory::computed_bytes(most_elements, element_bytes));
      planned.info.workgroup_bytes = planned.memory.workgroup_bytes;
    }
    add_row_load(planned, *load);
  }
  planned.mapped = KernelDesign{[sort, load](const TargetSpec& target) { return emit_sort(sort, load, target); }};
  return planned;
}

}  // namespace millrace
